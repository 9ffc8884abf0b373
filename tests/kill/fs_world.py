# SPDX-License-Identifier: BSD-3-Clause
"""The processes of one volume: servers, mounts whose daemons stay in the foreground, and workers.

All waits are bounded. What the programs print is in *.log of the folder, which is kept after a failure.
"""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

PATIENCE_S = 60
SERVERS = 3
COPIES = 2
VOLUME = "kill"
SKIPPED = 77


class Failed(Exception):
    """A check found something, or a process did not do what it should in time."""


def skip_unless_possible():
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.W_OK):
        print("SKIPPED: needs root and /dev/fuse")
        sys.exit(SKIPPED)


def wait_until(holds, what, seconds=PATIENCE_S):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise Failed(f"{what}: not within {seconds} s")
        time.sleep(0.01)


def is_mounted(where):
    """Is there a file system that answers?"""
    try:
        return os.stat(where).st_dev != os.stat(os.path.dirname(where)).st_dev
    except OSError:
        return False


class Worker:
    """A child that runs a function. It ends with 0 if that returns, and prints what it throws to a log."""

    def __init__(self, name, log, function, *arguments):
        self.name = name
        self.log = log
        sys.stdout.flush()
        self.pid = os.fork()
        self.status = None
        if self.pid == 0:
            code = 1
            try:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                function(*arguments)
                code = 0
            except BaseException:  # the parent is told by the status
                with open(log, "a", encoding="utf-8") as file:
                    traceback.print_exc(file=file)
            finally:
                os._exit(code)

    def has_ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def expect_end(self, seconds=PATIENCE_S):
        wait_until(self.has_ended, f"{self.name} ends", seconds)
        self.expect_well()

    def expect_well(self):
        if self.has_ended() and self.status != 0:
            said = ""
            if os.path.exists(self.log):
                with open(self.log, encoding="utf-8") as file:
                    said = file.read()
            raise Failed(f"{self.name} ended with {self.status}:\n{said}")

    def kill(self):
        if not self.has_ended():
            os.kill(self.pid, signal.SIGKILL)


