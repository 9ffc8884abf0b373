# SPDX-License-Identifier: BSD-3-Clause
"""The CSV files that rpm-hints writes: one row for each point, read strictly.

A truncated file is recognised: its last line has no newline, or fewer fields than the heading.
"""
import csv
import math

COLUMNS = ('run', 'label', 'series', 'x', 'hints', 'url', 'preset', 'origin', 'by', 'op', 'persist',
           'copy', 'memory', 'pattern', 'bytes', 'pad', 'align', 'threads', 'depth', 'cores',
           'dimms', 'remote_socket', 'ddio', 'seed', 'repeat', 'ops', 'mops', 'gbs', 'p50_ns', 'p90_ns',
           'p99_ns', 'p999_ns', 'max_ns', 'mean_ns', 'media_read_bytes', 'media_write_bytes',
           'read_amp', 'write_amp', 'efficiency', 'partial_words', 'durable', 'note')
METRICS = COLUMNS[COLUMNS.index('ops'):COLUMNS.index('durable')]
ORIGINS = ('model', 'live')


class BadTable(Exception):
    """A file that rpm-hints did not write; the text names file and line."""


def number(text):
    """The number that a field holds, or None for an empty one. Raises ValueError."""
    return float(text) if text.strip() else None


def shown(value):
    """A number as people read it: four digits, no exponent where none is needed."""
    if value is None:
        return '-'
    if not math.isfinite(value):
        return str(value)
    text = f'{value:.4g}'
    return f'{value:.0f}' if 'e+' in text and abs(value) < 1e7 else text


def parse_row(fields, heading, place):
    if len(fields) != len(heading):
        raise BadTable(f'{place}: {len(fields)} fields, the heading has {len(heading)}')
    row = dict(zip(heading, fields))
    for name in METRICS:
        try:
            row[name] = number(row[name])
        except ValueError:
            raise BadTable(f'{place}: {name} is not a number: {row[name]!r}') from None
    if not row['label']:
        raise BadTable(f'{place}: no label')
    if row['origin'] not in ORIGINS:
        raise BadTable(f'{place}: origin is {row["origin"]!r}, not model or live')
    return row


def read(path):
    """Every row of a CSV as a dict: metrics as numbers or None, all else as text."""
    try:
        with open(path, newline='', encoding='utf-8') as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise BadTable(f'{path}: {error}') from None
    if not text.endswith('\n'):
        raise BadTable(f'{path}: ends in the middle of a line')
    lines = csv.reader(text.splitlines())
    heading = next(lines)
    lacking = [name for name in COLUMNS if name not in heading]
    if lacking:
        raise BadTable(f'{path}:1: no column {", ".join(lacking)}')
    rows = []
    labels = set()
    for fields in lines:
        row = parse_row(fields, heading, f'{path}:{lines.line_num}')
        if row['label'] in labels:
            raise BadTable(f'{path}:{lines.line_num}: label {row["label"]} for a second time')
        labels.add(row['label'])
        rows.append(row)
    return rows


def conditions(rows):
    """The conditions of the numbers: 'modelled, preset hints, seed 1'."""
    if not rows:
        return 'no points'
    words = {'model': 'modelled', 'live': 'live'}
    origins = sorted({words[row['origin']] for row in rows})
    parts = [' and '.join(origins)]
    for name in ('preset', 'seed'):
        values = sorted({row[name] for row in rows if row[name] and row['origin'] == 'model'})
        if values and len(values) <= 3:
            parts.append(f'{name} {", ".join(values)}')
    if 'live' in origins:
        parts.append(', '.join(sorted({row['url'] for row in rows if row['origin'] == 'live'})))
    return ', '.join(parts)
