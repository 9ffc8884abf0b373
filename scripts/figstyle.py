# SPDX-License-Identifier: BSD-3-Clause
"""The style that all figures share: colours, titles, published points, files.

A figure says in a line below its title what one should see. What is published is a white diamond on
the curve or bar that passes through it; a hatched bar is of writes that are not durable; an axis with a log
scale says so. The bytes depend on the data alone: no date, no random jitter. The drawing libraries are
imported on demand, so that everything else works without them.
"""
import importlib
import os
import textwrap
from pathlib import Path

NEEDED = ('matplotlib', 'pandas', 'seaborn')
DPI = 144
INK = '#333333'
FAINT = '#777777'
PALETTE = ('#3b6ea5', '#d1762f', '#4f9153', '#a04e6c', '#7a68a6', '#8a7349', '#4aa3a2', '#8c8c8c')
MARKERS = ('o', 's', 'D', '^', 'v', 'P', 'X', '*')
PUBLISHED = 'published'
NOT_DURABLE = 'hatched: not durable'
HATCH = '////'
SEE_WIDTH = 112  # characters of a line below the title


class Missing(Exception):
    """A library that drawing needs is not installed; the text says which."""


def load():
    """Import the drawing libraries once, before processes are forked, and set the style."""
    os.environ.setdefault('MPLBACKEND', 'Agg')
    missing = []
    for name in NEEDED:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    if missing:
        raise Missing(f'no figures: Python lacks {", ".join(missing)} (Debian packages: '
                      f'{" ".join("python3-" + name for name in missing)})')
    sns = importlib.import_module('seaborn')
    sns.set_theme(style='whitegrid', context='paper', palette=PALETTE, rc={
        'figure.figsize': (7.0, 3.9), 'font.family': 'DejaVu Sans', 'font.size': 9,
        'axes.edgecolor': '#bbbbbb', 'axes.linewidth': 0.8, 'grid.color': '#e6e6e6',
        'axes.titlelocation': 'left', 'axes.titlesize': 11, 'axes.titleweight': 'bold',
        'axes.titlepad': 12, 'axes.labelcolor': INK, 'text.color': INK, 'xtick.color': INK,
        'ytick.color': INK, 'lines.linewidth': 1.8, 'lines.markersize': 5, 'pdf.fonttype': 42,
        'svg.hashsalt': 'librpm', 'svg.fonttype': 'none', 'hatch.linewidth': 0.7,
        'legend.frameon': False})
    return sns


def cycled(things, names):
    return [things[i % len(things)] for i in range(len(names))]


def scaled(label, log):
    """The label of an axis."""
    return f'{label} (log scale)' if log else label


def head(axes, title, see):
    """Title, and below it what one should see."""
    lines = textwrap.wrap(see, SEE_WIDTH)
    axes.set_title(textwrap.fill(title, 80), pad=9 + 11 * len(lines))
    axes.annotate('\n'.join(lines), (0, 1), (0, 6), xycoords='axes fraction',
                  textcoords='offset points', fontsize=8, color=FAINT, va='bottom')


def legend(axes):
    """The legend beside the axes; none for a single name."""
    if len(axes.get_legend_handles_labels()[1]) > 1:
        axes.legend(loc='upper left', bbox_to_anchor=(1.01, 1), title=None)
    elif axes.get_legend():
        axes.get_legend().remove()


def publish(axes, points):
    """@points: (x, y, colour) of each published value."""
    for i, (x, y, colour) in enumerate(points):
        axes.plot([x], [y], linestyle='', marker='D', markersize=7, markerfacecolor='white',
                  markeredgecolor=colour, markeredgewidth=1.6, zorder=9, clip_on=False,
                  label='_' if i else PUBLISHED)


def hatch(patch, durable):
    if not durable:
        patch.set_hatch(HATCH)
        patch.set_edgecolor('white')


def footer(figure, text):
    figure.text(0.01, -0.01, text, fontsize=7.5, color=FAINT, ha='left', va='top')


def save(figure, folder, name, svg=False):
    """The path of the PNG; a PDF is beside it, and an SVG if it is asked for."""
    png = Path(folder) / f'{name}.png'
    png.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(png, dpi=DPI, bbox_inches='tight', metadata={'Software': None})
    figure.savefig(png.with_suffix('.pdf'), bbox_inches='tight',
                   metadata={'CreationDate': None, 'Producer': None, 'Creator': None})
    if svg:
        figure.savefig(png.with_suffix('.svg'), bbox_inches='tight',
                       metadata={'Date': None, 'Creator': None})
    return png
