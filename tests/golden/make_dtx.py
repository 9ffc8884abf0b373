#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the golden files of dtx from dtx/FORMAT.md, without any code of dtx.

Run by hand when the format changes, which also changes its number in the descriptor:

    tests/golden/make_dtx.py tests/golden/dtx

With --check nothing is written; the exit code is 1 if a file differs.
"""
import sys

from block import Block, main, xxh3

# The schema of tests/unit/dtx/engine/database.h.
DESCRIPTION = (b"test\nwords 5 16 256 0\naccounts 1 8 2000 2\naccounts.index 3 224 642 1\n"
               b"sorted 2 8 2000 4\nsorted.index 4 480 689 3\n")
# Coordinator 999, view 3, epoch 5 of its claim, its 77th attempt.
TXN = 999 << 54 | 3 << 45 | 5 << 29 | 77


def descriptor():
    b = Block(56)
    b.raw(0, b"DXSHARD1", "magic")
    b.u32(8, 7, "format")
    b.u32(12, 1, "schema version")
    b.u64(16, xxh3(DESCRIPTION), "checksum of the description of the tables")
    b.u32(24, 3, "shards")
    b.u32(28, 2, "this shard")
    b.u32(32, 2, "replicas")
    b.u32(36, 2, "server")
    b.u32(40, len(DESCRIPTION), "bytes of the description of the tables")
    b.u32(44, 1, "flags: not durable")
    b.u64(48, xxh3(b.data[0:48]), "checksum of bytes 0 to 47")
    return b


def comment(text=b"rows=17"):
    b = Block(16 + len(text))
    b.u64(0, len(text), "length")
    b.u64(8, xxh3(text, len(text)), "checksum of the text, seeded with its length")
    b.raw(16, text, "text")
    return b


def view(b, at, number, dead, what):
    b.u64(at, number, f"{what}: its number")
    b.raw(at + 8, sum(1 << server for server in dead).to_bytes(32, "little"),
          f"{what}: dead are {', '.join(map(str, dead))}")


def state():
    b = Block(104)
    b.u64(0, 5, "number of this write")
    b.u64(8, 3, "highest number of a view")
    view(b, 16, 2, [1], "accepted view")
    view(b, 56, 3, [1, 200], "proposed view")
    b.u64(96, xxh3(b.data[0:96]), "checksum of bytes 0 to 95")
    return b


def shard_header():
    b = Block(24576)
    b.raw(0, descriptor().data, "descriptor")
    b.raw(64, comment().data, "comment")
    b.raw(3584, state().data, "state of the server")
    b.raw(3840, state().data, "the same again")
    b.raw(4096, DESCRIPTION, "description of the tables")
    return b


def slot():
    b = Block(64)
    b.u64(0, 7, "version")
    b.u64(8, 42, "key")
    b.u64(16, TXN, "writer")
    b.u32(24, 1, "flags: valid")
    b.u64(32, 1000, "row")
    whole = xxh3(b.data[32:64], xxh3(b.data[0:28]))
    b.u32(28, whole ^ whole >> 32, "checksum")
    return b


def root():
    b = Block(512)
    b.u64(0, 1, "version")
    b.u32(24, 1, "flags: valid")
    b.u64(32, 0, "lowest key")
    b.u64(40, (1 << 64) - 1, "highest key")
    whole = xxh3(b.data[32:512], xxh3(b.data[0:28]))
    b.u32(28, whole ^ whole >> 32, "checksum")
    return b


def redo():
    b = Block(16 + 8 + 64 + 16)
    b.u64(0, TXN, "transaction")
    b.u32(8, 1, "objects")
    b.u32(12, 1, "spare slots")
    b.u64(16, 2 << 56 | 1 << 48 | 5, "address: shard 2, table 1, slot 5")
    b.raw(24, slot().data, "its slot")
    b.u64(88, 2 << 56 | 3 << 48 | 6, "spare slot: shard 2, table 3, slot 6")
    b.u64(96, 9, "its version")
    return b


def allocator():
    b = Block(16)
    b.u64(0, 640, "slots handed out")
    b.u64(8, 18, "first returned slot, plus 1")
    return b


def bucket():
    b = Block(224)
    b.u64(0, 2, "entries used")
    b.u64(8, 300, "overflow bucket")
    for at, key, row in (16, 42, 5), (32, 1 << 40, 6):
        b.u64(at, key, "entry: key")
        b.u64(at + 8, row, "entry: slot")
    return b


def node():
    b = Block(480)
    b.u64(0, 10, "lowest key")
    b.u64(8, (1 << 64) - 1, "highest key")
    b.u32(16, 1, "level")
    b.u32(20, 2, "entries used")
    for at, key, child in (32, 10, 3), (48, 1 << 40, 4):
        b.u64(at, key, "entry: lowest key of a child")
        b.u64(at + 8, child, "entry: slot of that child")
    return b


def span():
    b = Block(3 * 4096)
    b.raw(8, b"DTXSLAB1", "mark of slab 1; slab 0 was never written")
    b.raw(4096 + 4096, b"hello", "bytes of slab 1")
    return b


def golden():
    """Every golden file of dtx: name -> (title, block)."""
    return {
        "descriptor": ("dtx/FORMAT.md: descriptor", descriptor()),
        "comment": ("dtx/FORMAT.md: comment of a schema", comment()),
        "state": ("dtx/FORMAT.md: state of a server", state()),
        "shard_header": ("dtx/FORMAT.md: header of a server's own shard", shard_header()),
        "slot": ("dtx/FORMAT.md: slot with a row of 8 bytes", slot()),
        "root": ("dtx/FORMAT.md: root of an ordered index as a shard is created with", root()),
        "redo": ("dtx/FORMAT.md: redo record of one object and one spare slot", redo()),
        "allocator": ("dtx/FORMAT.md: allocator head", allocator()),
        "bucket": ("dtx/FORMAT.md: bucket of a hash index", bucket()),
        "node": ("dtx/FORMAT.md: inner node of an ordered index", node()),
        "span": ("dtx/FORMAT.md: span of two slabs of 4096 bytes", span()),
    }


if __name__ == "__main__":
    sys.exit(main(golden(), __doc__))
