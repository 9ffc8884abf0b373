#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""targets.py BUILD LABEL: the files in the folder BUILD that the tests of LABEL name in their commands.

ctest leaves out the command of a test that is not built, so the names come from it, the commands from
the files that it reads."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ADD_TEST = re.compile(r'^add_test\(\[=\[(.*?)\]=\] (.*)\)$', re.M)


def commands(build):
    """The words of each test's command by name."""
    found = {}
    for file in Path(build).rglob('CTestTestfile.cmake'):
        for name, words in ADD_TEST.findall(file.read_text(encoding='utf-8')):
            found[name] = re.findall(r'"((?:[^"\\]|\\.)*)"', words)
    return found


def main():
    build, label = os.path.realpath(sys.argv[1]), sys.argv[2]
    listed = subprocess.run(['ctest', '--test-dir', build, '-L', label, '--show-only=json-v1'],
                            capture_output=True, check=True)
    names = [test['name'] for test in json.loads(listed.stdout)['tests']]
    by_name = commands(build)
    words = {word for name in names for word in by_name[name]}
    for word in sorted(words):
        path = os.path.realpath(word) if word.startswith('/') else ''
        if path.startswith(build + '/') and not os.path.isdir(path):
            print(os.path.relpath(path, build))


if __name__ == '__main__':
    main()
