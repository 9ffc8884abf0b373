#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the golden files of fs from fs/FORMAT.md, without any code of fs.

Run by hand when the format changes, which also changes its version:

    tests/golden/make_fs.py tests/golden/fs

With --check nothing is written; the exit code is 1 if a file differs, or if an example in FORMAT.md
has a line that its golden file has not. The volume is the one that fs_test.cpp fills.
"""
import pathlib
import sys

from block import Block, main, xxh3

FORMAT = pathlib.Path(__file__).resolve().parents[2] / "fs" / "FORMAT.md"
SEED = 0x0123456789abcdef
CLIENT = 5
SHARDS = 2
ALL_ONES = (1 << 64) - 1
END = (1 << 63) - 1
# Numbers of files, which the generator splitmix64 makes of the seed 5.
ROOT, HELLO, D, LARGE = 1, 0x63033b0d, 0xc097314c, 0x196e4ec2
SHORT, LONG, NULL, GONE = 0x301e278f, 0x616f9630, 0xfc4de41f, 0x82d78c13
LONG_NAME = b"n" * 100 + b".txt"
SAME_HASH = (b"c7432", b"c17679")  # the upper 28 bits
TARGET = b"x" * 500
BLOCK_HELLO = b"hello\n".ljust(4096, b"\0")
BLOCK_LARGE = b"large".ljust(4096, b"\0")

I, S = 64, 1  # inodes and slabs of each shard
HASH, ORDERED = 1, 2
# name, kind, bytes of a row, rows of each shard, rows of its index, which dtx chooses
TABLES = (
    ("volume", HASH, 40, 1, 258), ("mounts", HASH, 24, 1, 258), ("inodes", HASH, 224, I, 269),
    ("names", ORDERED, 96, I + I // 4 + 1, 518), ("long_names", HASH, 168, I // 4 + 1, 260),
    ("maps", ORDERED, 512, 16 * S + min(I, 512 * S // 9) + 1, 518),
    ("blobs", ORDERED, 480, I // 4 + 256, 535), ("slabs", ORDERED, 72, S + 1024, 603),
    ("orphans", ORDERED, 16, I, 517), ("locks", ORDERED, 32, I // 4 + 5120, 969),
    ("locked_files", ORDERED, 8, I // 4 + 1024, 604))


def t(call, later=0):
    """When a call of the test was made, or a change of the same call."""
    return 1700000000000000000 + call * 1000000000 + later


def key(upper, lower):
    return upper << 32 | lower


def pointer(shard, block, ino, number, data):
    """A pointer; @data: None if its block is unwritten."""
    place = shard << 56 | block << 16 | (3 if data is None else 1)
    return place, 0 if data is None else xxh3(data, ino << 32 | number)


class Rows(Block):
    """The rows of a table, each behind its key."""

    def __init__(self, bytes_of_row):
        super().__init__(0)
        self.bytes_of_row = bytes_of_row
        self.at = 0  # of the row in hand

    def begin(self, row_key, note):
        at = len(self.data)
        self.at = at + 8
        self.data += bytes(8 + self.bytes_of_row)
        self.u64(at, row_key, f"key: {note}")
        return self

    def put(self, offset, size, value, note):
        data = value if isinstance(value, bytes) else value.to_bytes(size, "little")
        assert len(data) <= size and offset + size <= self.bytes_of_row
        self.raw(self.at + offset, data, note)

    def put_pointer(self, offset, made, note):
        self.put(offset, 8, made[0], f"{note}: place")
        self.put(offset + 8, 8, made[1], f"{note}: sum")


def volume():
    b = Rows(40).begin(0, "0/0")
    b.put(0, 16, bytes(0x46 if i == 6 else 0x88 if i == 8 else i for i in range(16)), "uuid")
    b.put(16, 8, SEED, "name_seed")
    b.put(24, 8, t(0), "made_ns")
    b.put(32, 4, 4096, "block_bytes")
    return b


def mounts():
    b = Rows(24).begin(0, "0/0")
    b.put(0, 16, 1 << CLIENT, "clients: 5")
    b.put(16, 4, CLIENT + 1, "solo: client 5")
    b.put(20, 4, 2, "changes")
    return b


class Inode:
    """The fields of an inode; those not given are 0."""

    def __init__(self, mode, size, made, changed, **more):
        self.links = 1
        self.blocks = self.version = self.parent = self.device = self.xattrs = 0
        self.mode, self.size, self.made, self.changed = mode, size, made, changed
        self.modified = made
        self.pointers = {}
        self.target = b""
        self.__dict__.update(more)

    def put(self, b):
        b.put(0, 4, self.mode, "mode")
        b.put(4, 4, 1000, "uid")
        b.put(8, 4, 100, "gid")
        b.put(12, 4, self.links, "links")
        b.put(16, 8, self.size, "size")
        b.put(24, 8, self.blocks, "blocks")
        b.put(32, 8, self.made, "atime_ns")
        b.put(40, 8, self.modified, "mtime_ns")
        b.put(48, 8, self.changed, "ctime_ns")
        b.put(56, 8, self.made, "btime_ns")
        b.put(64, 8, self.version, "data_version")
        b.put(72, 8, ALL_ONES, "cut: none")
        b.put(84, 4, self.parent, "parent")
        b.put(88, 4, self.device, "device")
        b.put(92, 4, self.xattrs, "xattr_bytes")
        for number, made in self.pointers.items():
            b.put_pointer(96 + 16 * number, made, f"block {number}")
        if self.target:
            b.put(96, 128, self.target, "target")


def inodes():
    stream = len(xattr_stream())
    files = {
        ROOT: Inode(0o40755, 7, t(0), t(15), modified=t(15), links=3, version=9, parent=1),
        HELLO: Inode(0o100644, 6, t(1), t(12), modified=t(4), links=4, blocks=1, version=1,
                     xattrs=stream, pointers={0: pointer(0, 0, HELLO, 0, BLOCK_HELLO)}),
        D: Inode(0o40750, 2, t(2), t(9), modified=t(9), links=2, version=2, parent=ROOT),
        LARGE: Inode(0o100600, 40 * 4096 + 5, t(3), t(6), modified=t(6), blocks=3, version=2,
                     pointers={7: pointer(0, 1, LARGE, 7, None)}),
        SHORT: Inode(0o120777, 5, t(8), t(8), target=b"hello"),
        LONG: Inode(0o120777, 500, t(9), t(9)),
        NULL: Inode(0o20666, 0, t(10), t(10), device=1 << 20 | 3),
        GONE: Inode(0o100644, 0, t(14), t(15), links=0),
    }
    b = Rows(224)
    for ino in sorted(files):
        files[ino].put(b.begin(ino, f"file {ino:#x}"))
    return b


def name_key(directory, name, collision=0):
    return key(directory, xxh3(name, SEED) >> 36 << 4 | collision)


def all_names():
    """key -> (file, type, name)"""
    found = {name_key(ROOT, name): (ino, kind, name) for ino, kind, name in (
        (HELLO, 8, b"hello"), (D, 4, b"d"), (HELLO, 8, LONG_NAME), (HELLO, 8, SAME_HASH[0]),
        (SHORT, 10, b"short"), (NULL, 2, b"null"))}
    found[name_key(ROOT, SAME_HASH[1], 1)] = (HELLO, 8, SAME_HASH[1])
    found[name_key(D, b"large")] = (LARGE, 8, b"large")
    found[name_key(D, b"long")] = (LONG, 10, b"long")
    return found


def names():
    b = Rows(96)
    for row_key, (ino, kind, name) in sorted(all_names().items()):
        b.begin(row_key, f"directory {row_key >> 32:#x}, {name[:12].decode()}")
        b.put(0, 4, ino, "ino")
        b.put(4, 1, kind, "type")
        b.put(5, 1, len(name), "length")
        b.put(6, 90, name[:90], "head")
    return b


def long_names():
    b = Rows(168).begin(name_key(ROOT, LONG_NAME), "as in names")
    b.put(0, 165, LONG_NAME[90:], "tail")
    return b


def maps():
    b = Rows(512).begin(key(LARGE, 0), "file, blocks 0 to 31")
    b.put_pointer(8 * 16, pointer(0, 2, LARGE, 8, None), "block 8, unwritten")
    b.begin(key(LARGE, 1), "file, blocks 32 to 63")
    b.put_pointer(8 * 16, pointer(1, 0, LARGE, 40, BLOCK_LARGE), "block 40")
    return b


def xattr_stream():
    stream = b""
    for name, value in ((b"user.a", b"1"), (b"user.b", b"b" * 600)):
        stream += bytes([len(name), 0]) + len(value).to_bytes(2, "little") + name + value
    return stream


def blobs():
    pieces = {key(HELLO, i): xattr_stream()[480 * i:480 * i + 480] for i in range(2)}
    pieces.update({key(LONG, 65536 + i): TARGET[480 * i:480 * i + 480] for i in range(2)})
    b = Rows(480)
    for row_key in sorted(pieces):
        b.begin(row_key, f"file {row_key >> 32:#x}, piece {row_key & 0xffffffff}")
        b.put(0, 480, pieces[row_key], "bytes")
    return b


def slabs():
    b = Rows(72)
    for shard, used in (0, 7), (1, 1):
        b.begin(key(shard, 0), f"shard {shard}, slab 0")
        b.put(0, 2, CLIENT + 1, "owner: client 5")
        b.put(2, 6, 0x0a0b0c0d0e0f, "its join")
        b.put(8, 64, used, "used")
    return b


def orphans():
    b = Rows(16).begin(key(GONE % SHARDS, GONE), "shard, file")
    b.put(0, 16, 1 << CLIENT, "clients: 5")
    return b


def locks():
    b = Rows(32)
    for ino, end, kind, what in sorted(((HELLO, 9, 1, 1), (LARGE, END, 2, 2))):
        b.begin(key(ino, 0), f"file {ino:#x}, lock 0")
        b.put(8, 8, end, "end; start is 0")
        b.put(16, 8, 77, "owner")
        b.put(24, 4, 4321, "pid")
        b.put(28, 2, CLIENT + 1, "client: 5")
        b.put(30, 1, kind, "kind")
        b.put(31, 1, what, "type")
    return b


def locked_files():
    b = Rows(8)
    for ino in sorted((HELLO, LARGE)):
        b.begin(key(CLIENT + 1, ino), "client 5, file")
    return b


def block_of(data, note):
    b = Block(4096)
    b.raw(0, data, note)
    return b


def description():
    lines = ["home", "words 5 16 256 0"]
    for i, (name, kind, row, rows, index_rows) in enumerate(TABLES):
        lines.append(f"{name} {kind} {row} {rows} {2 * i + 2}")
        lines.append(f"{name}.index {3 if kind == HASH else 4} {224 if kind == HASH else 480} "
                     f"{index_rows} {2 * i + 1}")
    text = "\n".join([*lines, f"blocks 6 {2 << 20} {S} 0", ""]).encode()
    b = Block(len(text))
    b.raw(0, text, "tables, indexes and span")
    return b


def golden():
    """Every golden file of fs: name -> (title, block)."""
    tables = (volume, mounts, inodes, names, long_names, maps, blobs, slabs, orphans, locks, locked_files)
    assert [table.__name__ for table in tables] == [entry[0] for entry in TABLES]
    files = {table.__name__: (f"fs/FORMAT.md: rows of {table.__name__}, each behind its key", table())
             for table in tables}
    files["description"] = ("fs/FORMAT.md: description of the tables (dtx/FORMAT.md)", description())
    files["block_hello"] = ("fs/FORMAT.md: block 0 of shard 0", block_of(b"hello\n", "hello"))
    files["block_large"] = ("fs/FORMAT.md: block 0 of shard 1", block_of(b"large", "large"))
    return files


def check_examples(files):
    """How many lines of the examples in FORMAT.md their golden files have not. An example is
    indented and begins with the name of its file."""
    wrong = seen = 0
    lines = None
    for line in FORMAT.read_text().splitlines():
        if not line.startswith("    "):
            lines = lines if not line else None
        elif line.endswith(".hex"):
            title, block = files[line.strip()[:-4]]
            lines = block.hex(title).splitlines()
        elif lines is not None:
            seen += 1
            if line[4:] not in lines:
                print(f"{FORMAT}: no golden file has the line {line!r}", file=sys.stderr)
                wrong += 1
    return wrong + (0 if seen > 0 else 1)


if __name__ == "__main__":
    FILES = golden()
    sys.exit(main(FILES, __doc__) or check_examples(FILES))
