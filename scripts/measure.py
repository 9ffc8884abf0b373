#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""measure.py: count assertions, comments and sizes, for which the style sets floors and shares. Prints a
table by folder, or JSON.

    scripts/measure.py                  the table
    scripts/measure.py --json           the same for a program
    scripts/measure.py --check          exit 1 if a folder is below its floor of assertions

A floor is the least average number of run-time assertions for each function of more than SHORT lines. It is
set for folders in which claims, epochs, sessions and slots change hands. Shorter functions compare, convert or
forward, and their preconditions are asserted where they are established. A floor is the folder's present
value, rounded down, so that code added without assertions fails. Assertions about sizes and layouts, which the
compiler proves, are counted apart and fill no floor: they say nothing about who owns what at run time. Other
folders have no floor, such as lib/sim, whose results are compared with published values.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from statistics import mean, median

import csource
import tidy

SHORT = 10  # lines of a function that needs no assertion
FLOORS = {'lib/pool/': 1.7, 'lib/wire/': 0.9, 'lib/region/': 1.3, 'lib/log/': 1.1, 'lib/serve/': 1.1,
          'lib/conn/': 0.95, 'lib/transport/': 0.5, 'dtx/engine/': 0.9, 'dtx/engine/txn/': 1.05,
          'dtx/engine/cluster/': 0.9, 'dtx/engine/recovery/': 1.05}
# Those of lib/base/assert.h and of dtx/engine/base/assert.h, without their definitions.
ASSERTION = re.compile(r'(?<!#define )\b(?:RPM_ASSERT|RPM_ASSERT_SLOW|DTX_ASSERT)\s*\(')
STATIC_ASSERTION = re.compile(r'\b(?:_Static_assert|static_assert)\s*\(')
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.S)


def folder_of(path):
    parts = path.split('/')
    deep = 2 if parts[0] in ('lib', 'tests') and len(parts) > 2 else 1
    return '/'.join(parts[:deep])


def comment_share(text):
    """Comment lines as a share of all lines that hold something."""
    lines = sum(1 for line in text.split('\n') if line.strip())
    inside = sum(match.group(0).count('\n') + 1 for match in COMMENT.finditer(text))
    return inside / lines if lines else 0.0


def measure_file(text):
    found = csource.functions(text)
    code = csource.code_only(text)
    return {
        'lines': text.count('\n'),
        'functions': [item.last - item.first + 1 for item in found],
        'assertions': len(ASSERTION.findall(code)),
        'static_assertions': len(STATIC_ASSERTION.findall(code)),
        'comments': comment_share(text),
    }


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0


def summary(rows):
    lengths = [length for row in rows for length in row['functions']]
    assertions = sum(row['assertions'] for row in rows)
    return {
        'files': len(rows),
        'lines': sum(row['lines'] for row in rows),
        'longest_file': max(row['lines'] for row in rows),
        'functions': len(lengths),
        'function_median': median(lengths) if lengths else 0,
        'function_p90': percentile(lengths, 0.9),
        'function_longest': max(lengths, default=0),
        'assertions_per_function': round(assertions / len(lengths), 2) if lengths else 0.0,
        'static_assertions': sum(row['static_assertions'] for row in rows),
        'comments': round(mean(row['comments'] for row in rows), 2),
    }


def measure(root):
    tree = tidy.Tree(root)
    files = {path: measure_file(tree.texts[path]) for path in tree.with_suffix(tidy.C_LIKE)}
    folders = {}
    for path, row in files.items():
        folders.setdefault(folder_of(path), []).append(row)
    result = {folder: summary(rows) for folder, rows in sorted(folders.items())}
    if files:
        result['all'] = summary(list(files.values()))
    return files, result


def below_floor(files):
    for prefix, floor in FLOORS.items():
        rows = [row for path, row in files.items() if path.startswith(prefix)]
        long = sum(1 for row in rows for length in row['functions'] if length > SHORT)
        got = sum(row['assertions'] for row in rows)
        if got < floor * long or not rows:
            yield (f'{prefix} has {got} run-time assertions in {long} functions of more than {SHORT} lines, '
                   f'expected {floor * long:.0f}: assert what its new functions rest on')


def print_table(result):
    print(f'{"folder":22} files  lines  longest  functions  median  p90  max  asserts  static  comments')
    for folder, row in result.items():
        print(f'{folder:22} {row["files"]:5} {row["lines"]:6} {row["longest_file"]:8} '
              f'{row["functions"]:10} {row["function_median"]:7} {row["function_p90"]:4} '
              f'{row["function_longest"]:4} {row["assertions_per_function"]:8} '
              f'{row["static_assertions"]:7} {row["comments"]:9.0%}')


def main():
    parser = argparse.ArgumentParser(description='Count files, functions and assertions.')
    parser.add_argument('--root', default=Path(__file__).resolve().parent.parent)
    parser.add_argument('--json', action='store_true')
    parser.add_argument('--check', action='store_true', help='hold folders to their assertion floors')
    options = parser.parse_args()
    files, result = measure(options.root)
    if options.json:
        print(json.dumps(result, indent=4))
    else:
        print_table(result)
    faults = list(below_floor(files)) if options.check else []
    for fault in faults:
        print(f'measure: {fault}')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
