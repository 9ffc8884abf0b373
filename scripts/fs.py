#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run the file system under programs of others.

Run by scripts/fs, which installs and builds what is needed first:

    scripts/fs posix                     test suites of others, over one mount of a volume and over two
    scripts/fs posix --only fsx --seed 7 one of them
    scripts/fs speed                     how fast it is, as ratios to memory, stores and file systems of others
    scripts/fs speed --only S3 --rounds 9

Each suite prints a line "SUITE one|two: result ok|FAILED". The last line is "posix: N of N". Each bar prints its
median of the rounds, and whether it holds; the last line is "speed: N of N".
"""
import argparse
import os
import sys
from pathlib import Path

import fs_posix
import fs_speed
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
    posix.set_defaults(run=lambda args: fs_posix.run(args.build, set(args.only), args.seed, args.calls))
    speed = commands.add_parser("speed", help="measure the file system against others on the same memory")
    speed.add_argument("--only", action="append", default=[], choices=fs_speed.PARTS, metavar="BAR",
                       help=f"only this one, can be repeated: {', '.join(fs_speed.PARTS)}")
    speed.add_argument("--rounds", type=int, default=3, help="of each bar, both sides in turn; %(default)s")
    speed.add_argument("--json", type=Path, help="write the bars to this file")
    speed.add_argument("--build", type=Path, default=fs_posix.TOP / "build", help="folder of programs and results")
    speed.set_defaults(run=lambda args: fs_speed.run(args.build, set(args.only), args.rounds, args.json))
    args = parser.parse_args()
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.W_OK):
        die("needs root and /dev/fuse")
    return 0 if args.run(args) else 1


if __name__ == "__main__":
    sys.exit(main())
