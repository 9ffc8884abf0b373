# SPDX-License-Identifier: BSD-3-Clause
"""What is in a directory: as operations make it, and as a mount shows it.

An operation is a tuple of words, such as ("write", "d1/f2", "8192", "100"): one system call, which changes the
volume as a whole or not at all. The bytes that it writes follow from its owner and its number.
"""
import os
import random
import stat

FILES = [f"f{i}" for i in range(8)]
FOLDERS = [f"d{i}" for i in range(3)]
FILE_MAX = 3 << 19
READ_BYTES = 1 << 20


def bytes_of(owner, number, size):
    """Of one write: no other has them."""
    return random.Random(f"{owner} {number}").randbytes(size)


class File:
    """The contents of a file. Its names are in the tree."""

    def __init__(self, data=b""):
        self.data = bytearray(data)

    def write(self, offset, data):
        self.data.extend(bytes(max(0, offset - len(self.data))))
        self.data[offset:offset + len(data)] = data

    def truncate(self, size):
        del self.data[size:]
        self.data.extend(bytes(size - len(self.data)))


class Tree:
    """Paths, and for each a File, or None for a directory."""

    def __init__(self, owner):
        self.owner = owner
        self.paths = {}

    def after(self, number, operation):
        """A copy, changed by an operation."""
        other = Tree(self.owner)
        files = {file: File(file.data) for file in self.paths.values() if file is not None}
        other.paths = {path: files.get(file) for path, file in self.paths.items()}
        other.apply(number, operation)
        return other

    def apply(self, number, operation):
        name, path, *words = operation
        paths = self.paths
        if name == "create":
            paths[path] = File()
        elif name == "mkdir":
            paths[path] = None
        elif name == "write":
            paths[path].write(int(words[0]), bytes_of(self.owner, number, int(words[1])))
        elif name == "append":
            paths[path].write(len(paths[path].data), bytes_of(self.owner, number, int(words[0])))
        elif name == "truncate":
            paths[path].truncate(int(words[0]))
        elif name == "link":
            paths[words[0]] = paths[path]
        elif name == "rename":
            for old in [old for old in paths if old == path or old.startswith(path + "/")]:
                paths[words[0] + old[len(path):]] = paths.pop(old)
        elif name in ("unlink", "rmdir"):
            del paths[path]
        else:
            raise AssertionError(name)

    def files(self):
        return [path for path, file in self.paths.items() if file is not None]

    def folders(self):
        return [path for path, file in self.paths.items() if file is None]

    def names_of(self, path):
        return sorted(other for other, file in self.paths.items() if file is self.paths[path])


class Seen:
    """The same as a mount shows it: for each path its inode and contents, or None."""

    def __init__(self, top):
        """@top: a descriptor of the directory. Throws OSError."""
        self.paths = {}
        self.links = {}
        folders = [""]
        while folders:
            folder = folders.pop()
            for name in list_folder(top, folder):
                path = folder + name
                found = os.stat(path, dir_fd=top, follow_symlinks=False)
                if stat.S_ISDIR(found.st_mode):
                    self.paths[path] = None
                    folders.append(path + "/")
                else:
                    self.paths[path] = (found.st_ino, read_file(top, path))
                    self.links[path] = found.st_nlink

    def names_of(self, path):
        return sorted(other for other, file in self.paths.items()
                      if file is not None and file[0] == self.paths[path][0])


def list_folder(top, path):
    fd = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=top)
    try:
        return os.listdir(fd)
    finally:
        os.close(fd)


def read_file(top, path):
    fd = os.open(path, os.O_RDONLY, dir_fd=top)
    try:
        data = bytearray()
        while piece := os.pread(fd, READ_BYTES, len(data)):
            data += piece
        return bytes(data)
    finally:
        os.close(fd)


def differences(tree, seen):
    """Paths that the mount shows otherwise than the operations have made them, and how."""
    found = {}
    for path in sorted(tree.paths.keys() | seen.paths.keys()):
        if path not in seen.paths:
            found[path] = "is not there"
        elif path not in tree.paths:
            found[path] = "should not be there"
        elif (tree.paths[path] is None) != (seen.paths[path] is None):
            found[path] = "has another type"
        elif tree.paths[path] is not None:
            text = difference_of_files(tree, seen, path)
            if text is not None:
                found[path] = text
    return found


def difference_of_files(tree, seen, path):
    wanted, data = bytes(tree.paths[path].data), seen.paths[path][1]
    names = tree.names_of(path)
    if data != wanted:
        differ = [i for i in range(0, max(len(data), len(wanted)), 4096)
                  if data[i:i + 4096] != wanted[i:i + 4096]]
        return (f"has {len(data)} bytes, {len(wanted)} expected; {len(differ)} blocks differ, "
                f"the first at {differ[0]}")
    if seen.names_of(path) != names or seen.links[path] != len(names):
        return f"has the names {seen.names_of(path)} and counts {seen.links[path]}, expected {names}"
    return None
