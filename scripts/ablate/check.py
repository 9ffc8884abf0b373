# SPDX-License-Identifier: BSD-3-Clause
"""Published values against those of the model, or of a live run.

A row of expected/*.csv names a metric at one point, or the ratio of it at two, and the value that is
published. It is inside if it comes within the tolerance of that value in every run; the runs of the model
differ by their seed. All rows have the same tolerance, except those with bounds of their own, which say why.
A value that cannot be evaluated is outside.

A row with an input says which number of the preset it is made of: that it comes back says that the
model adds nothing by mistake, and nothing more. Such rows are counted apart.

outside.csv holds, with two columns more, the values that the model is known to miss: with which seeds, all
or some, and the reason. They are judged and counted like the others. One that is missed with all seeds and
comes inside is as wrong there as one that falls outside elsewhere: the list has to be what the model misses.
"""
import csv
import math
from dataclasses import dataclass
from pathlib import Path

from . import table

SEEDS = 5  # runs of the model that a row is judged by
COLUMNS = ('id', 'what', 'run', 'metric', 'of', 'over', 'expect', 'low', 'high', 'bounds', 'input',
           'source')
KNOWN_COLUMNS = COLUMNS + ('seeds', 'reason')
ALL, SOME = 'all', 'some'
MAY_BE_EMPTY = ('over', 'low', 'high', 'bounds', 'input')
BOUNDS = ('low', 'high', 'bounds')
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
    bounds: str  # why these bounds and not the tolerance of all rows
    input: str  # numbers of the preset that the row is made of
    source: str
    seeds: str = ALL  # with which of them the model misses it: others than these five may be
    known: str = ''  # why the model misses it


@dataclass(frozen=True)
class Verdict:
    row: Expected
    values: tuple  # one for each run; None: could not be evaluated
    reason: str  # why not inside

    @property
    def inside(self):
        return not self.reason

    @property
    def word(self):
        return 'inside' if self.inside else 'outside'

    @property
    def shown(self):
        """The value of all runs, or the least and the largest."""
        values = [value for value in self.values if value is not None]
        if not values:
            return '-'
        ends = [table.shown(min(values)), table.shown(max(values))]
        return ends[0] if ends[0] == ends[1] else ' .. '.join(ends)

    @property
    def fault(self):
        """What the list of published values says wrongly about this row; empty if nothing."""
        if self.row.known and self.inside and self.row.seeds == ALL:
            return f'{self.row.id} is inside, and outside.csv still lists it as missed'
        if self.inside or self.row.known:
            return ''
        kind = f'made of {self.row.input}' if self.row.input else 'not listed in outside.csv'
        return (f'{self.row.id} is outside ({self.reason}), {kind}: {self.shown}, published '
                f'{table.shown(self.row.expect)}')


def numbers(row, place, tolerance):
    """Turn the numbers of a row from text, and set the bounds that it leaves to the tolerance."""
    given = [name for name in BOUNDS if row[name]]
    if given and len(given) < len(BOUNDS):
        raise BadExpected(f'{place}: low, high and their reason, bounds, go together')
    for name in ('expect', *BOUNDS[:2]):
        if name != 'expect' and not given:
            row[name] = row['expect'] * (1 + (tolerance if name == 'high' else -tolerance))
            continue
        try:
            row[name] = float(row[name])
        except ValueError:
            raise BadExpected(f'{place}: {name} is not a number: {row[name]!r}') from None
        if not math.isfinite(row[name]):
            raise BadExpected(f'{place}: {name} is not finite')
    if not row['low'] <= row['expect'] <= row['high']:
        raise BadExpected(f'{place}: low <= expect <= high does not hold')


def parse_row(fields, columns, place, metrics, tolerance):
    if len(fields) != len(columns):
        raise BadExpected(f'{place}: {len(fields)} fields instead of {len(columns)}')
    row = dict(zip(columns, (field.strip() for field in fields)))
    for name, value in row.items():
        if not value and name not in MAY_BE_EMPTY:
            raise BadExpected(f'{place}: {name} is empty')
    numbers(row, place, tolerance)
    if row['metric'] not in metrics:
        raise BadExpected(f'{place}: no metric is called {row["metric"]!r}')
    row['run'] = RUN_OF.get(row['run'], row['run'])
    row['known'] = row.pop('reason', '')
    if row.get('seeds', ALL) not in (ALL, SOME):
        raise BadExpected(f'{place}: seeds is {row["seeds"]!r}, and has to be {ALL} or {SOME}')
    if row['known'] and row['input']:
        raise BadExpected(f'{place}: made of {row["input"]}, so the model cannot be known to miss it')
    return Expected(**row)


