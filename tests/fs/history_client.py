# SPDX-License-Identifier: BSD-3-Clause
"""One process that makes random calls in a directory by system calls, and notes each one.

Notes are lines of JSON, written at once: one before a call, {"call", "args", "begin"}, and one after it, {"result",
"end"}. history_clients.cpp writes the same of calls through the library.
"""
import ctypes
import errno
import json
import os
import random
import struct
import time

from history_check import NEVER, Call

BLOCK = 4096
RECORD = 64
FILES = 3
BLOCKS = 4  # of each file
NAMES = 20
CLIENTS = 6
LIST_NS = 10**9  # so long records are appended to one file
LISTED = 32768  # bytes of entries of a directory
LIBC = ctypes.CDLL(None, use_errno=True)


def make_directory(path):
    """What the calls of all clients need."""
    os.mkdir(os.path.join(path, "names"))
    for i in range(FILES):
        with open(os.path.join(path, f"f{i}"), "wb") as file:
            file.truncate(BLOCKS * BLOCK)


def record(value):
    return value.ljust(RECORD - 1).encode() + b"\n"


def values_of(data, size):
    """The value of each @size bytes, which are records of one value; "" for zeros."""
    values = []
    for at in range(0, len(data), size):
        piece = data[at:at + size]
        each = {piece[i:i + RECORD].strip(b"\0 \n").decode(errors="replace") for i in range(0, len(piece), RECORD)}
        values.append(each.pop() if len(each) == 1 and len(piece) == size else "?" + "|".join(sorted(each)))
    return values


def names_in(entries):
    """Of getdents64(): one call gets all names, at one time; readdir() would make a second one for later names."""
    names, at = {}, 0
    while at < len(entries):
        ino, _, size, _ = struct.unpack_from("=QqHB", entries, at)
        name = entries[at + struct.calcsize("=QqHB"):at + size].split(b"\0", 1)[0].decode()
        if name not in (".", ".."):
            names["names/" + name] = ino
        at += size
    return names


def name_of(error):
    return errno.errorcode.get(error, str(error))


