#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mkchangelog.py VERSION DATE: put the files of changelog.d in front of CHANGELOG.md and remove them, before a release."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEPT = HERE.parent / 'CHANGELOG.md'


def parts():
    return sorted((HERE / 'changelog.d').glob('*.md'), reverse=True)


def merged(version, date):
    """The newest version comes first, and in it the newest part; headings of parts go one level down."""
    old = KEPT.read_text(encoding='utf-8')
    first, rest = old.split('\n', 1)
    if not first.startswith(f'# librpm {version},'):
        rest = '\n' + old
    new = ''.join('\n' + re.sub('^#', '##', part.read_text(encoding='utf-8'), flags=re.M) for part in parts())
    return f'# librpm {version}, {date}\n{new}{rest}'


def main():
    KEPT.write_text(merged(*sys.argv[1:]), encoding='utf-8')
    for part in parts():
        part.unlink()


if __name__ == '__main__':
    main()
