# SPDX-License-Identifier: BSD-3-Clause
"""The processes of one log with agents: a server, agents, and writers (rpm-log append) of numbered lines."""
import os
import signal
import subprocess
import sys

from fs_world import Failed, wait_until

CAPACITY = 256 << 10
LINES = 400000  # of one writer; a round ends before
WAIT_S = 60


def faults(lines, acknowledged):
    """What is wrong with the lines of a log: lost, invented. @acknowledged: how many of each writer, at least."""
    seen = {}
    invented = 0
    for line in lines:
        words = line.split()
        if len(words) != 3 or words[0] not in acknowledged or words[2] != "line" * 5:
            invented += 1
            continue
        if int(words[1]) != seen.get(words[0], 0) + 1:
            invented += 1
        seen[words[0]] = int(words[1])
    lost = sum(max(0, least - seen.get(writer, 0)) for writer, least in acknowledged.items())
    return lost, invented


class World:
    def __init__(self, folder, programs):
        self.folder = folder
        self.server_program, self.agent_program, self.log_program = programs
        self.url = f"shm:{folder}/socket"
        self.tier = self.path("tier")
        os.mkdir(self.tier)
        self.processes = {}
        self.writers = 0
        self.far = False  # writers do not see the tier
        self.codec = "none"  # of the segments of the second agent

    def start_objects(self, program):
        """Keep segments in an object store from now on."""
        os.environ.update(AWS_ACCESS_KEY_ID="ID", AWS_SECRET_ACCESS_KEY="secret", AWS_REGION="us-east-1")
        self.start("objects", [sys.executable, program, self.path("address")])
        wait_until(lambda: os.path.exists(self.path("address")), "the object store is ready")
        with open(self.path("address"), encoding="utf-8") as address:
            os.environ["AWS_ENDPOINT_URL"] = address.read().strip()
        self.tier = "s3://bucket/tier"

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, name, command, ready=None):
        with open(self.path(name + ".said"), "wb") as said:
            self.processes[name] = subprocess.Popen(command, stdout=said, stderr=said, cwd=self.folder)
        if ready is not None:
            wait_until(lambda: ready in self.said(name) or self.has_ended(name), f"{name} is {ready}")
            if self.has_ended(name):
                raise Failed(f"{name} has ended: {self.said(name)}")

    def said(self, name):
        with open(self.path(name + ".said"), encoding="utf-8") as said:
            return said.read()

    def has_ended(self, name):
        return self.processes[name].poll() is not None

    def start_server(self, size="8M", *arguments):
        self.start("server", [self.server_program, "--pool", self.path("pool"), "--size", size, "--listen", self.url,
                              "--domain", "adr", "--no-spin", *arguments], "ready:")

    def start_agent(self, name, *arguments):
        self.start(name, [self.agent_program, "--pool", self.url, *arguments], "ready:")

    def start_writer(self, url, *arguments):
        self.writers += 1
        name = f"w{self.writers}"
        with open(self.path(name + ".in"), "w", encoding="utf-8") as lines:
            lines.writelines(f"{name} {i} {'line' * 5}\n" for i in range(1, LINES + 1))
        self.start("writer", [self.log_program, "append", url, "log", "--file", self.path(name + ".in"), "--ack-file",
                              self.path(name + ".acks"), "--takeover", "--reconnect", "60", "--timeout", "30", "--quiet",
                              *arguments])

    def acknowledged(self):
        """Of each writer, the number of the last line that was acknowledged."""
        last = {}
        for i in range(1, self.writers + 1):
            last[f"w{i}"] = 0
            if os.path.exists(self.path(f"w{i}.acks")):
                with open(self.path(f"w{i}.acks"), encoding="utf-8") as acks:
                    whole = [line for line in acks.read().split("\n")[:-1] if line]
                last[f"w{i}"] = int(whole[-1].split()[0]) if whole else 0
        return last

    def ack_bytes(self):
        """Grows with each line that the last writer was told is durable."""
        try:
            return os.stat(self.path(f"w{self.writers}.acks")).st_size
        except FileNotFoundError:
            return 0

    def kill(self, name):
        self.processes[name].kill()
        self.processes[name].wait()

    def end(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()

    def read(self, *arguments):
        done = subprocess.run([self.log_program, "cat", *arguments], capture_output=True, timeout=WAIT_S, check=False)
        if done.returncode != 0:
            raise Failed(f"cat {arguments}: {done.stderr.decode()}")
        return done.stdout.decode().split("\n")[:-1]
