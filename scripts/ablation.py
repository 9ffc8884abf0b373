#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run every experiment of the hints, judge the results against published values, draw, write up.

Run by scripts/ablation, which builds rpm-hints first:

    scripts/ablation                      everything, into build/ablation/: csv/, figures/,
                                          sensitivity.csv, report.html
    scripts/ablation --check              the published values alone: hints/expected/*.csv and
                                          hints/outside.csv, each over five seeds
    scripts/ablation --only h3 h9         some of the experiments
    scripts/ablation --url URL            the same on another preset, or live
    scripts/ablation --from-csv DIR       judge and draw the CSV files of an earlier call, or of
                                          another machine
    scripts/ablation --readme [--verify]  write, or compare with a new run, the table of
                                          hints/README.md

An interrupted call is continued by the next: finished results are kept as long as program,
seed and URL are the same.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import figstyle
from ablate import check, figures, readme, report, run, sensitivity, table

TOP = Path(__file__).resolve().parent.parent
URL = 'sim:preset=hints,seed=1'
EXTRA_RUN = 'points'  # measures the points which no experiment has
TOLERANCE = 0.15  # of every published value without bounds of its own
SEEDS_FOLDER = 'seeds'  # beside the CSV files of the first seed, those of the others
SENSITIVITY = 'sensitivity'
INTERRUPTED = 130


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog='ablation', description=__doc__.split('\n', 1)[0],
        epilog=__doc__.split('\n\n', 1)[1], formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--url', default=URL, help=f'where to measure (default {URL})')
    parser.add_argument('--seed', type=int, metavar='N', help='seed of the model; published values '
                        f'are judged over the seeds from N to N+{check.SEEDS - 1}')
    parser.add_argument('--out', type=Path, metavar='DIR', help='default: build/ablation')
    parser.add_argument('--only', nargs='+', metavar='RUN', default=[],
                        help=f'h1 .. h9, ablate, octopus, {EXTRA_RUN}, {SENSITIVITY}')
    parser.add_argument('--from-csv', type=Path, metavar='DIR',
                        help='measure nothing: take the CSV files of this folder')
    parser.add_argument('--jobs', type=int, default=len(os.sched_getaffinity(0)), metavar='N',
                        help='runs at a time (default: one for each processor)')
    parser.add_argument('--no-figures', action='store_true', help='draw nothing')
    parser.add_argument('--check', action='store_true',
                        help='judge only; exit 0 if what the model misses is what outside.csv lists')
    parser.add_argument('--readme', action='store_true', help='rewrite the table of hints/README.md')
    parser.add_argument('--verify', action='store_true',
                        help='with --readme: write nothing, fail if the table is another')
    parser.add_argument('--program', type=Path, default=TOP / 'build/bin/rpm-hints',
                        help=argparse.SUPPRESS)
    parser.add_argument('--effects', type=Path, help=argparse.SUPPRESS,
                        default=TOP / 'scripts/ablate/effects.csv')
    parser.add_argument('--hints-dir', type=Path, default=TOP / 'hints', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.verify and not options.readme:
        parser.error('--verify goes with --readme')
    if options.check and (options.readme or options.from_csv or options.only):
        parser.error('--check goes alone')
    if options.jobs < 1:
        parser.error('--jobs has to be at least 1')
    if options.seed is not None:
        if not options.url.startswith('sim:') or options.seed < 0:
            parser.error('--seed takes a whole number, and only the model has a seed')
        options.url = with_seed(options.url, options.seed)
    return options


def with_seed(url, seed):
    bare = re.sub(r'(?<=[:,])seed=[^,]*,?', '', url).rstrip(',')
    return f'{bare}{"" if bare.endswith(":") else ","}seed={seed}'


def seed_of(url):
    found = re.search(r'(?<=[:,])seed=(\d+)', url)
    return int(found.group(1)) if found else 1


def ask(program, *words):
    """The output of rpm-hints as JSON."""
    command = [str(program), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except OSError as error:
        raise run.Failed(f'{program}: {error.strerror}') from None
    except subprocess.TimeoutExpired:
        raise run.Failed(f'{" ".join(command)}: no answer within a minute') from None
    if done.returncode != 0:
        raise run.Failed(f'{" ".join(command)}: {done.stderr.strip()}')
    try:
        return json.loads(done.stdout)
    except ValueError as error:
        raise run.Failed(f'{" ".join(command)}: {error}') from None


def experiment_jobs(options, names, folder):
    return [run.Job(name, [str(options.program), name, '--url', options.url, '--csv',
                           str(folder / f'{name}.csv'), '--json', str(folder / f'{name}.json'),
                           '--quiet'], folder / f'{name}.csv') for name in names]


def seeds(options):
    """The seeds that published values are judged by; None for a link, which has none."""
    first = seed_of(options.url)
    return list(range(first, first + check.SEEDS)) if options.url.startswith('sim:') else [None]


def judged_jobs(options, expected, names, folder, seed):
    """Runs of the points alone that published values are compared with."""
    url = options.url if seed is None else with_seed(options.url, seed)
    jobs = []
    for name in names:
        output = folder / f'{name}.csv'
        command = [str(options.program), name, '--url', url, '--csv', str(output), '--quiet',
                   '--labels', ','.join(check.labels_of(expected, name))]
        jobs.append(run.Job(f'{name}.{folder.name}', command, output,
                            group=f'published values, seed {seed}' if seed is not None else ''))
    return jobs


def run_names(catalog):
    names = [entry['run'] for entry in catalog]
    return names if EXTRA_RUN in names else names + [EXTRA_RUN]


class Variations:
    """The runs that make sensitivity.csv: headline results with one number of the preset changed."""

    def __init__(self, options):
        self.options = options
        self.folder = options.out / SENSITIVITY
        parameters = ask(options.program, 'params', '--url', options.url, '--json')
        self.changes = [change for parameter in parameters
                        for change in sensitivity.changes_of(parameter)]
        self.changes += sensitivity.seeds_beside(seed_of(options.url))
        self.base = self.job('base')
        self.jobs = [self.job(change.key, change) for change in self.changes]

    def job(self, name, change=None):
        url = self.options.url
        setting = []
        if change and change.name == sensitivity.SEED:
            url = with_seed(url, change.varied)
        elif change:
            setting = ['--set', change.setting]
        command = [str(self.options.program), 'headline', '--url', url, '--json', *setting]
        return run.Job(f'{SENSITIVITY}.{name}', command, self.folder / f'{name}.json',
                       captured=True, group=SENSITIVITY)

    def again(self, runner, results):
        """Run refused changes again in possible steps. Notes by index."""
        notes = {}
        tries = {}
        for i, job in enumerate(self.jobs):
            if results[job.name].status == 'failed':
                notes[i] = f'refused: {sensitivity.refusal(results[job.name].message)}'
                tries[i] = sensitivity.in_steps(self.changes[i])
        while any(tries.values()):
            now = {i: left.pop(0) for i, left in tries.items() if left}
            jobs = [self.job(change.key, change) for change, _ in now.values()]
            results.update(runner.run(jobs, quiet=True))
            for (i, (change, note)), job in zip(now.items(), jobs):
                if results[job.name].status != 'failed':
                    self.changes[i] = change
                    notes[i] = note
                    tries[i] = []
        return notes

    def write(self, runner, results):
        """sensitivity.csv, and its rows as read() gives them."""
        if results[self.base.name].status == 'failed':
            raise run.Failed(f'headline: {results[self.base.name].message}')
        notes = self.again(runner, results)
        before = sensitivity.flatten(sensitivity.read_json(self.base.output))
        rows = []
        for i, (change, job) in enumerate(zip(self.changes, self.jobs)):
            after = None
            if results[job.name].status != 'failed':
                after = sensitivity.flatten(sensitivity.read_json(job.output))
            rows += sensitivity.effects(before, change, after, notes.get(i, ''))
        path = self.options.out / f'{SENSITIVITY}.csv'
        sensitivity.write(path, rows)
        return sensitivity.read(path)


def parted(results, names):
    """The names of the runs that succeeded, and the errors of the others."""
    return ([name for name in names if results[name].status != 'failed'],
            [f'{name}: {results[name].message}' for name in names
             if results[name].status == 'failed'])


def read_measured(folder, names, problems):
    """Rows of each run that left a whole CSV; the others become problems."""
    measured = {}
    for name in names:
        path = folder / f'{name}.csv'
        if not path.exists():
            continue
        try:
            measured[name] = table.read(path)
        except table.BadTable as error:
            problems.append(str(error))
    return measured


def draw(options, catalog, measured, effects, expected, problems):
    """Figures by id. A missing drawing library is a problem, not a failure."""
    if options.no_figures:
        return {}
    try:
        figstyle.load()
    except figstyle.Missing as error:
        problems.append(str(error))
        return {}
    folder = options.out / 'figures'
    folder.mkdir(parents=True, exist_ok=True)
    works = [('draw', ({**spec, 'hint': entry.get('hint')}, measured[entry['run']], folder, expected))
             for entry in catalog if measured.get(entry['run'])
             for spec in entry.get('figures', [])]
    if effects:
        rows = [row for rows in measured.values() for row in rows]
        works.append(('heat', (effects, folder, table.conditions(rows))))
    progress = run.Progress(len(works))
    drawn, failed = figures.draw_all(works, options.jobs, progress.step)
    progress.clear()
    problems += failed
    return drawn


def write_up(options, catalog, runs, effects, problems):
    """Judge, draw, write the report; the exit status. @runs: what was measured with each seed; the figures
    show the first."""
    measured = runs[0]
    expected = check.read_expected(options.hints_dir, TOLERANCE)
    if options.only or options.from_csv:
        expected = [row for row in expected if row.run in measured]
    verdicts = check.judge_all(expected, runs)
    drawn = draw(options, catalog, measured, effects, expected, problems)
    path = options.out / 'report.html'
    report.write(path, catalog, measured, drawn, verdicts,
                 {'effects': effects, 'problems': problems})
    for problem in problems:
        print(f'ablation: {problem}', file=sys.stderr)
    print(f'report: {path}')
    print_summary(verdicts)
    return 1 if problems else 0


def print_summary(verdicts):
    """Print what has to be corrected, and last the result."""
    for fault in check.faults(verdicts):
        print(f'wrong: {fault}')
    print(check.summary(verdicts))


def everything(options, runner, catalog):
    names = run_names(catalog)
    unknown = set(options.only) - set(names) - {SENSITIVITY}
    if unknown:
        print(f'ablation: no run is called {", ".join(sorted(unknown))}; there are: '
              f'{", ".join(names + [SENSITIVITY])}', file=sys.stderr)
        return 2
    chosen = [name for name in names if not options.only or name in options.only]
    expected = check.read_expected(options.hints_dir, TOLERANCE)  # an error is reported before the work
    folder = options.out / 'csv'
    jobs = experiment_jobs(options, chosen, folder)
    judged = [name for name in chosen if check.labels_of(expected, name)]
    others = [(seed, folder / SEEDS_FOLDER / str(i)) for i, seed in enumerate(seeds(options)) if i]
    for seed, place in others:
        jobs += judged_jobs(options, expected, judged, place, seed)
    of_runs = [job.name for job in jobs]
    variations = None
    if options.url.startswith('sim:') and (not options.only or SENSITIVITY in options.only):
        variations = Variations(options)
        jobs += [variations.base] + variations.jobs
    results = runner.run(jobs)
    good, problems = parted(results, of_runs)
    effects = variations.write(runner, results) if variations else None
    runs = [read_measured(folder, [name for name in chosen if name in good], problems)]
    runs += [read_measured(place, judged, problems) for _, place in others]
    return write_up(options, catalog, runs, effects, problems)


def from_csv(options, catalog):
    problems = []
    names = sorted(path.stem for path in options.from_csv.glob('*.csv') if path.stem != SENSITIVITY)
    names = [name for name in names if not options.only or name in options.only]
    measured = read_measured(options.from_csv, names, problems)
    if not measured:
        raise run.Failed(f'{options.from_csv}: no CSV file of rpm-hints' +
                         ''.join(f'\n{problem}' for problem in problems))
    beside = options.from_csv.parent / f'{SENSITIVITY}.csv'
    effects = None
    if beside.exists() and not options.only:
        effects = sensitivity.read(beside)
    runs = [measured]
    for path in sorted((options.from_csv / SEEDS_FOLDER).glob('*/')):
        runs.append(read_measured(path, names, problems))
    return write_up(options, catalog, runs, effects, problems)


