# SPDX-License-Identifier: BSD-3-Clause
"""Write one HTML file with all results: questions, expectations, figures, verdicts, counters.

It needs no network and no other file: figures are embedded, there is no script in it. Its bytes
depend on the results alone.
"""
import base64
import html
import re
from string import Template

from . import check, sensitivity, table

STYLE = '''
:root { --ink: #262626; --faint: #6f6f6f; --line: #e2e2e2; --good: #2f7d4f; --bad: #b3452c;
        --tint: #f7f7f5; --accent: #3b6ea5; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: #fff;
       font: 16px/1.55 "Source Sans 3", "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2.5rem 1.5rem 5rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.35rem; margin: 3.2rem 0 .6rem; padding-top: 1rem;
     border-top: 1px solid var(--line); }
h2 .tag { color: var(--accent); margin-right: .5rem; }
h3 { font-size: 1rem; margin: 1.8rem 0 .4rem; }
nav { margin: 1.6rem 0; font-size: .92rem; columns: 2; column-gap: 2rem; }
nav a { display: block; break-inside: avoid; color: var(--accent); text-decoration: none; padding: .1rem 0; }
nav a:hover { text-decoration: underline; }
.lead { color: var(--faint); margin: 0; }
.sum { background: var(--tint); padding: .8rem 1rem; border-left: 3px solid var(--accent);
       margin: 1.4rem 0; }
dl { display: grid; grid-template-columns: 7rem 1fr; gap: .35rem 1rem; margin: .8rem 0 1.2rem; }
dt { color: var(--faint); } dd { margin: 0; }
figure { margin: 1.6rem 0; } figure img { max-width: 100%; height: auto; display: block; }
figcaption { font-size: .85rem; color: var(--faint); margin-top: .35rem; }
.wide { overflow-x: auto; margin: .8rem 0; }
table { border-collapse: collapse; font-size: .86rem; line-height: 1.4; min-width: 60%; }
th, td { text-align: left; padding: .32rem .9rem .32rem 0; border-bottom: 1px solid var(--line);
         vertical-align: top; }
td:first-child { min-width: 17rem; }
th { font-weight: 600; color: var(--faint); white-space: nowrap; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.label { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .78rem;
           white-space: nowrap; }
.inside { color: var(--good); font-weight: 600; } .outside { color: var(--bad); font-weight: 600; }
.why { color: var(--faint); font-weight: 400; }
details { margin: .8rem 0; } summary { cursor: pointer; color: var(--accent); font-size: .92rem; }
@media print { nav, details { display: none; } h2 { break-after: avoid; } }
'''
PAGE = Template('''<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The nine hints, $origin</title>
<style>$style</style>
</head>
<body>
<main>
<h1>The nine hints, $origin</h1>
<p class="lead">$conditions</p>
$summary
<nav>$nav</nav>
$body
</main>
</body>
</html>
''')
ORIGIN = {
    'model': 'Every number here is <b>modelled</b>: it comes out of a performance model that knows '
             'the costs of the parts of one described server, not out of hardware.',
    'live': 'The numbers are <b>live</b>: they were measured on the platform named above.',
}
# The model's report begins with this; what it misses follows, from the list of published values.
GOOD_FOR = ('It is good for loads of one socket that one of its parts limits, be it the media, a port or '
            'the cores, and for one operation of a client at a time: it shows which part that is, which '
            'hint relieves it, and what the media write for each byte. It is not good for how long one '
            'write of a core takes, for reads and writes that mix, above all from another socket, and '
            'for more than eight cores that write to all modules. Published values that it misses:')
PUBLISHED_FOR = 'hints'  # the preset that describes the server of the published values
COUNTERS = (('mops', 'M/s'), ('gbs', 'GB/s'), ('p50_ns', 'p50 ns'), ('p99_ns', 'p99 ns'),
            ('media_read_bytes', 'media read B'), ('media_write_bytes', 'media written B'),
            ('read_amp', 'read amp.'), ('write_amp', 'write amp.'), ('efficiency', 'efficiency'),
            ('partial_words', 'partial words'))


def esc(value):
    return html.escape(str(value or ''))


def sentence(text):
    return text[:1].upper() + text[1:]


def cell(value, kind=''):
    return f'<td{f" class={kind}" if kind else ""}>{value}</td>'


def table_html(heading, rows):
    """@heading: (text, class) of each column; @rows: lists of finished cells."""
    head = ''.join(f'<th{f" class={kind}" if kind else ""}>{esc(text)}</th>'
                   for text, kind in heading)
    body = '\n'.join(f'<tr>{"".join(row)}</tr>' for row in rows)
    return f'<div class="wide"><table>\n<tr>{head}</tr>\n{body}\n</table></div>'


def verdict_html(verdict):
    row = verdict.row
    parts = (verdict.reason, row.known, row.bounds and f'bounds: {row.bounds}',
             row.input and f'an input: {row.input} of the preset')
    reason = '; '.join(part for part in parts if part)
    why = f' <span class="why">{esc(reason)}</span>' if reason else ''
    return f'<span class="{verdict.word}">{verdict.word}</span>{why}'


