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
import shutil
import sys
import time

from fs_world import MIB, World, die

LEFT_OUT = {".git", "build"}
GONE = {errno.ENOTCONN, errno.ECONNABORTED, errno.EIO}  # what a call gets whose daemon was killed


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


def copy_one(source, target, size):
    if size is None:
        os.makedirs(target, exist_ok=True)
    else:
        with open(source, "rb") as from_file, open(target, "wb") as to_file:
            shutil.copyfileobj(from_file, to_file, MIB)


def copy_all(world, top, items):
    """Copy through two kills. Returns the acknowledged files."""
    total = sum(size or 0 for _, size in items)
    done, copied, steps = 0, [], [kill_server, kill_daemon]
    for path, size in items:
        if steps and done >= total * (3 - len(steps)) // 3:
            steps.pop(0)(world)
        for attempt in range(3):
            try:
                copy_one(os.path.join(top, path), os.path.join(world.path("A"), path), size)
                break
            except OSError as error:
                if error.errno not in GONE or attempt == 2:
                    raise
                if world.mounts["A"].poll() is not None:
                    world.mount("A")
        copied.append((path, size))
        done += size or 0
    return copied


def kill_server(world):
    print("killing server 1, and starting it again", flush=True)
    world.kill(world.servers[1])
    world.start_server(1)
    world.await_server(1)


def kill_daemon(world):
    print("killing the daemon of mount A, and mounting it again", flush=True)
    world.kill(world.mounts["A"])


def compare(world, top, copied):
    different = lost = 0
    for path, size in copied:
        there = os.path.join(world.path("B"), path)
        if not (os.path.isdir(there) if size is None else os.path.isfile(there)):
            lost += 1
        elif size is not None and not filecmp.cmp(os.path.join(top, path), there, shallow=False):
            different += 1
    return different, lost


def story(world, top, items):
    world.make_volume("--bytes-per-inode", "4K")
    world.mount("A")
    world.mount("B")
    start = time.monotonic()
    copied = copy_all(world, top, items)
    seconds = time.monotonic() - start
    different, lost = compare(world, top, copied)
    world.unmount("A")
    world.unmount("B")
    status, last, said = world.check()
    if last != "check clean":
        sys.stdout.write(said)
    files = [size for _, size in copied if size is not None]
    print(f"{world.kills} kills by SIGKILL; copied in {seconds:.1f} s, restarts included")
    print(f"files {len(files)} bytes {sum(files)} different {different} lost {lost} {last}")
    return 0 if different == 0 and lost == 0 and status == 0 else 1


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
    with World(args.programs, "quickstart", need) as world:
        print(f"copying {sum(size is not None for _, size in items)} files of {args.tree}", flush=True)
        return story(world, args.tree, items)


if __name__ == "__main__":
    sys.exit(main())