def refuse_unknown_inputs(options, expected):
    """An input of a published value has to be a number of the preset."""
    if not options.url.startswith('sim:'):
        return
    known = {entry['name'] for entry in ask(options.program, 'params', '--url', options.url, '--json')}
    for row in expected:
        for name in set(row.input.split()) - known:
            raise check.BadExpected(f'{row.id}: input {name} is no number of the preset')


def checked(options, runner, catalog):
    """Measure again what published values are compared with, and draw nothing."""
    expected = check.read_expected(options.hints_dir, TOLERANCE)
    refuse_unknown_inputs(options, expected)
    names = [name for name in run_names(catalog) if check.labels_of(expected, name)]
    folder = options.out / 'check'
    jobs = [judged_jobs(options, expected, names, folder / str(i), seed)
            for i, seed in enumerate(seeds(options))]
    results = runner.run([job for part in jobs for job in part], fresh=True)
    problems = []
    runs = []
    for part in jobs:
        good, failed = parted(results, [job.name for job in part])
        problems += failed
        runs.append(read_measured(part[0].output.parent,
                                  [name.partition('.')[0] for name in good], problems))
    verdicts = check.judge_all(expected, runs)
    for problem in problems:
        print(f'ablation: {problem}', file=sys.stderr)
    for line in check.text_table(verdicts, seen_by(options)):
        print(line)
    print_summary(verdicts)
    return 1 if problems or check.faults(verdicts) else 0