def verdicts_table(verdicts, sources):
    heading = [('what', ''), ('published', 'n'), ('bounds', 'n'), ('seen', 'n'), ('', '')]
    rows = []
    for verdict in verdicts:
        row = verdict.row
        what = esc(row.what) + (f'<br><span class="why">{esc(row.source)}</span>' if sources else '')
        rows.append([cell(what), cell(table.shown(row.expect), 'n'),
                     cell(f'{table.shown(row.low)} .. {table.shown(row.high)}', 'n'),
                     cell(verdict.shown, 'n'), cell(verdict_html(verdict))])
    return table_html(heading, rows)


def figure_html(png, title, caption, notes):
    data = base64.b64encode(png.read_bytes()).decode('ascii')
    words = '. '.join([caption, *notes])
    return (f'<figure><img alt="{esc(title)}" src="data:image/png;base64,{data}">'
            f'<figcaption>{esc(words)}.</figcaption></figure>')


def counters_table(rows):
    """Every point with its media traffic."""
    columns = [column for column in COUNTERS if any(row[column[0]] is not None for row in rows)]
    heading = [('point', '')] + [(text, 'n') for _, text in columns] + [('durable', ''), ('', '')]
    lines = [[cell(esc(row['label']), 'label')] +
             [cell(table.shown(row[name]), 'n') for name, _ in columns] +
             [cell(esc(row['durable'])),
              cell(f'<span class="why">{esc(row["note"])}</span>')] for row in rows]
    return (f'<details><summary>All {len(rows)} points, with their media counters</summary>'
            f'{table_html(heading, lines)}</details>')


def media_sentence(rows):
    """The spread of the media counters over the points of one experiment."""
    parts = []
    for name, words in (('write_amp', 'media bytes written for each byte of payload'),
                        ('read_amp', 'media bytes read for each byte of payload')):
        there = [row for row in rows if row[name] is not None]
        if not there:
            continue
        low = min(there, key=lambda row: row[name])
        high = max(there, key=lambda row: row[name])
        if low[name] == high[name]:
            parts.append(f'{words}: {table.shown(low[name])} at every point')
        else:
            parts.append(f'{words}: {table.shown(low[name])} ({low["label"]}) to '
                         f'{table.shown(high[name])} ({high["label"]})')
    return f'<p>{"; ".join(esc(sentence(part)) for part in parts)}.</p>' if parts else ''


def experiment(entry, rows, drawn, verdicts):
    """The section of one run."""
    tag = entry.get('hint') or entry['run']
    parts = [f'<h2 id="{esc(entry["run"])}"><span class="tag">{esc(tag)}</span>'
             f'{esc(sentence(entry["title"]))}</h2>', '<dl>']
    for name, title in (('question', 'Question'), ('expect', 'Expected'), ('why', 'Why')):
        if entry.get(name):
            parts.append(f'<dt>{title}</dt><dd>{esc(entry[name])}</dd>')
    parts.append('</dl>')
    if not rows:
        parts.append('<p class="outside">This experiment has no result here.</p>')
        return '\n'.join(parts)
    for spec in entry.get('figures', []):
        if spec['id'] in drawn:
            png, notes = drawn[spec['id']]
            shown = [row for row in rows if row.get(spec['y']) not in (None, '')]
            caption = (f'{sentence(spec.get("ylabel") or spec["y"])} by '
                       f'{spec.get("xlabel") or spec["x"]}: {table.conditions(shown or rows)}')
            parts.append(figure_html(png, spec['title'], caption, notes))
    if verdicts:
        parts += ['<h3>Seen, against what is published</h3>', verdicts_table(verdicts, False)]
    parts += ['<h3>What it cost the media</h3>', media_sentence(rows), counters_table(rows)]
    return '\n'.join(parts)


def effect_text(effect):
    return f'{effect:+.1f} %'


def sensitivity_html(effects, png, caption):
    moving, still = ([name for name in names if name != sensitivity.SEED]
                     for names in sensitivity.moving(effects))
    parts = ['<h2 id="sensitivity">What the conclusions rest on</h2>',
             '<p>Each number of the preset was made 20 % smaller and 20 % larger (things that come '
             'whole: by the nearest whole step), one at a time, and the headline results were '
             'computed again. The seed was changed in the same way: what moves no more than with it '
             'is chance.</p>']
    if png:
        parts.append(figure_html(png, 'Sensitivity', f'Change of each headline result: {caption}. '
                                 'Cells below 0.5 % are left blank', []))
    rows = []
    chance = sensitivity.chance(effects)
    for result, entries in sensitivity.rests_on(effects).items():
        text = '; '.join(f'{esc(name)} ({change:+.0f} %): {effect_text(effect)}'
                         for name, change, effect in entries)
        rows.append([cell(esc(result), 'label'), cell(text or 'none of them moves it'),
                     cell(f'{chance[result]:.1f} %', 'n')])
    parts.append(table_html([('result', ''), ('moved most by', ''), ('chance', 'n')], rows))
    if still:
        parts.append(f'<p>{len(moving)} numbers move a result; these {len(still)} move none: '
                     f'{esc(", ".join(still))}.</p>')
    notes = {}
    for row in effects:
        if row['note']:
            notes.setdefault(row['note'], []).append(row['parameter'])
    if notes:
        parts.append('<p>Not varied by 20 %: ' + '; '.join(
            f'{esc(", ".join(sorted(set(names))))} ({esc(note)})'
            for note, names in sorted(notes.items())) + '.</p>')
    return '\n'.join(parts)