class Client:
    def __init__(self, top, notes, name, seed, begun_ns, place):
        """@place: among CLIENTS that run at once."""
        self.top = top
        self.place = place
        self.notes = open(notes, "ab", buffering=0)
        self.name = name
        self.random = random.Random(f"{seed} {name}")
        self.begun_ns = begun_ns
        self.number = 0
        self.handles = {}  # open files, by name and flags

    def path(self, name):
        return os.path.join(self.top, name)

    def note(self, what):
        self.notes.write(json.dumps(what).encode() + b"\n")

    def make(self, call, args, act):
        """Notes a call, which @act makes. What act() returns is the result; by a second call, if it is a function."""
        self.note({"call": call, "args": args, "begin": time.monotonic_ns()})
        try:
            result = act()
        except OSError as error:
            result = name_of(error.errno)
        end = time.monotonic_ns()
        self.note({"result": result() if callable(result) else result, "end": end})

    def new_value(self):
        self.number += 1
        return f"{self.name}.{self.number}"

    def handle(self, file, flags):
        """A descriptor that is mostly open since long."""
        key = (file, flags)
        if key in self.handles and self.random.random() < 0.1:
            os.close(self.handles.pop(key))
        if key not in self.handles:
            self.handles[key] = os.open(self.path(file), flags)
        return self.handles[key]

    def some_blocks(self):
        count = self.random.choice([1, 1, 2, 3])
        return f"f{self.random.randrange(FILES)}", self.random.randrange(BLOCKS - count + 1), count

    def write(self):
        """By a descriptor that only writes. Of one that reads as well, the kernel puts the bytes into its pages before
        it hands them on: others at this mount may read them before those at other mounts."""
        file, first, count = self.some_blocks()
        value = self.new_value()
        fd = self.handle(file, os.O_WRONLY)
        data = record(value) * (count * BLOCK // RECORD)

        def act():
            return "ok" if os.pwrite(fd, data, first * BLOCK) == len(data) else "EIO"

        self.make("write", [file, first, count, value], act)

    def read(self):
        file, first, count = self.some_blocks()
        fd = self.handle(file, self.random.choice([os.O_RDONLY, os.O_RDWR, os.O_RDONLY | os.O_APPEND]))

        def act():
            data = os.pread(fd, count * BLOCK, first * BLOCK)
            return lambda: values_of(data, BLOCK)

        self.make("read", [file, first, count], act)

    def list_now(self):
        return f"list{(time.monotonic_ns() - self.begun_ns) // LIST_NS}"

    def append(self):
        file, value = self.list_now(), self.new_value()
        fd = os.open(self.path(file), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self.make("append", [file, value], lambda: "ok" if os.write(fd, record(value)) == RECORD else "EIO")
        os.close(fd)

    def list(self, file=None):
        file = file or self.list_now()
        try:
            fd = os.open(self.path(file), os.O_RDONLY | self.random.choice([0, os.O_APPEND]))
        except FileNotFoundError:
            return

        def act():
            data = os.pread(fd, 1 << 20, 0)
            return lambda: self.records(data)

        self.make("list", [file], act)
        os.close(fd)

    def records(self, data):
        """Without zeros at the end, which are a known fault of reads by the kernel's pages: it may find that a file has
        become longer after it has read the page. The list is then one of before."""
        values = values_of(data, RECORD)
        while values and values[-1] == "":
            self.note({"zeros": len(values)})
            values.pop()
        return values

    def some_name(self):
        return f"names/n{self.random.randrange(NAMES)}"

    def create(self):
        name = self.some_name()
        fds = []

        def act():
            fds.append(os.open(self.path(name), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644))
            return lambda: os.fstat(fds[0]).st_ino

        self.make("create", [name], act)
        for fd in fds:
            os.close(fd)

    def stat(self):
        name = self.some_name()
        self.make("stat", [name], lambda: os.stat(self.path(name)).st_ino)

    def unlink(self):
        name = self.some_name()
        self.make("unlink", [name], lambda: os.unlink(self.path(name)) or "ok")

    def rename(self):
        """To a name that no other client renames files to. Else two clients may rename a file to the same name: the
        kernel of the second one looks up the old name before the first one has done so, and the new name after it. For
        two names of one file, it returns 0 and asks for nothing."""
        to = self.random.randrange(self.place, NAMES, CLIENTS)
        name, to = (f"names/n{i}" for i in (self.random.choice([i for i in range(NAMES) if i != to]), to))
        self.make("rename", [name, to], lambda: os.rename(self.path(name), self.path(to)) or "ok")

    def names(self):
        fd = os.open(self.path("names"), os.O_RDONLY | os.O_DIRECTORY)
        into = ctypes.create_string_buffer(LISTED)

        def act():
            size = LIBC.getdents64(fd, into, LISTED)
            if size < 0:
                raise OSError(ctypes.get_errno(), "getdents64")
            return lambda: names_in(into.raw[:size])

        self.make("names", [], act)
        os.close(fd)

    def run(self, stop):
        """Until there is a file @stop."""
        acts = [self.write] * 5 + [self.read] * 5 + [self.append] * 2 + [self.list] * 2
        acts += [self.create] * 5 + [self.stat] * 6 + [self.unlink] * 2 + [self.rename] * 3 + [self.names]
        while not os.path.exists(stop):
            self.random.choice(acts)()

    def read_all(self):
        """What is there at the end."""
        for i in range(FILES):
            self.make("read", [f"f{i}", 0, BLOCKS], lambda i=i: self.whole(f"f{i}", BLOCK))
        for name in sorted(os.listdir(self.top)):
            if name.startswith("list"):
                self.make("list", [name], lambda name=name: self.whole(name, RECORD))
        self.names()

    def whole(self, file, size):
        with open(self.path(file), "rb") as opened:
            return values_of(opened.read(), size)


def calls_of(client, path):
    """What notes tell. A call that has no result, or EIO, may have happened."""
    calls = []
    begun = None
    with open(path, "rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break  # killed within the write
            noted = json.loads(line)
            if "call" in noted:
                begun = noted
                calls.append(Call(client, noted["call"], noted["args"], None, noted["begin"], NEVER))
            elif begun is not None and "end" in noted:
                calls[-1] = calls[-1]._replace(result=noted["result"], end=noted["end"])
                if noted["result"] == "EIO":
                    calls[-1] = calls[-1]._replace(result=None, end=NEVER)
    return calls