def seen_by(options):
    """The heading of the values of a check."""
    if seeds(options) == [None]:
        return 'live'
    return f'modelled, seeds {seeds(options)[0]} to {seeds(options)[-1]}'


def write_readme(options, runner, catalog):
    path = options.hints_dir / 'README.md'
    effects = readme.read_effects(options.effects)
    needed = {row['run'] for row in effects}
    names = [entry['run'] for entry in catalog if entry['run'] in needed]
    folder = options.out / 'readme'
    results = runner.run(experiment_jobs(options, names, folder), fresh=True)
    good, problems = parted(results, names)
    measured = read_measured(folder, good, problems)
    if problems:
        raise run.Failed('\n'.join(problems))
    new = readme.block(catalog, measured, effects)
    if options.verify:
        readme.verify(path, new)
        print(f'{path}: the table is what a new run gives')
    else:
        print(f'{path}: {"rewritten" if readme.replace(path, new) else "unchanged"}')
    return 0


def read_catalog(options):
    """The list of runs and figures. It is kept beside the CSV files, for --from-csv on another machine."""
    if options.from_csv and (options.from_csv / 'list.json').exists():
        return sensitivity.read_json(options.from_csv / 'list.json')
    catalog = ask(options.program, 'list', '--json')
    if not options.from_csv and not options.check and not options.readme:
        (options.out / 'csv').mkdir(parents=True, exist_ok=True)
        (options.out / 'csv' / 'list.json').write_text(json.dumps(catalog, indent=1) + '\n')
    return catalog


def work(options):
    with run.locked(options.out) as lock:
        catalog = read_catalog(options)
        if options.from_csv:
            return from_csv(options, catalog)
        runner = run.Runner(run.program_hash(options.program, options.url), options.jobs, lock,
                            options.out / 'log')
        if options.check:
            return checked(options, runner, catalog)
        if options.readme:
            return write_readme(options, runner, catalog)
        return everything(options, runner, catalog)


def main():
    options = parse_arguments()
    options.out = (options.out or TOP / 'build/ablation').resolve()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return work(options)
    except KeyboardInterrupt:
        print('ablation: interrupted; what is finished is kept, the next call goes on',
              file=sys.stderr)
        return INTERRUPTED
    except (run.Failed, check.BadExpected, readme.BadReadme, table.BadTable) as error:
        print(f'ablation: {error}', file=sys.stderr)
        return 1
    except OSError as error:
        print(f'ablation: {error.filename or "output"}: {error.strerror}', file=sys.stderr)
        return 1


if __name__ == '__main__':
    sys.exit(main())