def read_file(path, columns, seen, metrics, tolerance):
    """The rows of one file. @seen: the place of each id so far."""
    rows = []
    with open(path, newline='', encoding='utf-8') as file:
        lines = csv.reader(file)
        if tuple(next(lines, ())) != columns:
            raise BadExpected(f'{path}:1: the columns have to be {",".join(columns)}')
        for fields in lines:
            place = f'{path}:{lines.line_num}'
            row = parse_row(fields, columns, place, metrics, tolerance)
            if row.id in seen:
                raise BadExpected(f'{place}: id {row.id} stands at {seen[row.id]} already')
            seen[row.id] = place
            rows.append(row)
    if not rows:
        raise BadExpected(f'{path}: no published values')
    return rows


def read_expected(folder, tolerance, metrics=table.METRICS):
    """The rows of expected/*.csv, in the order of the names, then those of outside.csv."""
    seen = {}
    rows = []
    for path in sorted(Path(folder).glob('expected/*.csv')):
        rows += read_file(path, COLUMNS, seen, metrics, tolerance)
    if not rows:
        raise BadExpected(f'{folder}/expected: no files of published values')
    known = Path(folder) / 'outside.csv'
    if known.exists():
        rows += read_file(known, KNOWN_COLUMNS, seen, metrics, tolerance)
    return rows


def labels_of(expected, run):
    """The points of a run that published values are compared with."""
    names = [name for row in expected if row.run == run for name in (row.of, row.over) if name]
    return list(dict.fromkeys(names))


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


def evaluate(row, rows):
    """(value of a row, or None; why it is not inside). @rows: the points of its run by label, None if it
    did not run."""
    if rows is None:
        return None, f'run {row.run} has no result'
    value, reason = value_at(rows, row.of, row.metric)
    if reason:
        return None, reason
    if row.over:
        base, reason = value_at(rows, row.over, row.metric)
        if reason:
            return None, reason
        if base == 0:
            return None, f'{row.over}: {row.metric} is 0'
        value /= base
    if row.low <= value <= row.high:
        return value, ''
    return value, 'below' if value < row.low else 'above'


def judge_all(expected, runs):
    """Verdicts in order. @runs: for each seed the rows of each run by the run's name."""
    labelled = [{run: {row['label']: row for row in rows} for run, rows in measured.items()}
                for measured in runs]
    verdicts = []
    for row in expected:
        found = [evaluate(row, by_label.get(row.run)) for by_label in labelled]
        reasons = list(dict.fromkeys(reason for _, reason in found if reason))
        verdicts.append(Verdict(row, tuple(value for value, _ in found), '; '.join(reasons)))
    return verdicts


def faults(verdicts):
    """What has to be corrected before the check passes, in words."""
    return [verdict.fault for verdict in verdicts if verdict.fault]


def summary(verdicts):
    """The line that ends a check."""
    results = [verdict for verdict in verdicts if not verdict.row.input]
    inside = sum(verdict.inside for verdict in results)
    return (f'rows {len(results)} inside {inside} outside {len(results) - inside} '
            f'inputs {len(verdicts) - len(results)}')


def text_table(verdicts, seen):
    """Lines for a terminal. @seen: the heading of the values, such as 'modelled'."""
    cells = [('id', 'published', 'low .. high', seen, 'verdict')]
    for verdict in verdicts:
        row = verdict.row
        words = [verdict.word + (f' ({verdict.reason})' if verdict.reason else '')]
        words += ['listed as missed'] * bool(row.known) + [f'input {row.input}'] * bool(row.input)
        cells.append((row.id, table.shown(row.expect),
                      f'{table.shown(row.low)} .. {table.shown(row.high)}', verdict.shown,
                      ', '.join(words)))
    widths = [max(len(line[i]) for line in cells) for i in range(4)]
    for line in cells:
        fixed = '  '.join(cell.ljust(width) for cell, width in zip(line, widths))
        yield f'{fixed}  {line[4]}'.rstrip()
