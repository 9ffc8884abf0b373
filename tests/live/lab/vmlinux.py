#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""vmlinux.py BZIMAGE OUT: take the kernel proper out of a bzImage. QEMU can start it as it is (PVH), which
saves the emulated CPU the unpacking: seconds of every boot."""

import subprocess
import sys

MAGIC = b'\x28\xb5\x2f\xfd'  # of a zstd frame, which Debian packs its kernels in


def unpacked(image):
    """The first frame in @image that holds an ELF file."""
    at = image.find(MAGIC)
    while at >= 0:
        # The exit code is useless: other bytes always follow the frame.
        data = subprocess.run(['zstd', '-dc'], input=image[at:], capture_output=True,
                              check=False).stdout
        if data.startswith(b'\x7fELF'):
            return data
        at = image.find(MAGIC, at + 1)
    raise SystemExit('vmlinux.py: no kernel packed with zstd in this image')


def main():
    with open(sys.argv[1], 'rb') as source:
        kernel = unpacked(source.read())
    with open(sys.argv[2], 'wb') as target:
        target.write(kernel)


if __name__ == '__main__':
    main()
