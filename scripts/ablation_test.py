#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ablation_test.py: test how scripts/ablation.py judges, resumes and reports, and how scripts/dtx.py judges
and draws, with small programs that measure nothing instead of rpm-hints, dtx-bench and dtx-model.

    scripts/ablation_test.py
"""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import figstyle
from ablate import check, figures, readme, run, sensitivity, table

HERE = Path(__file__).resolve().parent
DEADLINE_S = 60
POPEN = subprocess.Popen
# Prints what rpm-hints would. It records each start in CALLS; SLOW makes a run slow, row by row.
PROGRAM = '''#!/usr/bin/env python3
import csv, json, os, sys, time
sys.path.insert(0, {here!r})
from ablate import table

words = sys.argv[1:]


def option(name):
    return words[words.index(name) + 1] if name in words else ''


def entry(name, hint):
    figure = dict(id=name + '_rate', title='Rate', kind='line', x='bytes', y='mops',
                  series='series', where={{}}, xlabel='payload, bytes', ylabel='M/s', xlog=True)
    return dict(run=name, hint=hint, file=name + '.cc', title='Hint ' + name, question='Q',
                expect='E', why='W', figures=[figure])


with open(os.environ['CALLS'], 'a') as calls:
    calls.write(f'{{words[0]}} {{os.getpid()}}\\n')
if words[0] == 'list':
    print(json.dumps([entry('h1', 'H1'), entry('h2', 'H2'), entry('ablate', '')]))
elif words[0] == 'params':
    print(json.dumps([dict(name='media_write', value='100', unit='ns', source='s', what='w'),
                      dict(name='interleave', value='4096', unit='B', source='s', what='w')]))
elif words[0] == 'headline':
    name, _, value = option('--set').partition('=')
    value = float(value.split()[0]) if value else 0
    if name == 'interleave' and value not in (2048, 8192):
        sys.exit('interleave: not a power of two')
    print(json.dumps(dict(origin='model', modelled=dict(
        small=100 / value if name == 'media_write' else 1, chained=3))))
else:
    if words[0] == os.environ.get('BROKEN'):
        sys.exit('out of memory')
    with open(option('--csv'), 'w', newline='') as file:
        out = csv.DictWriter(file, table.COLUMNS, lineterminator='\\n')
        out.writeheader()
        for i, size in enumerate((64, 256, 1024)):
            row = dict.fromkeys(table.COLUMNS, '')
            row.update(run=words[0], label=f'{{words[0]}}/{{size}}', series='all', bytes=size,
                       preset='hints', url=option('--url'), origin='model', seed=1, mops=10 * 2**i)
            out.writerow(row)
            file.flush()
            time.sleep(float(os.environ.get('SLOW') or 0) if words[0] == 'h2' else 0)
'''
# Prints a row for each label that it is given; the rate is that of RATES in the environment, by seed.
MODEL = '''#!/usr/bin/env python3
import csv, os, sys
sys.path.insert(0, {here!r})
import dtx

words = sys.argv[1:]
rate = os.environ['RATES'].split()[int(words[words.index('--seed') + 1]) % 5]
with open(words[words.index('--csv') + 1], 'w', newline='') as file:
    out = csv.DictWriter(file, ('label', *dtx.METRICS))
    out.writeheader()
    for label in words[words.index('--labels') + 1].split(','):
        out.writerow(dict(dict.fromkeys(dtx.METRICS, rate), label=label))
'''
DRAWS = ('import importlib.util as u, sys; '
         f'sys.exit(not all(u.find_spec(name) for name in {figstyle.NEEDED}))')
EXPECTED = ','.join(check.COLUMNS) + '\n'
OUTSIDE = ','.join(check.KNOWN_COLUMNS) + '\n'
TOLERANCE = 0.05
GOOD = 'twice,twice as fast,h1,mops,h1/256,h1/64,2,1.9,2.1,by hand,,Author 2020\n'
INPUT = 'limit,the limit,h1,mops,h1/64,,10,,,,media_write,Author 2020\n'
EFFECTS = 'hint,what,run,metric,of,over\nH1,256 B against 64 B,h1,mops,h1/256,h1/64\n'


def row(label='a', **more):
    fields = dict.fromkeys(table.COLUMNS, '')
    fields.update(label=label, origin='model', run='h1', mops='2')
    fields.update(more)
    return fields


def csv_text(rows):
    out = io.StringIO()
    writer = csv.DictWriter(out, table.COLUMNS, lineterminator='\n')
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


class Base(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.top = Path(self.scratch.name)

    def file(self, name, text):
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


class RunnerTest(Base):
    def test_an_interrupt_while_a_child_starts_leaves_no_child_behind(self):
        started = []

        def interrupted(*arguments, **options):
            started.append(POPEN(*arguments, **options))
            os.kill(os.getpid(), signal.SIGINT)
            return started[0]

        job = run.Job('h1', ['sleep', str(DEADLINE_S)], self.top / 'h1.csv')
        with run.locked(self.top) as lock, mock.patch.object(subprocess, 'Popen', interrupted):
            runner = run.Runner('', 1, lock, self.top)
            with self.assertRaises(KeyboardInterrupt):
                runner.run([job], quiet=True)
        self.assertEqual(started[0].poll(), -signal.SIGINT)


class TableTest(Base):
    def test_reads_numbers_and_what_is_not_there(self):
        rows = table.read(self.file('a.csv', csv_text([row(), row('b', mops='', note='no NVM')])))
        self.assertEqual([line['mops'] for line in rows], [2.0, None])

    def test_refuses(self):
        whole = csv_text([row(), row('b')])
        cases = (whole[:-1], whole.replace('mops', 'mop'), csv_text([row(), row()]),
                 csv_text([row(mops='fast')]), csv_text([row(origin='guess')]),
                 csv_text([row(label='')]), whole.replace(',2,', ',', 1), '')
        for text in cases:
            with self.assertRaises(table.BadTable, msg=text[-80:]):
                table.read(self.file('bad.csv', text))
        with self.assertRaises(table.BadTable):
            table.read(self.top / 'nowhere.csv')

    def test_conditions_say_modelled(self):
        self.assertEqual(table.conditions([row(preset='hints', seed='1')]),
                         'modelled, preset hints, seed 1')
        self.assertEqual(table.conditions([row(origin='live', url='verbs://a', seed='0')]),
                         'live, verbs://a')


class CheckTest(Base):
    def expected(self):
        return check.read_expected(self.top, TOLERANCE)

    def judge(self, line, *runs):
        """The verdict over one line of an expected file, for the points of run h1 by seed."""
        self.file('expected/a.csv', EXPECTED + line)
        tables = [table.read(self.file('h1.csv', csv_text(rows))) for rows in runs]
        return check.judge_all(self.expected(), [{'h1': rows} for rows in tables])[0]

    def test_inside_and_outside(self):
        for value, word, reason in (('2', 'inside', ''), ('1.9', 'inside', ''),
                                    ('1.89', 'outside', 'below'), ('2.11', 'outside', 'above')):
            for line in ('i,w,h1,mops,a,,2,,,,,s\n', 'i,w,h1,mops,a,,2,1.9,2.1,why,,s\n'):
                verdict = self.judge(line, [row(mops=value)])
                self.assertEqual((verdict.word, verdict.reason), (word, reason), value)

    def test_inside_only_if_it_is_with_every_seed(self):
        line = 'i,w,h1,mops,a,,2,,,,,s\n'
        verdict = self.judge(line, [row(mops='2')], [row(mops='2.05')])
        self.assertEqual((verdict.word, verdict.shown), ('inside', '2 .. 2.05'))
        verdict = self.judge(line, [row(mops='2')], [row(mops='2.2')], [row(mops='1.8')])
        self.assertEqual((verdict.word, verdict.reason), ('outside', 'above; below'))
        verdict = self.judge(line, [row(mops='2')], [row('b')])
        self.assertEqual((verdict.word, verdict.reason), ('outside', 'no point a'))

    def test_ratio(self):
        rows = [row(mops='6'), row('b', mops='3')]
        self.assertEqual(self.judge('i,w,h1,mops,a,b,2,,,,,s\n', rows).values, (2,))

    def test_what_cannot_be_evaluated_is_outside(self):
        line = 'i,w,h1,mops,a,b,2,,,,,s\n'
        for rows in ([row()], [row('b')], [row(mops='nan'), row('b')], [row(), row('b', mops='0')],
                     [row(mops=''), row('b')], [row(mops='inf'), row('b')]):
            verdict = self.judge(line, rows)
            self.assertEqual((verdict.word, verdict.values), ('outside', (None,)))
            self.assertTrue(verdict.reason)
        verdict = self.judge(line.replace(',h1,', ',h2,'), [row(), row('b')])
        self.assertIn('no result', verdict.reason)
        self.assertEqual(check.summary([verdict]), 'rows 1 inside 0 outside 1 inputs 0')

    def test_what_is_listed_as_missed_has_to_be_missed(self):
        self.file('expected/a.csv', EXPECTED + GOOD)
        remote = 'remote,w,h1,mops,h1/64,,9,,,,,s,all,no queue there\n'
        self.file('outside.csv', OUTSIDE + remote + 'local,w,h1,mops,h1/64,,3,,,,,s,all,no cache there\n')
        runs = [{'h1': [row('h1/64', mops=value), row('h1/256', mops=2 * value)]}
                for value in (3.0, 2.9)]
        verdicts = check.judge_all(self.expected(), runs)
        self.assertEqual(check.summary(verdicts), 'rows 3 inside 2 outside 1 inputs 0')
        self.assertEqual(check.faults(verdicts),
                         ['local is inside, and outside.csv still lists it as missed'])
        runs.append({'h1': [row('h1/64', mops=2.0), row('h1/256', mops=4.0)]})
        self.assertEqual(check.faults(check.judge_all(self.expected(), runs)), [])
        for wrong in (remote.replace('no queue there', ''), remote.replace('all', 'few')):
            self.file('outside.csv', OUTSIDE + wrong)
            with self.assertRaises(check.BadExpected):
                self.expected()

    def test_what_is_missed_with_some_seeds_may_be_inside_with_others(self):
        self.file('expected/a.csv', EXPECTED + GOOD)
        self.file('outside.csv', OUTSIDE + 'local,w,h1,mops,h1/64,,3,,,,,s,some,near the end\n')
        for value in ('3', '4'):
            runs = [{'h1': [row('h1/64', mops=float(value)), row('h1/256', mops=2 * float(value))]}]
            self.assertEqual(check.faults(check.judge_all(self.expected(), runs)), [])

    def test_inputs_are_counted_apart_and_have_to_come_back(self):
        self.file('expected/a.csv', EXPECTED + GOOD + INPUT)
        rows = [row('h1/64', mops=10.0), row('h1/256', mops=20.0)]
        verdicts = check.judge_all(self.expected(), [{'h1': rows}])
        self.assertEqual(check.summary(verdicts), 'rows 1 inside 1 outside 0 inputs 1')
        self.assertEqual(check.faults(verdicts), [])
        rows = [row('h1/64', mops=8.0), row('h1/256', mops=16.0)]
        verdicts = check.judge_all(self.expected(), [{'h1': rows}])
        self.assertEqual(check.summary(verdicts), 'rows 1 inside 1 outside 0 inputs 1')
        self.assertEqual(check.faults(verdicts), [
            'limit is outside (below), made of media_write: 8, published 10'])

    def test_refuses_published_values_that_say_nothing(self):
        cases = ('i,w,h1,mops,a,,2,2.1,2.2,b,,s', 'i,w,h1,mops,a,,2,1,1.5,b,,s', 'i,w,h1,mops,a,,2,,,,,',
                 'i,w,h1,mops,a,,two,,,,,s', 'i,w,h1,mops,a,,nan,,,,,s', 'i,w,h1,speed,a,,2,,,,,s',
                 'i,w,h1,mops,,,2,,,,,s', 'i,w,h1,mops,a,,2,,,,s', 'i,w,h1,mops,a,,2,1,3,,,s',
                 'i,w,h1,mops,a,,2,,,b,,s', 'i,w,h1,mops,a,,2,1,,b,,s', 'i,w,h1,mops,a,,2,x,3,b,,s',
                 GOOD + GOOD.strip(), '')
        for line in cases:
            self.file('expected/a.csv', EXPECTED + line + ('\n' if line else ''))
            with self.assertRaises(check.BadExpected, msg=line):
                self.expected()
        self.file('expected/a.csv', GOOD)
        with self.assertRaises(check.BadExpected):
            self.expected()
        self.file('expected/a.csv', EXPECTED + GOOD)
        self.file('outside.csv', OUTSIDE + INPUT.replace('\n', ',all,why\n'))
        with self.assertRaisesRegex(check.BadExpected, 'cannot be known to miss it'):
            self.expected()

    def test_refuses_a_file_that_lost_its_rows_beside_a_good_one(self):
        self.file('expected/a.csv', EXPECTED + GOOD)
        self.assertEqual(len(self.expected()), 1)
        self.file('expected/b.csv', EXPECTED)
        with self.assertRaisesRegex(check.BadExpected, 'b.csv: no published values'):
            self.expected()


class SensitivityTest(Base):
    def varied(self, value, unit):
        return [f'{change.varied:f}' for change in
                sensitivity.changes_of({'name': 'p', 'value': value, 'unit': unit})]

    def test_twenty_percent_or_whole_steps(self):
        self.assertEqual(self.varied('38.4', 'ns'), ['30.72', '46.08'])
        self.assertEqual(self.varied('2', 'ways'), ['1', '3'])
        self.assertEqual(self.varied('1', 'dimms'), ['0', '2'])
        self.assertEqual(self.varied('13.75 MiB', ''), ['11', '16.5'])
        self.assertEqual(self.varied('64', 'lines'), ['51', '77'])
        self.assertEqual(self.varied('adr', ''), [])
        self.assertEqual(self.varied('0', 'ns'), [])

    def test_steps_for_what_is_refused(self):
        less, more = sensitivity.changes_of({'name': 'p', 'value': '4', 'unit': 'ns'})
        self.assertEqual([f'{change.varied:f} {note}' for change, note in sensitivity.in_steps(less)],
                         ['3 only in whole steps', '2 only powers of two'])
        self.assertEqual([f'{change.varied:f}' for change, _ in sensitivity.in_steps(more)],
                         ['5', '8'])
        self.assertEqual(sensitivity.refusal('exit status 1: x: RPM_E_INVAL: preset given by the '
                                             'caller:1: p: 3 ns is out of range'),
                         'p: 3 ns is out of range')

    def test_strongest_first_and_still_ones_apart(self):
        rows = []
        for name, after in (('weak', 1.01), ('strong', 0.8), ('still', 1.0)):
            change = sensitivity.changes_of({'name': name, 'value': '10', 'unit': 'ns'})[1]
            rows += sensitivity.effects({'rate': 1.0}, change, {'rate': after})
        sensitivity.write(self.top / 's.csv', rows)
        rows = sensitivity.read(self.top / 's.csv')
        self.assertEqual(sensitivity.moving(rows), (['strong', 'weak'], ['still']))
        self.assertEqual([entry[0] for entry in sensitivity.rests_on(rows)['rate']],
                         ['strong', 'weak'])
        seed = sensitivity.seeds_beside(1)[1]
        sensitivity.write(self.top / 's.csv', list(sensitivity.effects(
            {'rate': 1.0}, seed, {'rate': 0.95})))
        rows += sensitivity.read(self.top / 's.csv')
        self.assertEqual(sensitivity.chance(rows), {'rate': 5})
        self.assertEqual([entry[0] for entry in sensitivity.rests_on(rows)['rate']], ['strong'])


class FigureTest(unittest.TestCase):
    def test_a_point_that_cannot_be_shown_is_told_not_drawn(self):
        spec = {'y': 'mops', 'where': {'op': 'write'}}
        there, notes = figures.points_of(spec, [
            row(op='write', mops=2.0), row('b', op='write', mops=None, note='one node only'),
            row('c', op='read', mops=1.0)])
        self.assertEqual([line['label'] for line in there], ['a'])
        self.assertEqual(notes, ['Not drawn, 1 of 2 points: one node only'])

    def test_a_figure_shows_the_points_whose_labels_begin_so(self):
        there, _ = figures.points_of({'y': 'mops', 'labels': 'h1/local/'}, [
            row('h1/local/64', mops=2.0), row('h1/remote/64', mops=1.0)])
        self.assertEqual([line['label'] for line in there], ['h1/local/64'])

    def test_what_is_published_stands_at_the_point_that_it_is_about(self):
        frame = {'label': ['a', 'b'], 'x': [64.0, 128.0], 'series': ['local', 'remote']}
        rows = [check.Expected(name, 'w', 'h1', metric, of, over, 2.0, 1.0, 3.0, '', '', 's')
                for name, metric, of, over in (('here', 'mops', 'b', ''), ('ratio', 'mops', 'a', 'b'),
                                               ('other', 'gbs', 'a', ''), ('away', 'mops', 'c', ''))]
        self.assertEqual(figures.published_points({'y': 'mops'}, frame, rows), [(128.0, 2.0, 'remote')])

    def test_a_log_scale_and_the_hint_are_named(self):
        self.assertEqual([figstyle.scaled('bytes', log) for log in (True, False)],
                         ['bytes (log scale)', 'bytes'])
        self.assertEqual(figures.headed({'hint': 'H3', 'title': 'Writes'}), 'H3: Writes')

    def test_sizes_as_people_write_them(self):
        self.assertEqual([figures.bytes_text(n) for n in (64, 1024, 1536, 1 << 20, 1000)],
                         ['64', '1K', '1.5K', '1M', '1000'])


class ReadmeTest(unittest.TestCase):
    def test_an_effect_of_points_without_a_number_is_refused(self):
        points = {'h1': {'a': {'mops': 3.0}, 'b': {'mops': 2.0}, 'none': {'mops': None},
                         'zero': {'mops': 0.0}}}
        words = {'hint': 'H1', 'what': 'w', 'run': 'h1', 'metric': 'mops', 'of': 'a'}
        self.assertEqual(readme.effect({**words, 'over': 'b'}, points), 'w: 1.50 times')
        for over in ('none', 'zero', 'nowhere'):
            with self.assertRaises(readme.BadReadme, msg=over):
                readme.effect({**words, 'over': over}, points)


class CommandTest(Base):
    """The whole command, on a program that measures nothing."""

    def setUp(self):
        super().setUp()
        self.program = self.file('bin/rpm-hints', PROGRAM.format(here=str(HERE)))
        self.program.chmod(0o755)
        self.file('hints/expected/a.csv', EXPECTED + GOOD)
        self.effects = self.file('effects.csv', EFFECTS)
        self.out = self.top / 'out'
        self.calls = self.file('calls', '')

    def command(self, *words, python=sys.executable):
        return [python, str(HERE / 'ablation.py'), '--program', str(self.program),
                '--hints-dir', str(self.top / 'hints'), '--out', str(self.out), '--effects',
                str(self.effects), *words]

    def environment(self, **more):
        return {**os.environ, 'CALLS': str(self.calls), **more}

    def ablation(self, *words, **environment):
        self.calls.write_text('')
        return subprocess.run(self.command(*words), env=self.environment(**environment), text=True,
                              capture_output=True, check=False, timeout=DEADLINE_S)

    def measured(self):
        """Runs that were started by the last call, without questions and headlines."""
        names = [line.split()[0] for line in self.calls.read_text().splitlines()]
        return sorted(set(names) - {'list', 'params', 'headline'})

    def urls(self):
        """The URLs of the runs of the last check."""
        return {line['url'] for path in (self.out / 'check').glob('*/h1.csv')
                for line in table.read(path)}

    def test_check_holds_only_if_all_is_inside(self):
        done = self.ablation('--check')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[-1], 'rows 1 inside 1 outside 0 inputs 0')
        self.assertEqual(self.urls(), {f'sim:preset=hints,seed={seed}' for seed in range(1, 6)})
        self.assertEqual(self.ablation('--check', '--seed', '10').returncode, 0)
        self.assertEqual(self.urls(), {f'sim:preset=hints,seed={seed}' for seed in range(10, 15)})
        for line in (GOOD.replace('2,1.9,2.1', '3,2.9,3.1'), GOOD.replace('h1/256', 'h1/257'),
                     GOOD.replace(',h1,', ',h9,')):
            self.file('hints/expected/a.csv', EXPECTED + GOOD.replace('twice,', 'fine,') + line)
            done = self.ablation('--check')
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertEqual(done.stdout.splitlines()[-1], 'rows 2 inside 1 outside 1 inputs 0')
        self.file('hints/expected/a.csv', EXPECTED + GOOD.replace('Author 2020', ''))
        done = self.ablation('--check')
        self.assertEqual(done.returncode, 1)
        self.assertIn('a.csv:2: source is empty', done.stderr)
        self.file('hints/expected/a.csv', EXPECTED + GOOD + INPUT.replace('media_write', 'wings'))
        self.assertIn('limit: input wings is no number', self.ablation('--check').stderr)
        self.file('hints/expected/a.csv', EXPECTED + GOOD)
        self.file('hints/outside.csv', OUTSIDE + GOOD.replace('twice', 'again').replace('\n', ',all,why\n'))
        done = self.ablation('--check')
        self.assertEqual(done.returncode, 1)
        self.assertIn('again is inside, and outside.csv still lists it', done.stdout)

    def test_check_fails_if_a_run_fails(self):
        done = self.ablation('--check', BROKEN='h1')
        self.assertEqual(done.returncode, 1)
        self.assertIn('out of memory', done.stderr)
        self.assertEqual(done.stdout.splitlines()[-1], 'rows 1 inside 0 outside 1 inputs 0')

    def test_a_finished_result_is_kept_while_it_is_the_same(self):
        everything = ['ablate', 'h1', 'h2', 'points']
        self.assertEqual(self.ablation('--no-figures').returncode, 0)
        self.assertEqual(self.measured(), everything)
        self.ablation('--no-figures')
        self.assertEqual(self.measured(), [])
        with open(self.out / 'csv/h1.csv', 'a', encoding='utf-8') as file:
            file.write('x\n')
        (self.out / 'csv/h2.csv.done').unlink()
        self.ablation('--no-figures')
        self.assertEqual(self.measured(), ['h1', 'h2'])
        self.ablation('--no-figures', '--seed', '2')
        self.assertEqual(self.measured(), everything)
        self.program.write_text(self.program.read_text() + '# changed\n')
        self.ablation('--no-figures', '--seed', '2')
        self.assertEqual(self.measured(), everything)

    def test_an_interrupted_call_ends_its_children_and_is_continued(self):
        process = subprocess.Popen(self.command('--no-figures', '--jobs', '2', '--only', 'h1', 'h2'),
                                   env=self.environment(SLOW='30'), stderr=subprocess.PIPE,
                                   text=True)
        deadline = time.monotonic() + DEADLINE_S
        partial = self.out / 'csv/h2.csv'
        while not (self.out / 'csv/h1.csv.done').exists() or not partial.exists() \
                or partial.read_text().count('\n') < 2:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, 130, said)
        self.assertIn('interrupted', said)
        self.assertNotIn('Traceback', said)
        for line in self.calls.read_text().splitlines():
            with self.assertRaises(ProcessLookupError):
                os.kill(int(line.split()[1]), 0)
        self.assertEqual(len(table.read(partial)), 1)
        self.assertFalse((self.out / 'csv/h2.csv.done').exists())
        self.assertEqual(self.ablation('--no-figures', '--only', 'h1', 'h2').returncode, 0)
        starts = [line.split()[0] for line in self.calls.read_text().splitlines()]
        self.assertEqual((starts.count('h1'), starts.count('h2')), (check.SEEDS - 1, 1))
        self.assertEqual(len(table.read(partial)), 3)

    def test_one_call_at_a_time(self):
        with run.locked(self.out):
            done = self.ablation('--no-figures')
        self.assertEqual(done.returncode, 1)
        self.assertIn('another call is at work', done.stderr)

    def test_without_the_drawing_libraries_the_rest_is_done(self):
        for name in figstyle.NEEDED:
            self.file(f'blocked/{name}.py', 'raise ImportError("blocked")\n')
        done = self.ablation(PYTHONPATH=str(self.top / 'blocked'))
        self.assertEqual(done.returncode, 1)
        self.assertIn('python3-seaborn', done.stderr)
        self.assertNotIn('Traceback', done.stderr)
        self.assertEqual(len(table.read(self.out / 'csv/h1.csv')), 3)
        report = (self.out / 'report.html').read_text()
        self.assertIn('python3-seaborn', report)
        self.assertNotIn('<img', report)

    def test_sensitivity_halves_what_must_be_a_power_of_two(self):
        self.assertEqual(self.ablation('--no-figures').returncode, 0)
        rows = {(line['parameter'], line['varied'], line['result']): line
                for line in sensitivity.read(self.out / 'sensitivity.csv')}
        self.assertEqual(rows['media_write', '80', 'small']['effect'], 25)
        self.assertEqual(rows['media_write', '80', 'chained']['effect'], 0)
        self.assertEqual(rows['interleave', '2048', 'small']['note'], 'only powers of two')

    def test_report_says_modelled_and_needs_nothing_else(self):
        done = self.ablation('--no-figures')
        self.assertEqual(done.stdout.splitlines()[-1], 'rows 1 inside 1 outside 0 inputs 0')
        report = (self.out / 'report.html').read_text()
        self.assertIn('Modelled, preset hints, seed 1', report)
        self.assertIn('a performance model', report)
        self.assertIn('<h1>The nine hints, modelled</h1>', report)
        self.assertNotIn('measured', report)
        self.assertLess(report.index('It is good for'), report.index('<nav>'))
        for word in ('http:', 'https:', '<script', '<link', 'url('):
            self.assertNotIn(word, report)
        again = self.ablation('--no-figures', '--from-csv', str(self.out / 'csv'))
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(self.calls.read_text(), '')
        self.assertEqual((self.out / 'report.html').read_text(), report)

    def test_figures(self):
        able = [python for python in (sys.executable, '/usr/bin/python3') if subprocess.run(
            [python, '-c', DRAWS], stderr=subprocess.DEVNULL, check=False).returncode == 0]
        if not able:
            self.skipTest('no Python here can draw')
        done = subprocess.run(self.command(python=able[0]), env=self.environment(), text=True,
                              capture_output=True, check=False, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ('h1_rate.png', 'h2_rate.pdf', 'ablate_rate.png', 'sensitivity.png'):
            self.assertTrue((self.out / 'figures' / name).stat().st_size > 1000, name)
        self.assertEqual((self.out / 'report.html').read_text().count('data:image/png'), 4)

    def test_readme_table_is_written_and_verified(self):
        path = self.file('hints/README.md', 'before\n')
        done = self.ablation('--readme')
        self.assertIn(readme.BEGIN, done.stderr)
        path.write_text(f'before\n{readme.BEGIN}\n{readme.END}\nafter\n')
        self.assertEqual(self.ablation('--readme', '--verify').returncode, 1)
        self.assertEqual(self.ablation('--readme').returncode, 0)
        text = path.read_text()
        self.assertIn('256 B against 64 B: 2.00 times', text)
        self.assertTrue(text.startswith('before\n') and text.endswith('after\n'))
        self.assertEqual(self.ablation('--readme', '--verify').returncode, 0)
        path.write_text(text.replace('2.00 times', '3.00 times'))
        done = self.ablation('--readme', '--verify')
        self.assertEqual(done.returncode, 1)
        self.assertIn('-| [H1]', done.stderr)
        self.effects.write_text(EFFECTS.replace('h1/64', 'h1/65'))
        self.assertIn('h1/65', self.ablation('--readme').stderr)

    def test_usage(self):
        for words in (('--verify',), ('--check', '--readme'), ('--jobs', '0'), ('--nothing',),
                      ('--only', 'h7'), ('--seed', '1', '--url', 'verbs://a')):
            self.assertEqual(self.ablation(*words).returncode, 2, words)
        self.assertEqual(self.ablation('--program', str(self.top / 'none')).returncode, 1)


class DtxTest(Base):
    def check(self, rates, *words):
        for name, text in (('dtx-bench', '#!/bin/sh\n'), ('dtx-model', MODEL.format(here=str(HERE)))):
            self.file(f'bin/{name}', text).chmod(0o755)
        return subprocess.run(
            [sys.executable, str(HERE / 'dtx.py'), '--check', '--bin', str(self.top / 'bin'), '--out',
             str(self.top / 'out'), '--expected-dir', str(self.top), *words], text=True,
            env={**os.environ, 'RATES': rates}, capture_output=True, check=False, timeout=DEADLINE_S)

    def test_holds_only_if_what_is_missed_is_listed(self):
        row_text = 'most,w,threads,attempted_mtxns,a,,10,,,,,s\n'
        self.file('expected/a.csv', EXPECTED + row_text)
        done = self.check('10 10 11.9 8.1 10')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertEqual(done.stdout.splitlines()[-1], 'rows 1 inside 1 outside 0 inputs 0')
        done = self.check('10 10 12.1 8.1 10', '--seed', '10')
        self.assertEqual(done.returncode, 1)
        self.assertIn('seeds 10 to 14', done.stdout)
        self.assertIn('wrong: most is outside (above), not listed in outside.csv', done.stdout)
        self.file('outside.csv', OUTSIDE + row_text.replace('most', 'least').replace('\n', ',all,why\n'))
        done = self.check('10 10 11.9 8.1 10')
        self.assertEqual(done.returncode, 1)
        self.assertIn('wrong: least is inside, and outside.csv still lists it', done.stdout)
        self.assertEqual(self.check('10', '--seed', '-1').returncode, 2)


if __name__ == '__main__':
    unittest.main(verbosity=1)
