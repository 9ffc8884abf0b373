#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rows.py FILE...: what compare has measured as one array, on standard output.

A FILE is what rpm-bench compare --json wrote, or rows of wire, one a line. Behind them comes one append
beside what perftest finds for one write and one read. A FILE or a row that is missing costs the rows that
need it and no other; each is named on standard error with the reason, and the exit status is then 1."""

import json
import sys
from pathlib import Path

WRITES = ('ib_write_bw', 'ib_write_lat')
READ = 'ib_read_lat'


def rows_of(path):
    """The rows in a file, and the reasons of missing ones."""
    try:
        text = Path(path).read_text(encoding='utf-8')
        if text.startswith('{\n'):
            found = json.loads(text)
            return found['rows'], [] if found['complete'] else [f'{path}: the run was cut short']
        rows = [json.loads(line) for line in text.splitlines()]
    except (OSError, ValueError) as error:
        return [], [f'{path}: {error}']
    return ([row for row in rows if 'missing' not in row],
            [f"{row['what']} of {row['bytes']} bytes: {row['missing']}"
             for row in rows if 'missing' in row])


def beside_wire(row, wire):
    """The row's append against one write and one read, and the figures of perftest that are missing."""
    rows, lacking = [], []
    for write in WRITES:
        needed = [(name, row['bytes']) for name in (write, READ)]
        lost = [f'{name} of {size} bytes' for name, size in needed if (name, size) not in wire]
        if lost:
            lacking.append(f"{row['what']} against {write} + {READ}: there is no {', no '.join(lost)}")
            continue
        other = sum(wire[key] for key in needed)
        ratio = row['ours_ns'] / other
        rows.append(row | {'against': f'{write} + {READ}', 'ratio': ratio, 'ratio_min': ratio,
                           'ratio_max': ratio, 'other_ns': other})
    return rows, lacking


def main():
    rows, missing = [], []
    for path in sys.argv[1:]:
        more, lacking = rows_of(path)
        rows += more
        missing += lacking
    wire = {(row['what'], row['bytes']): 1000 * row['time'] for row in rows if 'time' in row}
    for row in [row for row in rows if row['what'] == 'append verbs' and row['depth'] == 1
                and row['against'] == 'verbs']:
        more, lacking = beside_wire(row, wire)
        rows += more
        missing += lacking
    print(json.dumps(rows, indent=2))
    for text in missing:
        print(f'missing: {text}', file=sys.stderr)
    return 1 if missing else 0


if __name__ == '__main__':
    sys.exit(main())
