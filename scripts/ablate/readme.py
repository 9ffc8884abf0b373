# SPDX-License-Identifier: BSD-3-Clause
"""Write the table of hints/README.md: the effect of each hint on the model's numbers."""
import csv
import difflib
import re

from . import table

BEGIN = '<!-- effects: begin; written by scripts/ablation --readme, do not edit -->'
END = '<!-- effects: end -->'
COLUMNS = ('hint', 'what', 'run', 'metric', 'of', 'over')
ALL_RUN = 'ablate'
BLOCK = re.compile(r'<!-- effects: begin.*?-->\n.*?<!-- effects: end -->\n', re.S)


class BadReadme(Exception):
    """There is no place for the table, or it differs; the text says which."""


def read_effects(path):
    """The points that show the effect of a hint: rows of effects.csv, as text."""
    with open(path, newline='', encoding='utf-8') as file:
        lines = csv.DictReader(file)
        if tuple(lines.fieldnames or ()) != COLUMNS:
            raise BadReadme(f'{path}:1: the columns have to be {",".join(COLUMNS)}')
        return list(lines)


def effect(row, measured):
    """'what was compared: 2.3 times'."""
    try:
        points = measured[row['run']]
        after = points[row['of']][row['metric']]
        before = points[row['over']][row['metric']]
    except KeyError as error:
        raise BadReadme(f'{row["hint"]}: there is no run, point or column {error}') from None
    if not after or not before:
        raise BadReadme(f'run {row["run"]}: {row["of"]} over {row["over"]} cannot be evaluated')
    return f'{row["what"]}: {after / before:.2f} times'


def render(catalog, measured, effects):
    """The lines between the markers."""
    points = {run: {row['label']: row for row in rows} for run, rows in measured.items()}
    rows = [row for rows in measured.values() for row in rows]
    words = table.conditions(rows)
    lines = [f'| hint | what it says | {words.partition(",")[0]} effect | all hints, against all but this '
             'one |',
             '|---|---|---|---|']
    for entry in catalog:
        if not entry.get('hint'):
            continue
        told = {True: [], False: []}
        for row in effects:
            if row['hint'] == entry['hint']:
                told[row['run'] == ALL_RUN].append(effect(row, points))
        lines.append(f'| [{entry["hint"]}]({entry["file"]}) | {entry["title"]} | '
                     f'{"; ".join(told[False]) or "-"} | {"; ".join(told[True]) or "-"} |')
    return '\n'.join(lines) + f'\n\n{words[:1].upper()}{words[1:]}.\n'


def block(catalog, measured, effects):
    return f'{BEGIN}\n{render(catalog, measured, effects)}{END}\n'


def found_in(path):
    """The text of the file, and the block between the markers."""
    text = path.read_text(encoding='utf-8')
    blocks = BLOCK.findall(text)
    if len(blocks) != 1:
        raise BadReadme(f'{path}: wants these two lines, once:\n{BEGIN}\n{END}')
    return text, blocks[0]


def replace(path, new):
    """Write the table into the file. True if that changed it."""
    text, old = found_in(path)
    path.write_text(text.replace(old, new), encoding='utf-8')
    return old != new


def verify(path, new):
    """Raises if the file holds another table than @new."""
    _, old = found_in(path)
    if old != new:
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), str(path), 'a new run',
                                     lineterm='')
        raise BadReadme('\n'.join(lines) + f'\n{path} is not what a new run gives: '
                        'run scripts/ablation --readme')
