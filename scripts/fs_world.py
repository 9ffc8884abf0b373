# SPDX-License-Identifier: BSD-3-Clause
"""fs_world.py: servers, a volume on them and its mounts, as processes below one folder. For the programs of this
folder that run the file system.
"""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
DEADLINE_S = 120
SERVERS = 3
COPIES = 2
MIB = 1 << 20


def die(text):
    name = os.path.basename(sys.argv[0]).removesuffix(".py").replace("_", "-")
    sys.exit(f"{name}: {text}")


def is_mounted(where):
    """Is there a file system that answers?"""
    try:
        return os.stat(where).st_dev != os.stat(os.path.dirname(where)).st_dev
    except OSError:
        return False


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


class World:
    """Servers s0, s1, ... and mounts by name, each with a log NAME.log, in a new folder that is removed at the end.

    To be used by with."""

    def __init__(self, programs, volume, volume_bytes, servers=SERVERS, copies=COPIES, over="shm", spare=256 * MIB):
        self.programs = programs
        self.volume = volume
        self.volume_bytes = volume_bytes
        self.copies = copies
        self.spare = spare  # bytes of each pool beside files and usual tables
        self.over = over  # clients reach the servers: shm or tcp
        self.ports = [free_port() for _ in range(servers)] if over == "tcp" else []
        self.servers = [None] * servers
        self.mounts = {}
        self.kills = 0
        shared = "/dev/shm" if "TMPDIR" not in os.environ and os.access("/dev/shm", os.W_OK) else None
        self.scratch = tempfile.mkdtemp(prefix=f"librpm-{volume}-", dir=shared)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.scratch, name)

    def url(self, i):
        return f"tcp://127.0.0.1:{self.ports[i]}/pool" if self.ports else f"shm:{self.path(f's{i}')}"

    def urls(self):
        return [word for i in range(len(self.servers)) for word in ("--url", self.url(i))]

    def log(self, name):
        return open(self.path(name + ".log"), "ab")

    def rpm_fs(self, *words):
        return subprocess.run([os.path.join(self.programs, "rpm-fs"), *words, *self.urls()],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                              timeout=10 * DEADLINE_S)

    def wait(self, what, holds, process):
        deadline = time.monotonic() + DEADLINE_S
        while not holds():
            if process.poll() is not None or time.monotonic() > deadline:
                die(f"{what} did not start; its log:\n" + open(self.path(what + ".log")).read())
            time.sleep(0.02)

    def start_server(self, i):
        name = f"s{i}"
        size = self.volume_bytes * self.copies // len(self.servers) * 5 // 4 // MIB * MIB + self.spare
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path(name))  # of a server that was killed; await_server() waits for it
        listen = f"shm:{self.path(name)}" + (f" {self.url(i)}" if self.ports else "")
        self.servers[i] = subprocess.Popen(
            [os.path.join(self.programs, "rpm-server"), "--pool", self.path(f"pool{i}"), "--size", str(size),
             "--dram", "64M", "--listen", listen, "--domain", "adr", "--quiet"],
            stdin=subprocess.DEVNULL, stdout=self.log(name), stderr=subprocess.STDOUT)

    def await_server(self, i):
        name = f"s{i}"
        self.wait(name, lambda: os.path.exists(self.path(name)), self.servers[i])

    def start_servers(self):
        for i in range(len(self.servers)):
            self.start_server(i)
        for i in range(len(self.servers)):
            self.await_server(i)

    def make_volume(self, *options):
        self.start_servers()
        made = self.rpm_fs("mkfs", self.volume, "--replicas", str(self.copies), "--size", str(self.volume_bytes), *options)
        if made.returncode != 0:
            die("mkfs failed: " + made.stderr)

    def mount(self, name):
        where = self.path(name)
        os.makedirs(where, exist_ok=True) if name not in self.mounts else None
        self.mounts[name] = subprocess.Popen(
            [os.path.join(self.programs, "rpm-fs"), "mount", self.volume, where, "--foreground", *self.urls()],
            stdin=subprocess.DEVNULL, stdout=self.log(name), stderr=subprocess.STDOUT)
        self.wait(name, lambda: is_mounted(where), self.mounts[name])
        return where

    def kill(self, process):
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.kills += 1

    def unmount(self, name):
        process = self.mounts.pop(name)
        process.send_signal(signal.SIGTERM)
        return process.wait(DEADLINE_S)

    def check(self):
        """What rpm-fs check says of tables and blocks: its status, its last line and all of its output."""
        check = self.rpm_fs("check", self.volume, "--data")
        return check.returncode, (check.stdout.splitlines() or [check.stderr.strip()])[-1], check.stdout

    def stop(self):
        for name, process in self.mounts.items():
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(DEADLINE_S)
                except subprocess.TimeoutExpired:
                    process.kill()
            subprocess.run(["umount", "-l", self.path(name)], stderr=subprocess.DEVNULL, check=False)
        for process in self.servers:
            if process and process.poll() is None:
                process.kill()
                process.wait()