def all_rows(verdicts):
    outside = [verdict for verdict in verdicts if not verdict.inside]
    seeds = max((len(verdict.values) for verdict in verdicts), default=0)
    wrong = ''.join(f'<p class="outside">{esc(sentence(text))}.</p>' for text in check.faults(verdicts))
    parts = ['<h2 id="rows">Every published value</h2>',
             f'<p>{esc(sentence(check.summary(verdicts)))}. Each was judged by {seeds} '
             f'run{"s" if seeds > 1 else ""}, which differ by their seed, and is inside if all of them '
             'are. Inputs are numbers of the preset, or one step from one: that they come back is no '
             'result. What does not come out is left as it is: no experiment and no number of the '
             f'preset was changed to reach a value.</p>{wrong}']
    if outside:
        parts += ['<h3>Outside</h3>', verdicts_table(outside, True)]
    parts += ['<h3>All</h3>', verdicts_table(verdicts, True)]
    return '\n'.join(parts)


def missed(verdicts):
    """What the model is known to miss, as a list: the rows of one reason together."""
    by_id = {verdict.row.id: verdict.row for verdict in verdicts}
    rows = {}
    for row in (verdict.row for verdict in verdicts if verdict.row.known):
        first = row
        while first.known.startswith('as ') and first.known[3:].split(':')[0] in by_id:
            first = by_id[first.known[3:].split(':')[0]]
        rows.setdefault(first.known, []).append(row.what)
    return '<ul>' + ''.join(
        f'<li>{esc(sentence("; ".join(whats)))}. <span class="why">{esc(reason)}.</span></li>'
        for reason, whats in rows.items()) + '</ul>' if rows else ''


def summary_html(measured, verdicts, problems):
    rows = [row for rows in measured.values() for row in rows]
    origins = [ORIGIN[origin] for origin in ORIGIN if any(row['origin'] == origin for row in rows)]
    parts = [f'<p>{text}</p>' for text in origins]
    if any(row['origin'] == 'model' for row in rows):
        parts.append(f'<p>{GOOD_FOR}</p>{missed(verdicts)}')
    elsewhere = sorted({row['preset'] or row['url'] for row in rows} - {PUBLISHED_FOR})
    if verdicts and elsewhere:
        parts.append(f'<p>The published values belong to the server that preset {PUBLISHED_FOR} '
                     f'describes. This is {esc(", ".join(elsewhere))}: being outside is no fault '
                     'here.</p>')
    if verdicts:
        results = [verdict for verdict in verdicts if not verdict.row.input]
        outside = sum(not verdict.inside for verdict in results)
        parts.append(f'<p>Published values <span class="inside">inside</span> their bounds: '
                     f'{len(results) - outside} of {len(results)}; <span class="'
                     f'{"outside" if outside else "why"}">outside</span>: {outside}. Not counted: '
                     f'{len(verdicts) - len(results)} that are inputs of the model.</p>')
    parts += [f'<p class="outside">{esc(problem)}</p>' for problem in problems]
    return f'<div class="sum">{"".join(parts)}</div>'


def write(path, catalog, measured, drawn, verdicts, extra):
    """@extra: effects of the sensitivity (or None), problems to report."""
    rows = [row for rows in measured.values() for row in rows]
    sections = []
    nav = []
    for entry in catalog:
        own = [verdict for verdict in verdicts if verdict.row.run == entry['run']]
        sections.append(experiment(entry, measured.get(entry['run']), drawn, own))
        nav.append((entry['run'], f'{entry.get("hint") or ""} {sentence(entry["title"])}'.strip()))
    if extra['effects']:
        png = drawn.get('sensitivity', (None,))[0]
        sections.append(sensitivity_html(extra['effects'], png, table.conditions(rows)))
        nav.append(('sensitivity', 'What the conclusions rest on'))
    if verdicts:
        sections.append(all_rows(verdicts))
        nav.append(('rows', 'Every published value'))
    links = ''.join(f'<a href="#{esc(anchor)}">{esc(text)}</a>' for anchor, text in nav)
    conditions = table.conditions(rows)
    page = PAGE.substitute(style=STYLE, origin=esc(conditions.partition(',')[0]),
                           conditions=esc(sentence(conditions)),
                           summary=summary_html(measured, verdicts, extra['problems']),
                           nav=links, body='\n'.join(sections))
    path.write_text(re.sub(r'[ \t]+\n', '\n', page), encoding='utf-8')
