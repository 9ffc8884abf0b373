#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mkdocs.py OUT VERSION DATE: make the documents to install: the changelog, and the others without dead links.

A link to one of these documents stays, and so does one to examples/, which is installed as well. Any other link is
replaced by its text, which is the path in the source."""

import os
import re
import sys
from pathlib import Path

import mkchangelog

SOURCE = Path(__file__).resolve().parent.parent
FILES = ('README.md', 'DESIGN.md', 'SECURITY.md', 'CONTRIBUTING.md', 'LICENSE', 'lib/FORMAT.md', 'tools/OPERATIONS.md',
         'tools/RDMA.md', 'dtx/README.md', 'dtx/FORMAT.md', 'dtx/history/FORMAT.md', 'fs/README.md', 'fs/FORMAT.md')
CODE_OR_LINK = re.compile(r'(?s)```.*?```|\[([^]]+)\]\(([^):#]+)\)')


def installed(name):
    """The text of one document."""
    def link(found):
        if found[1] is None:
            return found[0]
        target = os.path.normpath(os.path.join(os.path.dirname(name), found[2]))
        stays = target in (*FILES, 'CHANGELOG.md') or target.startswith('examples/')
        return found[0] if stays else found[1]

    return CODE_OR_LINK.sub(link, (SOURCE / name).read_text(encoding='utf-8'))


def main():
    out, version, date = sys.argv[1:]
    texts = {name: installed(name) for name in FILES} | {'CHANGELOG.md': mkchangelog.merged(version, date)}
    for name, text in texts.items():
        path = Path(out, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main()
