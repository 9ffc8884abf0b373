#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Trace transactions, run them on the performance model, judge the results against published values, draw,
report.

Run by scripts/dtx, which builds dtx-bench and dtx-model first:

    scripts/dtx            everything, into build/dtx/: traces/, csv/, figures/ (PNG, PDF, SVG), report.html
    scripts/dtx --quick    the same with fewer transactions in the figures, and runs on this machine of a
                           second on small tables
    scripts/dtx --check    the published values alone: dtx/expected/*.csv and dtx/outside.csv, each over
                           five seeds
"""
import argparse
import csv
import html
import importlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import figstyle
from ablate import check, table

TOP = Path(__file__).resolve().parent.parent
TOLERANCE = 0.2  # of every published value without bounds of its own
THREADS = '1,8,16,24,32,48,64,72,96'  # of SMART's figure 10, where requests are limited, too

SMALL = ('-w', '3', '--items', '2000', '--customers', '300')
FEW = ('--room', '2000')

# The published port of TPC-C keeps only the stock table on the server, in rows of 20 bytes; the clients
# hold the other data of new orders. Its SmallBank keeps all tables on the server.
PORT = ('--only', 'stock', '20')

# name: (words of dtx-bench, transactions). The last two are as the published port had them.
TRACES = {
    'smallbank': (['smallbank', '--accounts', '20000', '--hot', '800'], 2000),
    'tatp': (['tatp', '--subscribers', '3000'], 2000),
    'tpcc': (['tpcc', *SMALL, *FEW], 500),
    'port-smallbank': (['smallbank', '--accounts', '20000', '--hot', '800', '--servers', '1',
                        '--replicas', '1'], 2000),
    'port-tpcc': (['tpcc', *SMALL, *FEW, '--servers', '1', '--replicas', '1', '--mix', 'new-order',
                   '--remote-lines', '100'], 500),
}

# YCSB on one server, as in SMART's figures: a hash table, and a B+tree whose clients cache no addresses of
# rows, or do.
YCSB = ('--keys', '100000', '--replicas', '1', '--servers', '1')
TRACES |= {f'{index}-{core}': (['ycsb', '--workload', core, '--index', index, *YCSB], 20000)
           for index in ('hash', 'ordered') for core in 'abc'}
TRACES |= {f'two-{core}': (['ycsb', '--workload', core, '--index', 'hash', *YCSB[:-1], '2'],
                           20000) for core in 'abc'}
TRACES |= {f'walked-{core}': (['ycsb', '--workload', core, '--index', 'ordered', *YCSB,
                               '--techniques=-guesses'], 20000) for core in 'abc'}
HASH = ('hash-a', 'hash-b', 'hash-c')

# The techniques of SMART, switched on one after another: a doorbell for each thread instead of the 12 of
# a context, at most 8 outstanding requests a thread, a back-off of 4096 cycles at 2.4 GHz and more.
SMART = ('--conflicts', '--doorbells', '12,0', '--outstanding', '0,8', '--backoff', '0,1.7')

# Runs on this machine, which should be short.
HERE = {
    'smallbank': TRACES['smallbank'][0],
    'tatp': TRACES['tatp'][0],
    'tpcc': ['tpcc', *SMALL, '--room', '50000'],
}

# Runs on this machine with one technique left out at a time: with few conflicts, and with ten customers of
# a thousand on which nearly all transactions conflict.
TECHNIQUES = ('all', '-throttle', '-backoff', '-depth', '-guesses', 'none')
CONTENDED = {
    'hot 4000 of 100000': ['smallbank'],
    'hot 10 of 1000': ['smallbank', '--accounts', '1000', '--hot', '10'],
}


class Failed(Exception):
    """A run that failed; the text says why."""


@dataclass(frozen=True)
class Run:
    name: str
    title: str
    see: str  # what one should see in the figure
    traces: tuple
    words: tuple  # of dtx-model
    x: str
    y: str
    lines: str  # the column whose values are lines, beside the workload
    transactions: int = 0  # so many that another seed hardly changes a row; 0: as dtx-model has it
    checked: int = 0  # with --check and --quick instead: more take long, and every row is far outside


AXES = {
    'threads': 'client threads', 'coroutines': 'coroutines of each thread', 'hints': 'hints',
    'technique': "SMART's techniques, one after another", 'p50_us': 'median, us',
    'attempted_mtxns': 'attempted transactions, M/s',
}
DOORBELLS = {'0': 'own doorbells', '12': '12 doorbells'}
# (doorbells, outstanding, back-off) of a bar; other combinations are in the CSV files.
STEPS = {('12', '0', 0.0): '12 doorbells', ('0', '0', 0.0): 'own doorbells',
         ('0', '8', 0.0): '+ 8 requests at most', ('0', '8', 1.7): '+ rests'}

RUNS = (
    Run('threads', 'Throughput against client threads, one client machine',
        'Throughput rises until the port of the client machine is full, and stays there.',
        ('smallbank', 'tatp'), ('-t', THREADS, '--machines', '1', '--outstanding', '8'), 'threads',
        'attempted_mtxns', 'workload'),
    Run('coroutines', 'Throughput against coroutines, 8 threads',
        'More transactions under way hide the round trips, until the threads have no time left.',
        ('smallbank', 'tatp'), ('-t', '8', '-c', '1,2,4,8,16,32'), 'coroutines',
        'attempted_mtxns', 'workload'),
    Run('latency', 'Latency against load, 96 threads that rest',
        'The median stays where it is until the port is nearly full, and rises from there.',
        ('smallbank', 'tatp'),
        ('-t', '96', '--machines', '1', '--pause', '0,10,20,50,100,200,500'), 'attempted_mtxns',
        'p50_us', 'workload'),
    Run('ablation', 'H1 to H9, one after another: the published set-up',
        'Each hint adds to those before. H2 has no bar: the published order leaves it out. Hints that '
        'change nothing here have bars as long as the one before.', ('port-smallbank', 'port-tpcc'),
        ('-t', '50', '--machines', '5', '--phases', 'hybrid', '--cumulative', *PORT), 'hints',
        'attempted_mtxns', 'workload', 20000),
    Run('hash', 'A hash table, 96 threads',
        'Own doorbells help readers, rests after conflicts writers; the limit of requests changes '
        'little.', HASH, ('-t', '96', '--machines', '1', *SMART), 'technique', 'attempted_mtxns',
        'workload'),
    Run('hash-b', 'A hash table, 5 % updates, in the long run',
        '5 % updates, over so many transactions that the seed hardly matters.', ('hash-b',),
        ('-t', '96', '--machines', '1', *SMART), 'technique', 'attempted_mtxns', 'workload',
        300000),
    Run('hash-machines', 'A hash table, six client machines of 96 threads and two servers',
        'Six machines fill the server: with updates only rests after conflicts keep it useful.',
        ('two-a', 'two-b', 'two-c'),
        ('-t', '576', '--machines', '6', *SMART), 'technique', 'attempted_mtxns', 'workload',
        checked=1000),
    Run('hash-latency', 'A hash table: latency against load, 96 threads that rest',
        'With 12 doorbells the median rises at a quarter of the load.', ('hash-c',),
        ('-t', '96', '--machines', '1', '--conflicts', '--doorbells', '12,0', '--pause',
         '0,10,20,50,100,500'), 'attempted_mtxns', 'p50_us', 'doorbells'),
    Run('ordered', 'A B+tree whose clients remember places of rows, 94 threads',
        'As with the hash table; the places that clients remember make a lookup as short.',
        ('ordered-a', 'ordered-b', 'ordered-c'), ('-t', '94', '--machines', '1', *SMART),
        'technique', 'attempted_mtxns', 'workload'),
    Run('walked', 'The B+tree without remembered places, 94 threads',
        'Without remembered places each lookup walks the nodes from the root.',
        ('walked-a', 'walked-b', 'walked-c'), ('-t', '94', '--machines', '1', *SMART),
        'technique', 'attempted_mtxns', 'workload'),
    Run('phases', 'One-sided, by call, or hybrid',
        'Calls save messages until the cores of the servers are full; hybrid, which calls for commits '
        'alone, goes on rising.', ('smallbank', 'tpcc'),
        ('-t', '1,8,24,48', '--phases', 'one-sided,call,hybrid'), 'threads', 'attempted_mtxns',
        'phases'),
    Run('durability', 'What durability costs',
        'Durability costs the redo record of each commit, as long as the port has room.',
        ('smallbank', 'tpcc'), ('-t', '1,8,24,48', '--durability', 'on,off'), 'threads',
        'attempted_mtxns', 'durability'),
)


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog='dtx', description=__doc__.split('\n', 1)[0], epilog=__doc__.split('\n\n', 1)[1],
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--check', action='store_true',
                        help='judge only; exit 0 if what the model misses is what outside.csv lists')
    parser.add_argument('--seed', type=int, default=1, metavar='N', help='seed of the model; published '
                        f'values are judged over the seeds from N to N+{check.SEEDS - 1}')
    parser.add_argument('--quick', action='store_true', help='fewer transactions in figures')
    parser.add_argument('--no-figures', action='store_true', help='draw nothing')
    parser.add_argument('--preset', default='hints', help='platform of the model (hints)')
    parser.add_argument('--out', type=Path, default=TOP / 'build/dtx', metavar='DIR',
                        help='default: build/dtx')
    parser.add_argument('--bin', type=Path, default=TOP / 'build/bin', help=argparse.SUPPRESS)
    parser.add_argument('--expected-dir', type=Path, default=TOP / 'dtx', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.seed < 0:
        parser.error('--seed takes a whole number')
    return options


def call(words, seconds=600):
    words = [str(word) for word in words]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=seconds)
    except OSError as error:
        raise Failed(f'{words[0]}: {error.strerror}') from None
    except subprocess.TimeoutExpired:
        raise Failed(f'{" ".join(words)}: no end within {seconds} s') from None
    if done.returncode != 0:
        raise Failed(f'{" ".join(words)}: {(done.stderr or done.stdout).strip()}')
    return done.stdout


def trace(options, name):
    """The file of a trace, made anew."""
    words, many = TRACES[name]
    path = options.out / 'traces' / f'{name}.jsonl'
    call([options.bin / 'dtx-bench', *words, '-t', '1', '-c', '1', '-n', many, '--no-check',
          '--trace', path])
    return path


def read_rows(path):
    with open(path, newline='', encoding='utf-8') as file:
        return list(csv.DictReader(file))


def measure(options, run, traces, seed, labels=()):
    """Rows of one run on the model; of @labels alone, if there are some."""
    path = options.out / 'csv' / (f'{run.name}.{seed}.csv' if labels else f'{run.name}.csv')
    words = list(run.words)
    short = options.quick or options.check
    transactions = (short and run.checked or run.transactions) if labels else \
        4000 if options.quick else run.transactions
    if transactions:
        words += ['-n', transactions]
    if labels:
        words += ['--labels', ','.join(labels)]
    call([options.bin / 'dtx-model', *(traces[name] for name in run.traces), *words, '--seed', seed,
          '--preset', options.preset, '--csv', path])
    return read_rows(path)


def bench(options, name, runs):
    """Rows of dtx-bench on this machine, for each the words that it is given."""
    path = options.out / 'csv' / f'{name}.csv'
    path.unlink(missing_ok=True)
    columns = call([options.bin / 'dtx-bench', '--columns']).strip()
    for words in runs:
        call([options.bin / 'dtx-bench', *words, '-s', '1' if options.quick else '5', '--csv',
              path])
    path.write_text(columns + '\n' + path.read_text(encoding='utf-8'), encoding='utf-8')
    return read_rows(path)


def here(options):
    """One and two threads over shm:, durability on and off."""
    return bench(options, 'here', [
        [*(HERE[workload] if options.quick else [workload]), '-t', threads, '--durability', word]
        for workload in ('smallbank', 'tatp', 'tpcc') for threads in (1, 2)
        for word in ('on', 'off')])


def techniques(options):
    """Two threads of 16 coroutines over shm: rings, each with everything but one technique."""
    names = [name for name in CONTENDED for _ in TECHNIQUES]
    rows = bench(options, 'techniques', [
        [*words, '-t', '2', '-c', '16', '--link', 'ring', f'--techniques={technique}']
        for words in CONTENDED.values() for technique in TECHNIQUES])
    return [{**row, 'customers': name} for name, row in zip(names, rows)]


METRICS = ('attempted_mtxns', 'committed_mtxns', 'p50_us', 'p99_us', 'remote_ops_per_attempt',
           'remote_mops')


def as_numbers(rows):
    return [{**row, 'note': '', **{name: float(row[name]) for name in METRICS}} for row in rows]


def place_of(run, row):
    """Where a row stands in the figure; None: nowhere."""
    if run.x == 'technique':
        return STEPS.get((row['doorbells'], row['outstanding'], float(row['backoff_us'])))
    return row['hints'] if run.x == 'hints' else float(row[run.x])


def name_of(run, row):
    """The name of a row's line or of its colour of bars."""
    if run.lines == 'workload':
        return row['workload']
    word = DOORBELLS[row['doorbells']] if run.lines == 'doorbells' else row[run.lines]
    word = f'durability {word}' if run.lines == 'durability' else word
    return f'{row["workload"]}, {word}'


def hints_until(places, row):
    """The hints of a bar: each adds its own to those before."""
    return ' '.join(places[:places.index(row['hints']) + 1])


def draw_bars(axes, run, rows, colours):
    """Bars side by side; the place of each label's bar. Hints are ratios to none of them."""
    places = list(dict.fromkeys(place_of(run, row) for row in rows))
    base = {row['workload']: float(row[run.y]) if run.x == 'hints' else 1.0
            for row in reversed(rows)}
    wide = 0.8 / len(colours)
    found = {}
    for i, (name, colour) in enumerate(colours.items()):
        some = [row for row in rows if name_of(run, row) == name]
        for row in some:
            x = places.index(place_of(run, row)) + wide * (i - (len(colours) - 1) / 2)
            value = float(row[run.y]) / base[row['workload']]
            bar = axes.bar(x, value, wide * 0.94, color=colour,
                           label=name if row is some[-1] else '_')
            figstyle.hatch(bar.patches[0], run.x != 'hints' or 'H3' in hints_until(places, row))
            axes.bar_label(bar, [f'{value:.3g}'], padding=2, fontsize=7)
            found[row['label']] = x
    axes.set_xticks(range(len(places)), places)
    axes.grid(False, axis='x')
    return found


def draw_lines(axes, run, rows, colours):
    """The place of each label's point."""
    for (name, colour), marker in zip(colours.items(), figstyle.cycled(figstyle.MARKERS, colours)):
        some = [row for row in rows if name_of(run, row) == name]
        axes.plot([place_of(run, row) for row in some], [float(row[run.y]) for row in some],
                  marker=marker, color=colour, label=name)
    return {row['label']: place_of(run, row) for row in rows}


def draw(options, run, rows, expected):
    """The PNG of a run; a PDF and an SVG are beside it."""
    pyplot = importlib.import_module('matplotlib.pyplot')
    rows = [row for row in rows if place_of(run, row) is not None]
    names = list(dict.fromkeys(name_of(run, row) for row in rows))
    colours = dict(zip(names, figstyle.cycled(figstyle.PALETTE, names)))
    bars = run.x in ('hints', 'technique')
    figure, axes = pyplot.subplots()
    places = (draw_bars if bars else draw_lines)(axes, run, rows, colours)
    colour_of = {row['label']: colours[name_of(run, row)] for row in rows}
    # A published latency has no place where the load beside it is the model's. Hints are ratios to none.
    published = [] if run.x == 'attempted_mtxns' else [
        (places[row.of], row.expect, figstyle.INK if bars else colour_of[row.of]) for row in expected
        if row.run == run.name and row.metric == run.y and row.of in colour_of
        and ('/none/' in row.over if run.x == 'hints' else not row.over)]
    figstyle.publish(axes, published)
    figstyle.head(axes, run.title, run.see)
    axes.set_xlabel(AXES[run.x])
    axes.set_ylabel('times of no hints' if run.x == 'hints' else AXES[run.y])
    axes.set_ylim(bottom=0)
    figstyle.legend(axes)
    for side in ('top', 'right'):
        axes.spines[side].set_visible(False)
    figstyle.footer(figure, f'modelled, preset {options.preset}, seed {options.seed}' +
                    (f'  |  diamonds: {figstyle.PUBLISHED}' if published else '') +
                    (f'  |  {figstyle.NOT_DURABLE}, since DDIO is on before H3'
                     if run.x == 'hints' else ''))
    path = figstyle.save(figure, options.out / 'figures', run.name, svg=True)
    pyplot.close(figure)
    return path


def draw_all(options, measured, expected):
    """Figures by run. Without the drawing libraries there are none."""
    if options.no_figures:
        return {}
    try:
        figstyle.load()
    except figstyle.Missing as error:
        print(f'dtx: {error}', file=sys.stderr)
        return {}
    return {run.name: draw(options, run, measured[run.name], expected) for run in RUNS}


HEADINGS = {'attempted_mtxns': 'attempted, M/s', 'committed_mtxns': 'committed, M/s',
            'p50_us': 'median, us', 'p99_us': '99 % below, us',
            'remote_ops_per_attempt': 'requests of an attempt'}
# The report begins with this; what the model misses follows, from the list of published values.
GOOD_FOR = ('The model is good for where one port, or the server\'s cores, limit the transactions of one client '
            'machine, and for the order of hints and techniques by what they gain. It is not good for '
            'contended data, where clients of another engine lock and fail otherwise, for what threads of '
            'a client share beside a port, and for absolute rates. Published values that it misses:')


def html_table(columns, rows):
    head = ''.join(f'<th>{html.escape(HEADINGS.get(name, name))}</th>' for name in columns)
    body = ''.join('<tr>' + ''.join(f'<td>{html.escape(str(row[name]))}</td>' for name in columns)
                   + '</tr>\n' for row in rows)
    return f'<table><tr>{head}</tr>\n{body}</table>\n'


def write_report(options, measured, verdicts, drawn):
    parts = ['<!DOCTYPE html><meta charset="utf-8"><title>dtx</title><style>body{font:15px '
             'sans-serif;max-width:60em;margin:auto}td,th{padding:2px 8px;text-align:left}'
             '</style><h1>Transactions</h1><p>All but the last two tables are modelled, preset '
             f'{html.escape(options.preset)}, seed {options.seed}; conflicts only where a hash table or '
             f'a B+tree is compared.</p><p>{html.escape(GOOD_FOR)}</p><ul>']
    parts += [f'<li>{html.escape(each.row.what)}: {html.escape(each.row.known)}</li>'
              for each in verdicts if each.row.known]
    parts.append('</ul><h2>Published</h2>')
    parts.append(html_table(('what', 'published', 'modelled', 'verdict', 'why'), [
        {'what': each.row.what, 'published': table.shown(each.row.expect),
         'modelled': each.shown, 'verdict': each.word,
         'why': each.row.known or each.reason} for each in verdicts]))
    for run in RUNS:
        parts.append(f'<h2>{html.escape(run.title)}</h2><p>{html.escape(run.see)}</p>')
        if drawn.get(run.name):
            text = drawn[run.name].with_suffix('.svg').read_text(encoding='utf-8')
            parts.append(text[text.index('<svg'):])
        parts.append('<details><summary>numbers</summary>' + html_table(
            ('label', 'attempted_mtxns', 'p50_us', 'p99_us', 'remote_ops_per_attempt'),
            measured[run.name]) + '</details>')
    parts.append('<h2>On this machine, over shm:</h2>' + html_table(
        ('workload', 'threads', 'coroutines', 'durability', 'committed_mtxns', 'p50_us', 'p99_us'),
        here(options)))
    parts.append('<h2>Techniques left out, one at a time, on this machine, over shm: rings</h2>'
                 + html_table(('customers', 'techniques', 'committed_mtxns', 'conflicts', 'p50_us',
                               'p99_us'), techniques(options)))
    path = options.out / 'report.html'
    path.write_text('\n'.join(parts), encoding='utf-8')
    print(f'report: {path}')


def judge(options, expected, pool, traces):
    """The verdicts over the seeds."""
    seeds = range(options.seed, options.seed + check.SEEDS)
    works = [(run, seed, check.labels_of(expected, run.name)) for seed in seeds for run in RUNS
             if check.labels_of(expected, run.name)]
    rows = list(pool.map(lambda work: measure(options, work[0], traces, work[1], work[2]), works))
    return check.judge_all(expected, [
        {run.name: as_numbers(found) for (run, its, _), found in zip(works, rows) if its == seed}
        for seed in seeds])


def work(options):
    expected = check.read_expected(options.expected_dir, TOLERANCE, METRICS)  # told before the work
    for folder in ('traces', 'csv'):
        (options.out / folder).mkdir(parents=True, exist_ok=True)
    runs = [run for run in RUNS if check.labels_of(expected, run.name) or not options.check]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        names = sorted({name for run in runs for name in run.traces})
        traces = dict(zip(names, pool.map(lambda name: trace(options, name), names)))
        verdicts = judge(options, expected, pool, traces)
        measured = {} if options.check else dict(zip(
            (run.name for run in RUNS),
            pool.map(lambda run: measure(options, run, traces, options.seed), RUNS)))
    last = options.seed + check.SEEDS - 1
    for line in check.text_table(verdicts, f'modelled, seeds {options.seed} to {last}'):
        print(line)
    if not options.check:
        write_report(options, measured, verdicts, draw_all(options, measured, expected))
    for fault in check.faults(verdicts):
        print(f'wrong: {fault}')
    print(check.summary(verdicts))
    return 1 if check.faults(verdicts) else 0


def main():
    try:
        return work(parse_arguments())
    except (Failed, check.BadExpected) as error:
        print(f'dtx: {error}', file=sys.stderr)
        return 1
    except OSError as error:
        print(f'dtx: {error.filename or "output"}: {error.strerror}', file=sys.stderr)
        return 1


if __name__ == '__main__':
    sys.exit(main())
