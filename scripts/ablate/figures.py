# SPDX-License-Identifier: BSD-3-Clause
"""Draws the figures that `rpm-hints list` describes, and the heat map of the sensitivity, each as
a PNG and a PDF."""
import importlib
import math
import multiprocessing
import signal
import textwrap

import figstyle
from figstyle import FAINT, INK, MARKERS, PALETTE, cycled

from . import table

BARS_LYING = 44  # characters of tick labels side by side; with more the bars are horizontal
BARS_NAMED = 16  # bars side by side that have room for their values
TICKS_MOST = 12
PANELS_BESIDE = 3
HEAT_ROWS = 18
SIZE_WORDS = ('bytes', 'payload', 'pad', 'align')
WRITES = ('write', 'mix')  # operations of which one asks whether they are durable


def bytes_text(value, _=None):
    """64, 256, 1K, 64K, 1M."""
    for unit, factor in (('G', 1 << 30), ('M', 1 << 20), ('K', 1 << 10)):
        if value >= factor and value % (factor // 4) == 0:
            return f'{value / factor:g}{unit}'
    return f'{value:g}'


def matches(row, spec):
    """Whether a figure shows this row, by its label and its columns."""
    if not row['label'].startswith(spec.get('labels') or ''):
        return False
    for column, wanted in (spec.get('where') or {}).items():
        allowed = wanted if isinstance(wanted, list) else [wanted]
        if str(row.get(column, '')) not in [str(value) for value in allowed]:
            return False
    return True


def as_number(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def points_of(spec, rows):
    """The points that a figure shows, and notes on what it cannot show."""
    chosen = [row for row in rows if matches(row, spec)]
    there = [row for row in chosen if row.get(spec['y']) not in (None, '')]
    reasons = {}
    for row in chosen:
        if row.get(spec['y']) in (None, ''):
            reason = row['note'] or f'no {spec["y"]}'
            reasons.setdefault(reason, []).append(row['label'])
    notes = [f'Not drawn, {len(labels)} of {len(chosen)} points: {reason}'
             for reason, labels in reasons.items()]
    return there, notes


def frame_of(spec, rows):
    pandas = importlib.import_module('pandas')
    numbers = [as_number(row[spec['x']]) for row in rows]
    all_numbers = all(value is not None for value in numbers)
    series = spec.get('series')
    return pandas.DataFrame({
        'x': numbers if all_numbers and spec['kind'] == 'line' else [row[spec['x']] for row in rows],
        'y': [as_number(row[spec['y']]) for row in rows],
        'series': [str(row[series]) if series else '' for row in rows],
        'label': [row['label'] for row in rows],
        'durable': [row['durable'] == 'yes' or row['op'] not in WRITES for row in rows],
    })


def unique(values):
    return list(dict.fromkeys(values))


def published_points(spec, frame, published):
    """(x, published value, series) of the points that a figure shows.

    @published: rows of published values, as check.read_expected() gives them."""
    place = {label: (x, series) for label, x, series in
             zip(frame['label'], frame['x'], frame['series'])}
    return [(place[row.of][0], row.expect, place[row.of][1]) for row in published
            if row.of in place and not row.over and row.metric == spec['y']]


def apart(values, place):
    """The values whose names do not overlap; powers of two come first."""
    gap = (place(max(values)) - place(min(values))) / TICKS_MOST / 1.25
    kept = []
    for value in sorted(values, key=lambda value: (math.frexp(value)[0] != 0.5, value)):
        if all(abs(place(value) - place(other)) >= gap for other in kept):
            kept.append(value)
    return sorted(kept)


def of_sizes(spec):
    words = f'{spec["x"]} {spec.get("xlabel") or ""}'.lower()
    return any(word in words for word in SIZE_WORDS)


def draw_line(sns, axes, spec, frame):
    """Returns whether the horizontal axis has a log scale."""
    order = unique(frame['series'])
    sns.lineplot(data=frame, x='x', y='y', hue='series', hue_order=order, style='series',
                 style_order=order, markers=cycled(MARKERS, order), dashes=False, ax=axes,
                 palette=cycled(PALETTE, order), errorbar=('pi', 100), markeredgewidth=0)
    xs = sorted(unique(frame['x']))
    colours = dict(zip(order, cycled(PALETTE, order)))
    figstyle.publish(axes, [(x, y, colours[series]) for x, y, series in spec['published']])
    if not isinstance(xs[0], float):
        return False
    ticker = importlib.import_module('matplotlib.ticker')
    log = spec.get('xlog') and xs[0] > 0
    if log:
        axes.set_xscale('log', base=2 if of_sizes(spec) else 10)
        axes.minorticks_off()
    if log or len(xs) <= TICKS_MOST:
        axes.set_xticks(apart(xs, math.log if log else float))
    else:
        axes.xaxis.set_major_locator(ticker.MaxNLocator(TICKS_MOST, integer=True))
    text = bytes_text if of_sizes(spec) else lambda value, _: f'{value:g}'
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(text))
    return log


def bar_text(value):
    return f'{value:.3g}' if math.isfinite(value) and abs(value) < 1000 else table.shown(value)


def name_bars(axes, lying):
    """The value at the end of each bar, if there is room for it."""
    bars = [container for container in axes.containers if hasattr(container, 'patches')]
    if not lying and sum(len(container.patches) for container in bars) > BARS_NAMED:
        return
    for container in bars:
        values = [patch.get_width() if lying else patch.get_height()
                  for patch in container.patches]
        axes.bar_label(container, labels=[bar_text(value) if value == value else ''
                                          for value in values],
                       padding=2, fontsize=7.5, color=INK)


def mark_bars(axes, frame, names, order, lying):
    """Hatch the bars that are not durable. One container holds the bars of a series."""
    bars = [container for container in axes.containers if hasattr(container, 'patches')]
    for series, container in zip(order, bars):
        for patch in container.patches:
            middle = patch.get_y() + patch.get_height() / 2 if lying else \
                patch.get_x() + patch.get_width() / 2
            here = frame[(frame['series'] == series) & (frame['x'] == names[round(middle)])]
            figstyle.hatch(patch, here['durable'].all())


def draw_bars(sns, axes, spec, frame):
    """Returns whether the bars are horizontal: long names do not fit side by side."""
    if of_sizes(spec):
        frame['x'] = [bytes_text(value) if value is not None else name
                      for value, name in zip(map(as_number, frame['x']), frame['x'])]
    order = unique(frame['series'])
    names = unique(frame['x'])
    lying = sum(len(str(name)) for name in names) > BARS_LYING
    colours = {'color': PALETTE[0]}
    if len(order) > 1:
        # One bar for each name needs no room for the others.
        colours = {'hue': 'series', 'hue_order': order, 'palette': cycled(PALETTE, order),
                   'dodge': len(frame) > len(names)}
    axis = {'x': 'y', 'y': 'x'} if lying else {'x': 'x', 'y': 'y'}
    sns.barplot(data=frame, **axis, order=names, orient='h' if lying else 'v', ax=axes,
                errorbar=('pi', 100), width=0.7, saturation=1, **colours)
    mark_bars(axes, frame, names, order, lying)
    name_bars(axes, lying)
    axes.margins(**{'x' if lying else 'y': 0.12})
    axes.grid(False, axis='y' if lying else 'x')
    if lying:
        bars = len(names) * (len(order) if colours.get('dodge') else 1)
        axes.figure.set_size_inches(7.0, max(2.6, min(1.2 + 0.24 * bars, 9)))
    return lying


def draw_panels(plt, spec, frame):
    """Many bars: a panel for each series, with its own scale. Returns the figure."""
    order = unique(frame['series'])
    names = unique(frame['x'])
    rows = -(-len(order) // PANELS_BESIDE)
    columns = -(-len(order) // rows)
    figure, grid = plt.subplots(rows, columns, squeeze=False,
                                figsize=(8.6, rows * (0.9 + 0.23 * len(names))))
    for i, panel in enumerate(grid.flat):
        if i >= len(order):
            panel.axis('off')
            continue
        own = frame[frame['series'] == order[i]].set_index('x').reindex(names)
        part = own['y']
        bars = panel.barh(range(len(names)), part, height=0.66, color=PALETTE[i % len(PALETTE)])
        for patch, durable in zip(bars.patches, own['durable']):
            figstyle.hatch(patch, durable)
        figstyle.publish(panel, [(y, names.index(x), INK) for x, y, series in spec['published']
                                 if series == order[i]])
        panel.bar_label(bars, labels=[bar_text(value) if value == value else '' for value in part],
                        padding=9 if spec['published'] else 2, fontsize=7.5, color=INK)
        panel.set_yticks(range(len(names)), names if i % columns == 0 else [''] * len(names))
        panel.invert_yaxis()
        panel.margins(x=0.22, y=0.03)
        panel.grid(False, axis='y')
        panel.set_title(order[i], fontsize=9, pad=6)
        panel.set_xlabel(spec.get('ylabel') or spec['y'] if i + columns >= len(order) else '')
        for side in ('top', 'right', 'bottom'):
            panel.spines[side].set_visible(False)
    top = 1 + 0.35 / figure.get_figheight()
    figure.suptitle(headed(spec), x=0.01, y=top, ha='left', va='bottom', fontsize=11,
                    fontweight='bold')
    lines = textwrap.wrap(spec.get('see') or '', figstyle.SEE_WIDTH + 16)
    figure.text(0.01, top - 0.05 / figure.get_figheight(), '\n'.join(lines), fontsize=8, color=FAINT,
                va='top')
    figure.tight_layout()
    return figure


def headed(spec):
    """The title, with the hint that the figure is about."""
    return f'{spec["hint"]}: {spec["title"]}' if spec.get('hint') else spec['title']


def label_axes(axes, spec, lying, xlog):
    x_text = figstyle.scaled(spec.get('xlabel') or spec['x'], xlog)
    y_text = figstyle.scaled(spec.get('ylabel') or spec['y'], spec.get('ylog'))
    axes.set_xlabel(y_text if lying else x_text)
    axes.set_ylabel(x_text if lying else y_text)
    if spec.get('ylog'):
        ticker = importlib.import_module('matplotlib.ticker')
        (axes.set_xscale if lying else axes.set_yscale)('log')
        axis = axes.xaxis if lying else axes.yaxis
        axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f'{value:g}'))
        axis.set_minor_locator(ticker.NullLocator())
    elif lying:
        axes.set_xlim(left=0)
    else:
        axes.set_ylim(bottom=0)


def draw_axes(sns, plt, spec, frame, notes):
    """A figure of one pair of axes; frame None: nothing to draw."""
    figure, axes = plt.subplots()
    figstyle.head(axes, headed(spec), spec.get('see') or '')
    if frame is None:
        axes.axis('off')
        text = '\n'.join(notes) or 'This figure has no points.'
        axes.text(0.5, 0.5, textwrap.fill(text, 60), ha='center', va='center', color=FAINT)
        return figure
    lying = xlog = False
    if spec['kind'] == 'bar':
        lying = draw_bars(sns, axes, spec, frame)
    else:
        xlog = draw_line(sns, axes, spec, frame)
    label_axes(axes, spec, lying, xlog)
    figstyle.legend(axes)
    sns.despine(ax=axes, left=not lying, bottom=lying)
    figure.tight_layout()
    return figure


def draw(spec, rows, folder, published):
    """One figure. Returns (id, path of the PNG, words about what is not shown)."""
    sns = importlib.import_module('seaborn')
    plt = importlib.import_module('matplotlib.pyplot')
    there, notes = points_of(spec, rows)
    frame = frame_of(spec, there) if there else None
    spec = {**spec, 'published': published_points(spec, frame, published) if there else []}
    if frame is not None and spec['kind'] == 'bar' and len(frame) > BARS_NAMED \
            and len(unique(frame['series'])) > 1:
        figure = draw_panels(plt, spec, frame)
    else:
        figure = draw_axes(sns, plt, spec, frame, notes)
    words = [table.conditions(there or rows)]
    if spec['published']:
        words.append(f'diamonds: {figstyle.PUBLISHED}')
    if frame is not None and spec['kind'] == 'bar' and not frame['durable'].all():
        words.append(figstyle.NOT_DURABLE)
    words += [textwrap.shorten(note, 84) for note in notes[:2] if there]
    figstyle.footer(figure, '  |  '.join(words))
    png = figstyle.save(figure, folder, spec['id'])
    plt.close(figure)
    return spec['id'], png, notes


def draw_heat(effects, folder, caption):
    """@effects: rows of sensitivity.read(). Two panels: less and more of each number."""
    from . import sensitivity
    sns = importlib.import_module('seaborn')
    plt = importlib.import_module('matplotlib.pyplot')
    pandas = importlib.import_module('pandas')
    moving = [name for name in sensitivity.moving(effects)[0] if name != sensitivity.SEED]
    moving = moving[:HEAT_ROWS] + [sensitivity.SEED]  # always shown, for comparison
    results = unique(row['result'] for row in effects)
    figure, grid = plt.subplots(
        2, 2, figsize=(3.2 + 0.5 * len(results), 2.4 + 0.42 * len(moving)),
        gridspec_kw={'width_ratios': [len(results), 0.3], 'hspace': 0.12, 'wspace': 0.04})
    panels = [row[0] for row in grid]
    scale = grid[0][1]
    grid[1][1].axis('off')
    colours = sns.diverging_palette(250, 20, s=80, l=45, as_cmap=True)
    top = min(30, max(abs(row['effect']) for row in effects if row['effect'] is not None))
    for panel, (title, sign) in zip(panels, (('20 % less', -1), ('20 % more', 1))):
        grid = pandas.DataFrame(float('nan'), index=moving, columns=results)
        for row in effects:
            if row['parameter'] in moving and row['change'] * sign > 0 and row['effect'] is not None:
                grid.loc[row['parameter'], row['result']] = row['effect']
        marks = grid.applymap(lambda value: '' if value != value or abs(value) < 0.5
                              else f'{value:+.0f}')
        sns.heatmap(grid, ax=panel, cmap=colours, center=0, vmin=-top, vmax=top, annot=marks, fmt='',
                    annot_kws={'fontsize': 7}, linewidths=0.6, cbar=sign > 0,
                    cbar_ax=scale if sign > 0 else None, xticklabels=sign > 0,
                    cbar_kws={'label': 'result moves by, %'})
        panel.set_title(title)
        panel.set_xlabel('')
        panel.set_ylabel('')
        panel.set_yticklabels([sensitivity.named(name, effects, sign) for name in moving])
        panel.tick_params(axis='x', rotation=90, labelsize=8)
        panel.tick_params(axis='y', rotation=0, labelsize=8, left=False)
    panels[0].text(1, 1.02, caption, transform=panels[0].transAxes, fontsize=7.5, color=FAINT,
                   ha='right', va='bottom')
    top = 0.9 + 0.35 / figure.get_figheight()
    figure.text(0.01, top + 0.2 / figure.get_figheight(), 'What the results rest on', fontsize=11,
                fontweight='bold')
    figure.text(0.01, top, 'A result rests on a number that moves it by more than another seed does, the '
                'last row.', fontsize=8, color=FAINT)
    png = figstyle.save(figure, folder, 'sensitivity')
    plt.close(figure)
    return png


def quiet_worker():
    """The parent answers signals and ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def task(work):
    """(id, PNG or None, notes). A figure that cannot be drawn must not prevent the others."""
    kind, arguments = work
    name = arguments[0]['id'] if kind == 'draw' else 'sensitivity'
    try:
        if kind == 'draw':
            return draw(*arguments)
        return name, draw_heat(*arguments), []
    except Exception as error:  # a wrong description can raise any exception
        return name, None, [f'figure {name}: {type(error).__name__}: {error}']


def draw_all(works, parallel, tell):
    """Every figure, by forked processes that share the imported libraries.

    Returns {id: (png, notes)} and what could not be drawn. @tell is called after each.
    """
    context = multiprocessing.get_context('fork')
    drawn = []
    with context.Pool(parallel, quiet_worker) as pool:
        for result in pool.imap_unordered(task, works):
            drawn.append(result)
            tell(result[0])
    failed = [note for _, png, notes in drawn if png is None for note in notes]
    return {name: (png, notes) for name, png, notes in drawn if png}, sorted(failed)
