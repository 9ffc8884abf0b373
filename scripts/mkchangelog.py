#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mkchangelog.py OUT VERSION DATE: the files of changelog.d as one text, their headings one level down."""

import re
import sys
from pathlib import Path


def main():
    out, version, date = Path(sys.argv[1]), *sys.argv[2:]
    text = f'# librpm {version}, {date}\n'
    for path in sorted((Path(__file__).resolve().parent / 'changelog.d').glob('*.md')):
        text += '\n' + re.sub('^#', '##', path.read_text(encoding='utf-8'), flags=re.M)
    if not out.exists() or out.read_text(encoding='utf-8') != text:
        out.write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main()
