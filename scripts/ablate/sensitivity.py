# SPDX-License-Identifier: BSD-3-Clause
"""The sensitivity of each result to every number of the preset, 20 % less and 20 % more.

A number that only comes in steps (two cache ways, six modules) changes by the nearest whole step, at least
one; the change that was made is listed with the effect. Changes that the model refuses are listed too.
"""
import csv
import json
import math
import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

SEED = 'seed'  # varied like a number of the preset, to show the effect of chance alone
SHARE = Decimal('0.2')
COLUMNS = ('parameter', 'unit', 'value', 'varied', 'change_percent', 'result', 'before', 'after',
           'effect_percent', 'note')
# Units that only come whole. All others are divisible.
WHOLE = re.compile(r'^(B|bytes?|[KMG]iB|lines?|ways?|dimms?|modules?|cores?|ports?|entries|requests?|'
                   r'packets?|threads?|words?|slots?|queues?|reads?|writes?|)$')
NOTHING = 0.05  # percent: below it a result counts as unchanged


@dataclass(frozen=True)
class Change:
    name: str
    unit: str
    value: Decimal
    varied: Decimal

    @property
    def setting(self):
        return f'{self.name}={self.varied:f} {self.unit}'.strip()

    @property
    def percent(self):
        if self.value == 0:
            return 100.0
        return float((self.varied / self.value - 1) * 100)

    @property
    def key(self):
        return f'{self.name}{"+" if self.varied > self.value else "-"}'


def seeds_beside(seed):
    """The seeds before and after, as changes."""
    return [Change(SEED, '', Decimal(seed), Decimal(other)) for other in (seed - 1, seed + 1)
            if other >= 0]


def in_steps(change):
    """The same change by whole steps, and by half or double, as (change, note), for a change that is
    refused."""
    up = change.varied > change.value
    found = []
    if change.value == int(change.value):
        step = max((change.value * SHARE).quantize(Decimal(1), ROUND_HALF_UP), Decimal(1))
        found.append((change.value + step if up else change.value - step, 'only in whole steps'))
        if int(change.value) & (int(change.value) - 1) == 0:
            half = change.value / 2
            found.append((change.value * 2 if up else half, 'only powers of two'))
    return [(Change(change.name, change.unit, change.value, varied), note)
            for varied, note in found if varied not in (change.varied, change.value) and varied >= 0]


def refusal(message):
    """The program's error text, without file and line."""
    return re.sub(r'^.*?RPM_E_\w+: (preset given by the caller:\d+: )?', '', message)


def changes_of(parameter):
    """The two changes of one parameter, none if it is no number or nothing."""
    words = f'{parameter["value"]} {parameter.get("unit") or ""}'.split()
    try:
        value = Decimal(words[0])
    except (InvalidOperation, IndexError):
        return []
    if not value.is_finite() or value <= 0:
        return []
    unit = ' '.join(words[1:])
    found = []
    for sign in (-1, 1):
        varied = value * (1 + sign * SHARE)
        if WHOLE.match(unit) and value == int(value):
            step = max((abs(varied - value)).quantize(Decimal(1), ROUND_HALF_UP), Decimal(1))
            varied = value + sign * step
        varied = varied.quantize(Decimal('0.0001')).normalize()
        if varied >= 0:
            found.append(Change(parameter['name'], unit, value, varied))
    return found


def flatten(results):
    """{"id": number} of the output of `rpm-hints headline`; None for a result that cannot be shown."""
    flat = {}
    for name, value in results['modelled'].items():
        if isinstance(value, dict):
            value = value.get('value')
        usable = isinstance(value, (int, float)) and math.isfinite(value)
        flat[name] = float(value) if usable else None
    return flat


def read_json(path):
    with open(path, encoding='utf-8') as file:
        return json.load(file)


def effects(base, change, results, note=''):
    """One row of sensitivity.csv for each headline result."""
    for name, before in base.items():
        after = results.get(name) if results else None
        moved = None
        if after is not None and before:
            moved = (after / before - 1) * 100
        yield {'parameter': change.name, 'unit': change.unit, 'value': f'{change.value:f}',
               'varied': f'{change.varied:f}', 'change_percent': f'{change.percent:.4g}',
               'result': name, 'before': '' if before is None else repr(before),
               'after': '' if after is None else repr(after),
               'effect_percent': '' if moved is None else f'{moved:.4f}', 'note': note}


def write(path, rows):
    with open(path, 'w', newline='', encoding='utf-8') as file:
        out = csv.DictWriter(file, COLUMNS, lineterminator='\n')
        out.writeheader()
        out.writerows(rows)


def read(path):
    """Rows of sensitivity.csv; effects as numbers or None."""
    with open(path, newline='', encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row['effect'] = float(row['effect_percent']) if row['effect_percent'] else None
        row['change'] = float(row['change_percent'])
    return rows


def moving(rows):
    """Parameters that change a result, strongest first, and those that change none."""
    strength = {}
    for row in rows:
        strength.setdefault(row['parameter'], 0.0)
        if row['effect'] is not None:
            strength[row['parameter']] = max(strength[row['parameter']], abs(row['effect']))
    order = sorted(strength, key=lambda name: (-strength[name], name))
    return ([name for name in order if strength[name] >= NOTHING],
            [name for name in order if strength[name] < NOTHING])


def named(parameter, rows, sign):
    """The name, with the change that was made if it is not 20 %."""
    changes = {row['change'] for row in rows if row['parameter'] == parameter
               and row['effect'] is not None and row['change'] * sign > 0}
    if not changes:
        return f'{parameter} (refused)'
    if parameter == SEED:
        return 'seed (chance)'
    change = changes.pop()
    return parameter if abs(abs(change) - 20) < 1 else f'{parameter} ({change:+.0f} %)'


def chance(rows):
    """How much another seed changes each result, in percent."""
    moved = {}
    for row in rows:
        moved.setdefault(row['result'], 0.0)
        if row['parameter'] == SEED and row['effect'] is not None:
            moved[row['result']] = max(moved[row['result']], abs(row['effect']))
    return moved


def rests_on(rows, limit=5):
    """For each result the changes with the largest effect: {result: [(parameter, change, effect)]}.

    A change with no more effect than another seed is left out.
    """
    least = {result: max(NOTHING, moved) for result, moved in chance(rows).items()}
    found = {}
    for row in rows:
        entries = found.setdefault(row['result'], [])
        if row['parameter'] != SEED and abs(row['effect'] or 0) > least[row['result']]:
            entries.append((row['parameter'], row['change'], row['effect']))
    strongest = {}
    for result, entries in found.items():
        best = {}
        for entry in sorted(entries, key=lambda entry: -abs(entry[2])):
            best.setdefault(entry[0], entry)
        strongest[result] = list(best.values())[:limit]
    return strongest