class World:
    """Three servers with pools in a folder of /dev/shm, and mounts of a volume with two copies on them."""

    def __init__(self, programs, name, pool_mib=176):
        self.server_program, self.fs_program = (os.path.abspath(each) for each in programs)
        shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix=name + "-", dir=shared)
        self.pool_mib = pool_mib
        self.bytes_per_inode = "16K"
        self.mode = ""  # of the URLs: "" maps the pools, ",mode=ring" does not
        self.servers = [None] * SERVERS
        self.daemons = {}
        self.workers = []
        self.kept = False

    def path(self, name):
        return os.path.join(self.folder, name)

    def urls(self, mode=None):
        end_of_url = self.mode if mode is None else mode
        return [word for i in range(SERVERS) for word in ("--url", f"shm:{self.path(f's{i}')}{end_of_url}")]

    def start(self, program, words, log):
        with open(self.path(log), "ab") as file:
            return subprocess.Popen([program, *words], stdin=subprocess.DEVNULL, stdout=file,
                                    stderr=subprocess.STDOUT)

    def await_start(self, process, holds, log):
        def settled():
            return holds() or process.poll() is not None

        wait_until(settled, f"{log} starts")
        if process.poll() is not None:
            with open(self.path(log), encoding="utf-8", errors="replace") as file:
                raise Failed(f"{log} ended with {process.returncode}:\n" + file.read()[-2000:])

    # Servers.

    def begin_server(self, i):
        """Does not wait until it listens."""
        if os.path.exists(self.path(f"s{i}")):
            os.unlink(self.path(f"s{i}"))
        self.servers[i] = self.start(
            self.server_program,
            ["--pool", self.path(f"pool{i}"), "--size", f"{self.pool_mib}M", "--dram", "32M", "--listen",
             f"shm:{self.path(f's{i}')}", "--domain", "adr", "--no-spin", "--quiet"], f"s{i}.log")

    def start_server(self, i):
        self.begin_server(i)
        self.await_start(self.servers[i], lambda: os.path.exists(self.path(f"s{i}")), f"s{i}.log")

    def kill_server(self, i):
        end(self.servers[i])
        self.servers[i] = None

    def start_anew(self, size_mib):
        """Servers with empty pools, and a new volume on them."""
        for i in range(SERVERS):
            if self.servers[i] is not None:
                self.kill_server(i)
            self.remove_pool(i)
            self.start_server(i)
        code, said = self.rpm_fs("mkfs", VOLUME, "--size", f"{size_mib}M", "--replicas", str(COPIES),
                                 "--bytes-per-inode", self.bytes_per_inode)
        if code != 0:
            raise Failed(f"mkfs ended with {code}: {said}")

    def remove_pool(self, i):
        if os.path.exists(self.path(f"pool{i}")):
            os.unlink(self.path(f"pool{i}"))

    # Mounts.

    def begin_mount(self, name):
        """Does not wait until it answers."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(self.path(name))
        self.daemons[name] = self.start(
            self.fs_program, ["mount", VOLUME, self.path(name), "--foreground", *self.urls()], name + ".log")

    def mount(self, name):
        self.begin_mount(name)
        self.await_start(self.daemons[name], lambda: is_mounted(self.path(name)), name + ".log")

    def kill_daemon(self, name):
        """Leaves a dead mount behind."""
        end(self.daemons.pop(name))

    def unmount(self, name):
        daemon = self.daemons[name]
        wait_until(lambda: subprocess.run(["umount", self.path(name)], capture_output=True, check=False,
                                          timeout=PATIENCE_S).returncode == 0, f"{name} is unmounted", 20)
        wait_until(lambda: daemon.poll() is not None, f"the daemon of {name} ends")
        if daemon.returncode != 0:
            raise Failed(f"the daemon of {name} ended with {daemon.returncode}")
        del self.daemons[name]

    # Commands and workers.

    def rpm_fs(self, *words, seconds=PATIENCE_S, mode=None):
        try:
            done = subprocess.run([self.fs_program, *words, *self.urls(mode)], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False, timeout=seconds)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"rpm-fs {words[0]}: not within {seconds} s") from late
        return done.returncode, done.stdout

    def check(self):
        code, said = self.rpm_fs("check", VOLUME, "--data", "--offline", mode="")
        if code != 0 or not said.endswith("check clean\n"):
            raise Failed(f"rpm-fs check --data ended with {code}:\n{said}")

    def work(self, name, function, *arguments):
        worker = Worker(name, self.path(name + ".log"), function, *arguments)
        self.workers.append(worker)
        return worker

    def expect_well(self):
        """Daemons and servers that the test has not ended run, and no worker has failed."""
        for name, daemon in self.daemons.items():
            if daemon.poll() is not None:
                raise Failed(f"the daemon of {name} ended by itself with {daemon.returncode}")
        for i, server in enumerate(self.servers):
            if server is not None and server.poll() is not None:
                raise Failed(f"server {i} ended by itself with {server.returncode}")
        for worker in self.workers:
            worker.expect_well()

    def close(self):
        """Ends all, and removes the folder unless it is kept."""
        processes = list(self.daemons.values()) + [each for each in self.servers if each is not None]
        for worker in self.workers:
            worker.kill()
        for process in processes:
            end(process)
        for name in os.listdir(self.folder):
            if not os.path.islink(self.path(name)) and name in ("A", "B"):
                subprocess.run(["umount", "-l", self.path(name)], stderr=subprocess.DEVNULL, check=False)
        for worker in self.workers:
            wait_until(worker.has_ended, f"{worker.name} ends")
        if not self.kept:
            shutil.rmtree(self.folder, ignore_errors=True)


def end(process):
    """By SIGKILL, which also ends one that is stopped."""
    if process.poll() is None:
        process.kill()
        process.wait(PATIENCE_S)


def run_test(world, story):
    """Runs story(), which returns the last line. Returns the exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        line = story()
    except (Failed, subprocess.TimeoutExpired) as failed:
        world.kept = True
        print(f"FAILED: {failed}\nlogs and notes are in {world.folder}")
        return 1
    finally:
        world.close()
    print(line)
    return 0
