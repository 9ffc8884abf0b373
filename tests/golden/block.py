# SPDX-License-Identifier: BSD-3-Clause
"""What the generators of golden files share: checksums, structures with a comment at each field, and their files.

The checksum comes from the system's libxxhash.so, not from the header that the library uses.
"""
import argparse
import ctypes
import pathlib
import struct
import sys

XXH = ctypes.CDLL("libxxhash.so.0")
XXH.XXH3_64bits_withSeed.restype = ctypes.c_uint64
XXH.XXH3_64bits_withSeed.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]


def xxh3(data, seed=0):
    return XXH.XXH3_64bits_withSeed(bytes(data), len(data), seed)


class Block:
    """A structure of fixed size, filled field by field; every field keeps its comment."""

    def __init__(self, size):
        self.data = bytearray(size)
        self.notes = []

    def raw(self, at, data, note):
        self.data[at:at + len(data)] = data
        self.notes.append((at, len(data), note))

    def u32(self, at, value, note):
        self.raw(at, struct.pack("<I", value & 0xffffffff), note)

    def u64(self, at, value, note):
        self.raw(at, struct.pack("<Q", value), note)

    def text(self, at, text, note):
        self.raw(at, text.encode() + b"\0", note)

    def hex(self, title):
        lines = [f"# {title}", f"size {len(self.data)}"]
        for at, length, note in sorted(self.notes):
            for row in range(at, at + length, 16):
                end = min(row + 16, at + length)
                cells = self.data[row:end].hex(" ")
                lines.append(f"{row:04x}: {cells:<47}  # {note if row == at else ''}".rstrip(" #"))
        return "\n".join(lines) + "\n"


def main(files, about):
    """Writes @files, as golden() returns them, or with --check compares them."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--check", action="store_true", help="compare only")
    args = parser.parse_args()
    differ = 0
    for name, (title, block) in files.items():
        path = args.folder / f"{name}.hex"
        text = block.hex(title)
        if not args.check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{path} differs from FORMAT.md", file=sys.stderr)
            differ = 1
    return differ
