# SPDX-License-Identifier: BSD-3-Clause
"""fs_peers.py: file systems of others, mounted on folders in memory, to compare with: each is used by with and gives the
folders where it is mounted. For scripts/fs_speed.py.
"""
import contextlib
import ctypes
import os
import socket
import subprocess
import time
from pathlib import Path

from fs_world import DEADLINE_S, die, is_mounted

EXAMPLE = Path("/usr/share/doc/libfuse3-dev/examples/passthrough_ll.c")
ADDRESS = "192.0.2.1"  # on the loopback device of a network namespace: both clusters refuse 127.0.0.1
MASTER_PORT = 9421  # of MooseFS, for clients
CLONE_NEWNET = 0x40000000
COPIES = 2
VOLUME = "v"


def output(*words, seconds=DEADLINE_S):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=seconds)
    if done.returncode != 0:
        die(f"{' '.join(map(str, words))} ended with {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


@contextlib.contextmanager
def own_network():
    """This process, and those that it starts meanwhile, are in a network that has a loopback device alone."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net", "rb") as outside:
        if libc.unshare(CLONE_NEWNET) != 0:
            die(f"no network namespace: {os.strerror(ctypes.get_errno())}")
        try:
            output("ip", "link", "set", "lo", "up")
            output("ip", "addr", "add", f"{ADDRESS}/32", "dev", "lo")
            yield
        finally:
            libc.setns(outside.fileno(), CLONE_NEWNET)


class Peer:
    """Daemons below a folder of a World, with a log each, and folders where their file system is mounted."""

    def __init__(self, world, name):
        self.world = world
        self.name = name
        self.where = Path(world.path(name))
        self.mounts = []
        self.daemons = []

    def path(self, name):
        return self.where / name

    def folder(self, name):
        self.path(name).mkdir(parents=True)
        return self.path(name)

    def write(self, name, *lines):
        self.path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return self.path(name)

    def start(self, *words):
        with self.world.log(self.name) as log:
            return subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=log,
                                    stderr=subprocess.STDOUT)

    def daemon(self, *words):
        self.daemons.append(self.start(*words))

    def mount(self, where, *words):
        process = self.start(*words, where)
        self.mounts.append((where, process))
        self.world.wait(self.name, lambda: is_mounted(where), process)
        return where

    def wait(self, what, holds):
        deadline = time.monotonic() + DEADLINE_S
        while not holds():
            if time.monotonic() > deadline:
                die(f"{what} after {DEADLINE_S} s; its log:\n{Path(self.world.path(self.name + '.log')).read_text()}")
            time.sleep(0.1)

    def __exit__(self, *_):
        for where, process in self.mounts:
            subprocess.run(["umount", where], check=True)
            process.wait(DEADLINE_S)
        for process in reversed(self.daemons):
            process.terminate()
            process.wait(DEADLINE_S)


class Passthrough(Peer):
    """FUSE's own limit: a daemon of libfuse's examples that hands requests on to a folder."""

    def __init__(self, world, out, options):
        super().__init__(world, "passthrough_ll")
        self.program = out / "passthrough_ll"
        self.options = options
        if not EXAMPLE.exists():
            die(f"{EXAMPLE} is missing: install libfuse3-dev")
        flags = output("pkg-config", "--cflags", "--libs", "fuse3").split()
        output("gcc", "-O2", "-o", self.program, EXAMPLE, *flags)

    def __enter__(self):
        source = self.folder("source")
        return self.mount(self.folder("A"), self.program, "-f", "-o", f"source={source},cache=auto{self.options}")


class Gluster(Peer):
    """GlusterFS with as many bricks as copies, mounted twice."""

    def __init__(self, world):
        super().__init__(world, "glusterfs")

    def command(self, *words):
        return subprocess.run(["gluster", "--mode=script", f"--glusterd-sock={self.path('socket')}",
                               f"--log-file={self.path('command.log')}", *map(str, words)], capture_output=True,
                              text=True, check=False)

    def tell(self, *words):
        done = self.command(*words)
        if done.returncode != 0:
            die(f"gluster {' '.join(map(str, words))}: {done.stderr or done.stdout}")

    def __enter__(self):
        self.where.mkdir()
        settings = self.write("glusterd.vol", "volume management", "type mgmt/glusterd",
                              f"option working-directory {self.folder('state')}",
                              f"option run-directory {self.folder('run')}",
                              f"option glusterd-sockfile {self.path('socket')}", "option transport-type socket",
                              f"option transport.socket.bind-address {ADDRESS}",
                              "option transport.socket.listen-port 24007", "end-volume")
        self.daemon("glusterd", "-N", "-f", settings, "-l", self.path("glusterd.log"), "-p", self.path("pid"))
        self.wait("glusterd does not answer", lambda: self.command("volume", "info").returncode == 0)
        bricks = [f"{ADDRESS}:{self.folder(f'brick{i}')}" for i in range(COPIES)]
        self.tell("volume", "create", VOLUME, "replica", COPIES, *bricks, "force")
        self.tell("volume", "start", VOLUME)
        return [self.mount(self.folder(name), "glusterfs", "-N", f"--volfile-server={ADDRESS}",
                           f"--volfile-id={VOLUME}", "-l", self.path(f"{name}.log")) for name in "AB"]

    def __exit__(self, *error):
        self.command("volume", "stop", VOLUME)
        super().__exit__(*error)
        for log in Path("/var/log/glusterfs/bricks").glob(f"*{self.where.parent.name}*"):
            log.unlink()


def listens(address, port):
    with socket.socket() as tried:
        return tried.connect_ex((address, port)) == 0


class Moose(Peer):
    """MooseFS with three chunk servers, mounted twice."""

    def __init__(self, world):
        super().__init__(world, "moosefs")

    def settings(self, name, *lines):
        return self.write(f"{name}.cfg", "WORKING_USER = root", "WORKING_GROUP = root", "NICE_LEVEL = 0",
                          f"DATA_PATH = {self.folder(name)}", *lines)

    def __enter__(self):
        self.where.mkdir()
        exports = self.write("exports.cfg", "* / rw,alldirs,admin,maproot=0:0")
        master = self.settings("master", f"EXPORTS_FILENAME = {exports}",
                               f"TOPOLOGY_FILENAME = {self.write('topology.cfg')}",
                               *(f"MATO{kind}_LISTEN_HOST = {ADDRESS}" for kind in ("ML", "CS", "CL")))
        self.path("master/metadata.mfs").write_text("MFSM NEW", encoding="ascii")
        self.daemon("mfsmaster", "-c", master, "-f", "start")
        for i in range(3):
            disks = self.write(f"disks{i}.cfg", f"{self.folder(f'disk{i}')} 4GiB")
            self.daemon("mfschunkserver", "-c",
                        self.settings(f"chunks{i}", f"HDD_CONF_FILENAME = {disks}", "HDD_LEAVE_SPACE_DEFAULT = 0",
                                      f"MASTER_HOST = {ADDRESS}", f"BIND_HOST = {ADDRESS}",
                                      f"CSSERV_LISTEN_HOST = {ADDRESS}", f"CSSERV_LISTEN_PORT = {9450 + i}"), "-f",
                        "start")
        self.wait("the master does not listen", lambda: listens(ADDRESS, MASTER_PORT))
        mounted = [self.mount(self.folder(name), "mfsmount", "-f", "-H", ADDRESS) for name in "AB"]
        output("mfssetgoal", COPIES, mounted[0])
        # The master has no room to give until the chunk servers have told it how much they have.
        self.wait("three chunk servers do not offer room", lambda: os.statvfs(mounted[0]).f_bavail > 0)
        return mounted
