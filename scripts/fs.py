#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run the file system under programs of others.

Run by scripts/fs, which installs and builds what is needed first:

    scripts/fs posix                     test suites of others, over one mount of a volume and over two
    scripts/fs posix --only fsx --seed 7 one of them

Each suite prints a line "SUITE one|two: result ok|FAILED". The last line is "posix: N of N".
"""
import argparse
import os
import sys
from pathlib import Path

import fs_posix
from fs_world import die


def main():
    parser = argparse.ArgumentParser(prog="scripts/fs", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    posix = commands.add_parser("posix", help="run test suites of others over mounts of a volume")
    posix.add_argument("--only", action="append", default=[], choices=fs_posix.SUITES, metavar="SUITE",
                       help=f"only this one, can be repeated: {', '.join(fs_posix.SUITES)}")
    posix.add_argument("--seed", type=int, help="of fsx, beside seeds 1, 2 and 3; random")
    posix.add_argument("--calls", type=int, default=fs_posix.FSX_CALLS, help="of fsx, by each seed; %(default)s")
    posix.add_argument("--build", type=Path, default=fs_posix.TOP / "build", help="folder of programs and results")
    args = parser.parse_args()
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.W_OK):
        die("needs root and /dev/fuse")
    return 0 if fs_posix.run(args.build, set(args.only), args.seed, args.calls) else 1


if __name__ == "__main__":
    sys.exit(main())
