# SPDX-License-Identifier: BSD-3-Clause
"""Published values against measured ones.

A row of hints/expected/*.csv names a metric at one measured point, or the ratio of it at two, and
the bounds within which it has to be. A value that cannot be evaluated is outside. hints/outside.csv holds,
with one column more, the values that the model is known to miss and the reason: they are judged and shown
like the others, but counted separately.
"""
import csv
import math
from dataclasses import dataclass
from pathlib import Path

from . import table

COLUMNS = ('id', 'what', 'run', 'metric', 'of', 'over', 'expect', 'low', 'high', 'source')
KNOWN_COLUMNS = COLUMNS + ('reason',)
MAY_BE_EMPTY = ('over',)
RUN_OF = {'sweep': 'points'}  # the run that measures the points which no experiment has


class BadExpected(Exception):
    """A row of published values that is invalid; the text names the file and line."""


@dataclass(frozen=True)
class Expected:
    id: str
    what: str
    run: str
    metric: str
    of: str
    over: str
    expect: float
    low: float
    high: float
    source: str
    known: str = ''  # why the model misses it


@dataclass(frozen=True)
class Verdict:
    row: Expected
    measured: float  # None: could not be evaluated
    reason: str  # why not inside

    @property
    def inside(self):
        return not self.reason

    @property
    def word(self):
        return 'inside' if self.inside else 'outside'


def parse_row(fields, columns, place, metrics):
    if len(fields) != len(columns):
        raise BadExpected(f'{place}: {len(fields)} fields instead of {len(columns)}')
    row = dict(zip(columns, (field.strip() for field in fields)))
    for name, value in row.items():
        if not value and name not in MAY_BE_EMPTY:
            raise BadExpected(f'{place}: {name} is empty')
    for name in ('expect', 'low', 'high'):
        try:
            row[name] = float(row[name])
        except ValueError:
            raise BadExpected(f'{place}: {name} is not a number: {row[name]!r}') from None
        if not math.isfinite(row[name]):
            raise BadExpected(f'{place}: {name} is not finite')
    if not row['low'] <= row['expect'] <= row['high']:
        raise BadExpected(f'{place}: low <= expect <= high does not hold')
    if row['metric'] not in metrics:
        raise BadExpected(f'{place}: no metric is called {row["metric"]!r}')
    row['run'] = RUN_OF.get(row['run'], row['run'])
    row['known'] = row.pop('reason', '')
    return Expected(**row)


def read_file(path, columns, seen, metrics):
    """The rows of one file. @seen: the place of each id so far."""
    rows = []
    with open(path, newline='', encoding='utf-8') as file:
        lines = csv.reader(file)
        if tuple(next(lines, ())) != columns:
            raise BadExpected(f'{path}:1: the columns have to be {",".join(columns)}')
        for fields in lines:
            place = f'{path}:{lines.line_num}'
            row = parse_row(fields, columns, place, metrics)
            if row.id in seen:
                raise BadExpected(f'{place}: id {row.id} stands at {seen[row.id]} already')
            seen[row.id] = place
            rows.append(row)
    if not rows:
        raise BadExpected(f'{path}: no published values')
    return rows


def read_expected(folder, metrics=table.METRICS):
    """The rows of expected/*.csv, in the order of the names, then those of outside.csv."""
    seen = {}
    rows = []
    for path in sorted(Path(folder).glob('expected/*.csv')):
        rows += read_file(path, COLUMNS, seen, metrics)
    if not rows:
        raise BadExpected(f'{folder}/expected: no files of published values')
    known = Path(folder) / 'outside.csv'
    return rows + (read_file(known, KNOWN_COLUMNS, seen, metrics) if known.exists() else [])


def value_at(rows, label, metric):
    """(value, or the reason why there is none)."""
    if label not in rows:
        return None, f'no point {label}'
    value = rows[label][metric]
    if value is None:
        return None, f'{label}: {rows[label]["note"] or f"no {metric}"}'
    if not math.isfinite(value):
        return None, f'{label}: {metric} is {value}'
    return value, ''


def judge(row, rows):
    """The verdict on one row; rows are the points of its run by label, None if it did not run."""
    if rows is None:
        return Verdict(row, None, f'run {row.run} has no result')
    value, reason = value_at(rows, row.of, row.metric)
    if reason:
        return Verdict(row, None, reason)
    if row.over:
        base, reason = value_at(rows, row.over, row.metric)
        if reason:
            return Verdict(row, None, reason)
        if base == 0:
            return Verdict(row, None, f'{row.over}: {row.metric} is 0')
        value /= base
    if row.low <= value <= row.high:
        return Verdict(row, value, '')
    return Verdict(row, value, 'below' if value < row.low else 'above')


def judge_all(expected, measured):
    """Verdicts in order. measured: rows of each run by the run's name."""
    by_label = {run: {row['label']: row for row in rows} for run, rows in measured.items()}
    return [judge(row, by_label.get(row.run)) for row in expected]


def split(verdicts):
    """The verdicts that count, and those of outside.csv."""
    return ([verdict for verdict in verdicts if not verdict.row.known],
            [verdict for verdict in verdicts if verdict.row.known])


def summary(verdicts):
    counting, _ = split(verdicts)
    inside = sum(verdict.inside for verdict in counting)
    return f'rows {len(counting)} inside {inside} outside {len(counting) - inside}'


def known_summary(verdicts):
    """A sentence on the values that the model is known to miss; empty if there are none."""
    _, known = split(verdicts)
    if not known:
        return ''
    met = [verdict.row.id for verdict in known if verdict.inside]
    text = f'known to be outside, with the reason: {len(known) - len(met)}'
    return text + (f'; inside by now, so no longer known to be outside: {", ".join(met)}'
                   if met else '')


def text_table(verdicts):
    """Lines for a terminal."""
    cells = [('id', 'published', 'low .. high', 'measured', 'verdict')]
    for verdict in verdicts:
        row = verdict.row
        cells.append((row.id, table.shown(row.expect),
                      f'{table.shown(row.low)} .. {table.shown(row.high)}',
                      table.shown(verdict.measured),
                      verdict.word + (f' ({verdict.reason})' if verdict.reason else '') +
                      (', known' if row.known else '')))
    widths = [max(len(line[i]) for line in cells) for i in range(4)]
    for line in cells:
        fixed = '  '.join(cell.ljust(width) for cell, width in zip(line, widths))
        yield f'{fixed}  {line[4]}'.rstrip()
