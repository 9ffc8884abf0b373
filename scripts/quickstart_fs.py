#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Copy a tree into a volume at one mount through two kills, then compare it at another mount.

Run by scripts/quickstart-fs:

    scripts/quickstart_fs.py build/bin DIR

The volume is on three servers, each block and row on two of them. After a third of the bytes one server is killed
by SIGKILL and started again with its memory; after two thirds the daemon of the mount that is written, which is
then mounted again over the dead mount. A file counts as acknowledged once close() has returned; a file whose
copying failed is copied again. At the end

    files, bytes  that were acknowledged
    different     of them, that read otherwise at the other mount
    lost          of them, that are not there

and rpm-fs check --data reads all tables and both copies of all blocks.
"""
import argparse
import errno
import filecmp
import os
import signal
import shutil
import subprocess
import sys
import tempfile
import time

DEADLINE_S = 60
SERVERS = 3
COPIES = 2
VOLUME = "quickstart"
LEFT_OUT = {".git", "build"}
MIB = 1 << 20
GONE = {errno.ENOTCONN, errno.ECONNABORTED, errno.EIO}  # what a call gets whose daemon was killed


def die(text):
    sys.exit(f"quickstart-fs: {text}")


def tree_of(top):
    """Directories and regular files below @top, as (path, size); a directory has size None."""
    found = []
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(set(folders) - LEFT_OUT)
        base = os.path.relpath(folder, top)
        found += [(os.path.normpath(os.path.join(base, name)), None) for name in folders
                  if not os.path.islink(os.path.join(folder, name))]
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                found.append((os.path.normpath(os.path.join(base, name)), os.path.getsize(path)))
    return sorted(found, key=lambda item: (item[0].count("/"), item[1] is not None, item[0]))


class Run:
    """Servers, mounts and what was acknowledged."""

    def __init__(self, programs, scratch, need):
        self.programs = programs
        self.scratch = scratch
        self.volume_bytes = need
        self.servers = [None] * SERVERS
        self.mounts = {}
        self.kills = 0

    def path(self, name):
        return os.path.join(self.scratch, name)

    def urls(self):
        return [word for i in range(SERVERS) for word in ("--url", f"shm:{self.path(f's{i}')}")]

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
        size = (self.volume_bytes * COPIES // SERVERS * 5 // 4 // MIB + 256) * MIB
        self.servers[i] = subprocess.Popen(
            [os.path.join(self.programs, "rpm-server"), "--pool", self.path(f"pool{i}"), "--size", str(size),
             "--dram", "32M", "--listen", f"shm:{self.path(name)}", "--domain", "adr", "--quiet"],
            stdin=subprocess.DEVNULL, stdout=self.log(name), stderr=subprocess.STDOUT)
        self.wait(name, lambda: os.path.exists(self.path(name)), self.servers[i])

    def mount(self, name):
        where = self.path(name)
        os.makedirs(where, exist_ok=True) if name not in self.mounts else None
        self.mounts[name] = subprocess.Popen(
            [os.path.join(self.programs, "rpm-fs"), "mount", VOLUME, where, "--foreground", *self.urls()],
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
        process.wait(DEADLINE_S)

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


def is_mounted(where):
    """Is there a file system that answers?"""
    try:
        return os.stat(where).st_dev != os.stat(os.path.dirname(where)).st_dev
    except OSError:
        return False


def copy_one(source, target, size):
    if size is None:
        os.makedirs(target, exist_ok=True)
    else:
        with open(source, "rb") as from_file, open(target, "wb") as to_file:
            shutil.copyfileobj(from_file, to_file, MIB)


def copy_all(run, top, items):
    """Copy through two kills. Returns the acknowledged files."""
    total = sum(size or 0 for _, size in items)
    done, copied, steps = 0, [], [run_kill_server, run_kill_daemon]
    for path, size in items:
        if steps and done >= total * (3 - len(steps)) // 3:
            steps.pop(0)(run)
        for attempt in range(3):
            try:
                copy_one(os.path.join(top, path), os.path.join(run.path("A"), path), size)
                break
            except OSError as error:
                if error.errno not in GONE or attempt == 2:
                    raise
                if run.mounts["A"].poll() is not None:
                    run.mount("A")
        copied.append((path, size))
        done += size or 0
    return copied


def run_kill_server(run):
    print("killing server 1, and starting it again", flush=True)
    run.kill(run.servers[1])
    run.start_server(1)


def run_kill_daemon(run):
    print("killing the daemon of mount A, and mounting it again", flush=True)
    run.kill(run.mounts["A"])


def compare(run, top, copied):
    different = lost = 0
    for path, size in copied:
        there = os.path.join(run.path("B"), path)
        if not (os.path.isdir(there) if size is None else os.path.isfile(there)):
            lost += 1
        elif size is not None and not filecmp.cmp(os.path.join(top, path), there, shallow=False):
            different += 1
    return different, lost


def story(run, top, items):
    for i in range(SERVERS):
        run.start_server(i)
    made = run.rpm_fs("mkfs", VOLUME, "--replicas", str(COPIES), "--size", str(run.volume_bytes),
                      "--bytes-per-inode", "4K")
    if made.returncode != 0:
        die("mkfs failed: " + made.stderr)
    run.mount("A")
    run.mount("B")
    start = time.monotonic()
    copied = copy_all(run, top, items)
    seconds = time.monotonic() - start
    different, lost = compare(run, top, copied)
    run.unmount("A")
    run.unmount("B")
    check = run.rpm_fs("check", VOLUME, "--data")
    last = (check.stdout.splitlines() or [check.stderr.strip()])[-1]
    if last != "check clean":
        sys.stdout.write(check.stdout)
    files = [size for _, size in copied if size is not None]
    print(f"{run.kills} kills by SIGKILL; copied in {seconds:.1f} s, restarts included")
    print(f"files {len(files)} bytes {sum(files)} different {different} lost {lost} {last}")
    return 0 if different == 0 and lost == 0 and check.returncode == 0 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("programs", help="folder of rpm-server and rpm-fs")
    parser.add_argument("tree", help="the directory that is copied, without .git and build in it")
    args = parser.parse_args()
    if not os.path.isdir(args.tree):
        die(f"{args.tree} is no directory")
    items = tree_of(args.tree)
    # Room for the files in whole blocks, and for one more copy of each.
    need = max(64 * MIB, 2 * sum((size or 0) + 8192 for _, size in items))
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    scratch = tempfile.mkdtemp(prefix="librpm-quickstart-", dir=shared)
    run = Run(args.programs, scratch, need)
    try:
        print(f"copying {sum(size is not None for _, size in items)} files of {args.tree}", flush=True)
        return story(run, args.tree, items)
    finally:
        run.stop()
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
