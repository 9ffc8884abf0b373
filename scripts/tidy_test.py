#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tidy_test.py: test that every check of tidy.py fires. A small tree that follows all rules is changed to
break one rule at a time; the check of that rule must fire, and no other. The floors of measure.py are
tested by functions just at a floor and just below it.

    scripts/tidy_test.py
"""

import contextlib
import io
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

import commits
import measure
import tidy

SPDX = '/* SPDX-License-Identifier: BSD-3-Clause */\n'
CONTRACT = '''/**
 * rpm_box_put: put bytes into a box.
 *
 * @box   Borrowed.
 * @size  bytes.
 *
 * Errors:   RPM_E_FULL.
 * Threads:  one per box.
 */
RPM_MUST_CHECK int rpm_box_put(struct rpm_box *box, unsigned size);
'''
FS_CONTRACT = '''/**
 * rfs_rename: give a sack another name.
 *
 * @sack  Borrowed.
 * @ends  Borrowed.
 *
 * Durable:  on 0 the name.
 * Errors:   -ENOENT, RPM_E_FULL, those of sack.h.
 * Threads:  one per sack.
 * Cost:     a round trip.
 */
RFS_MUST_CHECK int rfs_rename(struct rfs_sack *sack, const int ends[2]);
'''
GOOD = {
    'CMakeLists.txt': '# SPDX-License-Identifier: BSD-3-Clause\nproject(x)\n',
    'lib/CMakeLists.txt': '# SPDX-License-Identifier: BSD-3-Clause\nrpm_sources(base/box.c base/lid.c log/put.c)\n',
    'lib/librpm.map': SPDX + 'X {\n    global:\n        rpm_box_put;\n    local:\n        *;\n};\n',
    'lib/include/librpm.h': SPDX + '/*\n * librpm.h: all.\n */\n#include <librpm/box.h>\n'
                            '#include <librpm/error.h>\n',
    'lib/include/librpm/error.h': SPDX + '/*\n * error.h: codes.\n */\nenum e { RPM_E_FULL = -1 };\n',
    'lib/include/librpm/box.h': SPDX + '/*\n * box.h: boxes.\n */\n#include <librpm/error.h>\nstruct rpm_box;\n\n' + CONTRACT,
    'fs/librpmfs.map': SPDX + 'X {\n    global:\n        rfs_rename;\n    local:\n        *;\n};\n',
    'fs/include/librpmfs.h': SPDX + '/*\n * librpmfs.h: all.\n */\n#include <librpmfs/sack.h>\n',
    'fs/include/librpmfs/sack.h': SPDX + '/*\n * sack.h: sacks.\n *\n * Errors:  of each call: -EIO.\n */\n' + FS_CONTRACT,
    'lib/base/box.h': SPDX + '/*\n * box.h: inside a box.\n */\nint rpmi_box(int a);\n',
    'lib/base/box.c': SPDX + '/*\n * box.c: inside a box.\n */\n#include "base/box.h"\n\n'
                      'int rpmi_box(int a)\n{\n    return a;\n}\n',
    'lib/base/lid.c': SPDX + '/*\n * lid.c: over a box.\n */\n#include "base/box.h"\n\n'
                      'int rpmi_lid(int a)\n{\n    return rpmi_box(a);\n}\n',
    'lib/log/put.c': SPDX + '/*\n * put.c: put.\n */\n#include "log/put.h"\n#include "base/box.h"\n\n'
                     'int rpm_box_put(void)\n{\n    rpmi_begin();\n    return rpmi_box(1);\n}\n',
    'lib/log/put.h': SPDX + '/*\n * put.h: put.\n */\n',
    'dtx/CMakeLists.txt': '# SPDX-License-Identifier: BSD-3-Clause\nx(history/line.cc)\n',
    'dtx/history/line.h': SPDX,
    'dtx/history/line.cc': SPDX + '#include "line.h"\nint line()\n{\n    return 0;\n}\n',
    'tools/CMakeLists.txt': '# SPDX-License-Identifier: BSD-3-Clause\nrpm_program(t SOURCES t.cpp)\n',
    'tools/t.cpp': SPDX + '#include "t.h"\n#include <librpm.h>\n#include <librpmfs.h>\n#include <librpmfs/sack.h>\nint main()\n{\n    return 0;\n}\n',
    'tools/t.h': SPDX,
    'tests/CMakeLists.txt': '# SPDX-License-Identifier: BSD-3-Clause\n'
                            'x(unit/base/box_test.cpp unit/base/lid_test.cpp unit/log/put_test.cpp '
                            'unit/dtx/history/line_test.cpp)\n',
    'tests/unit/dtx/history/line_test.cpp': SPDX + 'TEST_CASE("line: is one")\n{\n}\n',
    'tests/unit/base/box_test.cpp': SPDX + 'TEST_CASE("box: gives back what went in")\n{\n}\n',
    'tests/unit/base/lid_test.cpp': SPDX + 'TEST_CASE("lid: closes a box")\n{\n}\n',
    'tests/unit/log/put_test.cpp': SPDX + 'TEST_CASE("put: takes one")\n{\n}\n',
    'scripts/layers.toml': '# SPDX-License-Identifier: BSD-3-Clause\n[lib]\n"lib/base" = []\n'
                           '"lib/log" = ["lib/base"]\n[dtx]\n"dtx/history" = []\n'
                           '[users]\nfolders = ["tools", "dtx"]\n'
                           '[only]\n"infiniband/" = ["lib/verbs", "tools"]\n',
    'scripts/tidy_allow.txt': '',
    'scripts/go': '#!/bin/sh\n# SPDX-License-Identifier: BSD-3-Clause\n',
}


def function(lines=3, params='void', body='    return 0;\n'):
    return f'\nint extra({params})\n{{\n' + body + '    ;\n' * (lines - 4) + '}\n'


def nested(depth):
    text = ''.join('    ' * (i + 1) + 'if (a)\n' for i in range(depth))
    return text + '    ' * (depth + 1) + 'return 0;\n'


def coroutine(*lines):
    return '\nTask<> extra()\n{\n' + ''.join(f'    {line}\n' for line in lines) + '    co_return;\n}\n'


LINE = 'dtx/history/line.cc'
LIB = 'lib/log/put.c'
BOX = 'lib/include/librpm/box.h'
SACK = 'fs/include/librpmfs/sack.h'
WORD = 'TO' 'DO'

# (check, file, what is appended, or (old, new)). The check must fire, and none but it.
BREACHES = [
    ('TAGS', LIB, 'struct shape {\n    int a;\n};\nstatic const struct shape {\n    int b;\n} x;\n'),
    ('F2', LIB, '/* ' + 'word ' * 20 + '*/\n'),
    ('F3', LIB, function(lines=71)),
    ('F3', LIB, function(params='int a, int b, int c, int d, int e, int f, int g')),
    ('F3', LIB, function(params='int a', body=nested(5))),
    ('F3', LIB, '\n' * 601),
    ('F3', 'tests/long.py', '# SPDX-License-Identifier: BSD-3-Clause\n# go\ndef f():\n'
     + '    pass\n' * 71),
    ('H1', BOX, '\n' * 250),
    ('H1', 'lib/include/librpm.h', ('#include <librpm/error.h>\n', '')),
    ('H2', BOX, ('/**\n * rpm_box_put: put bytes into a box.', '/*\n * Put')),
    ('H2', BOX, (' * @size  bytes.\n', '')),
    ('H2', BOX, ('@box   Borrowed', '@box   a box')),
    ('H2', BOX, (' * Threads:  one per box.\n', '')),
    ('H2', BOX, (' * Errors:   RPM_E_FULL.\n', '')),
    ('H2', BOX, ('RPM_E_FULL', 'RPM_E_EMPTY')),
    ('H2', BOX, ('RPM_MUST_CHECK ', '')),
    ('H2', BOX, ('one per box', 'sometimes')),
    ('H2', BOX, (' * Threads:', ' * Cost:     none.\n * Threads:')),
    ('H1', SACK, '\n' * 250),
    ('H1', 'fs/include/librpmfs.h', ('#include <librpmfs/sack.h>', '#include <stdio.h>')),
    ('H2', BOX, ('RPM_E_FULL', '-EFULL')),
    ('H2', SACK, ('/**\n * rfs_rename: give', '/*\n * Give')),
    ('H2', SACK, (' * @ends  Borrowed', ' * @ends  of it')),
    ('H2', SACK, (' * Durable:  on 0 the name.\n', '')),
    ('H2', SACK, (' * Errors:   -ENOENT, RPM_E_FULL, those of sack.h.\n', '')),
    ('H2', SACK, (' * Cost:     a round trip.\n', '')),
    ('H2', SACK, ('RFS_MUST_CHECK ', '')),
    ('H2', SACK, ('-ENOENT', '-ENOSACK')),
    ('H2', SACK, ('RPM_E_FULL', 'RPM_E_EMPTY')),
    ('H2', SACK, ('those of sack.h', 'those of bag.h')),
    ('H2', SACK, ('-EIO', '-EOI')),
    ('N1', 'fs/librpmfs.map', ('        rfs_rename;\n', '')),
    ('N1', 'fs/librpmfs.map', ('rfs_rename;\n', 'rfs_rename;\n        rfs_gone;\n')),
    ('N1', 'lib/librpm.map', ('        rpm_box_put;\n', '')),
    ('N1', 'lib/librpm.map', ('rpm_box_put;\n', 'rpm_box_put;\n        rpm_gone;\n')),
    ('N1', 'lib/librpm.map', ('rpm_box_put;\n', 'rpm_box_put;\n        rpm_*;\n')),
    ('N1', 'lib/librpm.map', ('X {\n', 'X_PRIVATE_1 {\n')),
    ('N1', 'lib/librpm-sim.map', SPDX + 'Y {\n    global:\n        rpm_gone;\n    local:\n        *;\n};\n'),
    ('E2', LIB, ('    rpmi_begin();\n', '')),
    ('N2', LIB, 'typedef struct x y;\n'),
    ('N2', LIB, 'int rpmi_size_t;\n'),
    ('X1', 'tests/unit/log/put_test.cpp', None),
    ('X1', 'tests/unit/dtx/history/line_test.cpp', None),
    ('NAMES', LINE, '/* Tests: tests/unit/gone_test.cpp */\n'),
    ('NAMES', LIB, ('put.c: put.', 'put.c: put. Tests: tests/unit/log/gone_test.cpp')),
    ('X1', 'tests/unit/log/put_test.cpp', ('put: takes one', 'PutTakesOne')),
    ('AWAIT', LINE, coroutine('if (co_await f())', '    a();')),
    ('AWAIT', LINE, coroutine('if (a && !co_await f(b))', '    a();')),
    ('AWAIT', LINE, coroutine('for (int i = 0; i < f(1); i++)', '    if (co_await f())', '        a();')),
    ('AWAIT', LINE, coroutine('co_return a && co_await f();')),
    ('AWAIT', LINE, coroutine('a = b ? co_await f() : c;')),
    ('AWAIT', LINE, coroutine('n += co_await f() ? 1 : 0;')),
    ('X5', LIB, function(body='    return time(0);\n')),
    ('X5', LIB, function(body='    return rand();\n')),
    ('X5', LIB, function(body='    exit(1);\n')),
    ('X5', LIB, function(body='    sched_yield();\n')),
    ('X5', LIB, function(body='    printf("x");\n')),
    ('X5', LIB, function(body='    assert(1);\n')),
    ('X5', LIB, function(body='    strcpy(a, b);\n')),
    ('X5', LIB, '#if 0\n#endif\n'),
    ('X5', 'tests/unit/log/put_test.cpp', function(body='    usleep(1);\n')),
    ('B1', 'CMakeLists.txt', 'add_compile_options(-O3)\n'),
    ('B1', 'CMakeLists.txt', 'file(GLOB x *.c)\n'),
    ('B1', 'lib/CMakeLists.txt', '\n' * 31),
    ('B4', 'lib/base/box.c', '#include "log/put.h"\n'),
    ('B4', LIB, '#include <infiniband/verbs.h>\n'),
    ('B4', 'tools/t.cpp', '#include "base/box.h"\n'),
    ('B4', 'scripts/layers.toml', ('"dtx/history"', '"dtx/model"')),
    ('B4', 'tools/t.cpp', '#include "../lib/base/box.h"\n'),
    ('DEAD', 'lib/CMakeLists.txt', (' log/put.c', '')),
    ('DEAD', 'tools/t.cpp', ('#include "t.h"\n', '')),
    ('DEAD', 'scripts/lonely.py', '# SPDX-License-Identifier: BSD-3-Clause\n'),
    ('FILES', 'scripts/blob', 'a\0b'),
    ('FILES', 'lib/notes.txt', ('x' * 99 + '\n') * 1100),
    ('FILES', 'scripts/go', None),
    ('TEXT', 'lib/base/box.c', (SPDX, '')),
    ('TEXT', 'tools/t.h', (SPDX, SPDX.replace(' */', ' t.h: a tool. */'))),
    ('TEXT', 'lib/base/box.c', (' * box.c:', ' * bag.c:')),
    ('TEXT', LIB, '\tint a;\n'),
    ('TEXT', LIB, 'int a; \n'),
    ('TEXT', LIB, 'int a;'),
    ('WORDS', LIB, f'/* {WORD}: later */\n'),
    ('WORDS', LIB, '/* see /wo' 'rk/main */\n'),
    ('DEPTH', 'tools/t.h', '#include "t.h"\n'),
    ('CIRCLES', 'lib/base/box.c', '\nint rpmi_shut(int a)\n{\n    return rpmi_lid(a);\n}\n'),
    ('CIRCLES', 'lib/base/box.c', '\nint rpmi_shut(void)\n{\n    return rpm_box_put();\n}\n'),
    ('NAMES', LIB, '/* As in lib/log/gone.c. */\n'),
    ('NAMES', LIB, '// put_test.cpp, not gone_test.cpp\n'),
    ('NAMES', 'scripts/go', '# calls scripts/gone.py\n'),
    ('NAMES', 'lib/README.md', 'Look into `base/gone.h`.\n'),
    ('RETIRED', 'scripts/go', '# what No' 'body reads\n'),
    ('RETIRED', 'scripts/go', '# class Par' 'ty\n'),
    ('RETIRED', LIB, 'const int extra = RPM_ROLE_' 'LOOK;\n'),
    ('ALLOW', 'scripts/tidy_allow.txt', 'F3 lib/log/put.c it was long once\n'),
]

QUIET = [
    ('a header for several folders', 'tools/t.cpp', '#include <infiniband/verbs.h>\n'),
    ('a word of a ban inside a comment', LIB, '/* time( rand( exit( are banned */\n'),
    ('a word of a ban inside a string', LIB, 'const char *extra = "exit(1)";\n'),
    ('a name that ends like a banned one', LIB, function(body='    rpmi_time(1);\n')),
    ('70 lines', LIB, function(lines=70)),
    ('six parameters', LIB, function(params='int a, int b, int c, int d, int e, int f')),
    ('nesting of four', LIB, function(params='int a', body=nested(4))),
    ('loops that walk one space', LIB, function(body=nested(7).replace('if (', 'for ('))),
    ('names of files that are there', LIB, '/* base/box.c, lib/base/box.h, put_test.cpp, NAME.c */\n'),
    ('a name that only a string has', LIB, 'const char *extra = "log/gone.c";\n'),
    ('a word that holds a retired one', LIB, '/* parties on burying grounds */\n'),
    ('a file that calls itself', 'lib/base/box.c',
     '\nint rpmi_shut(int a)\n{\n    return rpmi_box(a);\n}\n'),
    ('a long initialiser', LIB, 'int table[] = {\n' + '    1,\n' * 90 + '};\n'),
]


def chain(headers):
    """A row of headers in tools/, each of which includes the next."""
    return {f'tools/h{i}.h': SPDX + (f'#include "h{i + 1}.h"\n' if i + 1 < headers else '')
            for i in range(headers)}


class TidyTest(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix='tidy-test-'))
        self.addCleanup(shutil.rmtree, self.root)
        for name, text in GOOD.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        os.chmod(self.root / 'scripts/go', 0o755)

    def change(self, name, change):
        path = self.root / name
        if change is None and name.startswith('scripts/'):
            os.chmod(path, 0o644)
        elif change is None:
            path.unlink()
        elif isinstance(change, tuple):
            text = path.read_text()
            self.assertIn(change[0], text)
            path.write_text(text.replace(change[0], change[1]))
        else:
            path.write_text((path.read_text() if path.exists() else '') + change)

    def test_co_await_may_follow_conditions(self):
        with open(self.root / LINE, 'a', encoding='utf-8') as file:
            file.write(coroutine('auto &&a = co_await f(b && c, d ? e : g);', 'if (a && (b || c))', '    co_await f();',
                                 'else if (a)', '    d = co_await f();', 'for (int i = 0; i < f(1) && a; i++)',
                                 '    if (a || b)', '        co_await f(i);'))
        self.assertEqual(tidy.run(self.root), [])

    def test_clean_tree_is_quiet(self):
        self.assertEqual(tidy.run(self.root), [])

    def test_each_breach_is_seen_by_its_check_alone(self):
        for check, name, change in BREACHES:
            with self.subTest(check=check, name=name, change=str(change)[:60]):
                self.setUp()
                self.change(name, change)
                self.assertEqual({found for found, _, _ in tidy.run(self.root)}, {check})

    def test_what_only_looks_like_a_breach_is_let_through(self):
        for title, name, change in QUIET:
            with self.subTest(title):
                self.setUp()
                self.change(name, change)
                self.assertEqual(tidy.run(self.root), [])

    def test_headers_may_include_each_other_to_a_limit(self):
        self.change('tools/t.h', '#include "h0.h"\n')
        for headers, want in ((tidy.INCLUDE_DEPTH - 1, set()), (tidy.INCLUDE_DEPTH, {'DEPTH'})):
            for name, text in chain(headers).items():
                (self.root / name).write_text(text)
            self.assertEqual({found for found, _, _ in tidy.run(self.root)}, want)

    def test_an_allowance_silences_one_function(self):
        self.change(LIB, function(lines=90))
        self.change('scripts/tidy_allow.txt', f'F3 {LIB}:extra a table in prose\n')
        self.assertEqual(tidy.run(self.root), [])

    def test_every_check_has_a_breach_here(self):
        self.assertEqual(set(tidy.CHECKS) - {check for check, _, _ in BREACHES}, set())


class CommitsTest(unittest.TestCase):
    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix='commits-test-'))
        self.addCleanup(shutil.rmtree, self.root)
        if not shutil.which('git'):
            self.skipTest('needs git')
        self.git('init', '-q')
        self.commit('base: begin', 1)
        self.base = commits.git(self.root, 'rev-parse', 'HEAD').stdout.strip()

    def git(self, *words):
        done = commits.git(self.root, '-c', 'user.name=t', '-c', 'user.email=t@t', *words)
        self.assertEqual(done.returncode, 0, done.stderr)

    def commit(self, subject, lines, name='file'):
        (self.root / name).write_text(''.join(f'{subject} {i}\n' for i in range(lines)))
        self.git('add', '-A')
        self.git('commit', '-q', '-m', subject)

    def check(self, base=None, large=()):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            status = commits.check(self.root, base or self.base, large)
        return status, text.getvalue()

    def test_a_good_commit_passes(self):
        self.commit('log: refuse a record that is too large', 100)
        self.assertEqual(self.check(), (0, f'commits: 1 since {self.base}, 0 breaches\n'))

    def test_each_bad_subject_fails(self):
        for subject in ('no area', 'log: the record is refused', 'log: a record that fits',
                        'log: refuses records', 'log: refuse ' + 'x' * 61, 'log:', 'LOG!: refuse'):
            with self.subTest(subject):
                self.setUp()
                self.commit(subject, 3)
                self.assertEqual(self.check()[0], 1)

    def test_sizes_are_warned_of_refused_and_listed(self):
        self.commit('log: add many', commits.LINES_WARNED + 1, 'a')
        status, text = self.check()
        self.assertEqual(status, 0)
        self.assertIn('warning: changes 401 lines', text)
        self.commit('log: add more', commits.LINES_MAX + 1, 'b')
        self.assertEqual(self.check()[0], 1)
        self.assertEqual(self.check(large={'log: add more': 'made by a program'})[0], 0)

    def test_a_file_that_moves_has_no_size(self):
        self.commit('log: add many', commits.LINES_MAX, 'a')
        self.base = commits.git(self.root, 'rev-parse', 'HEAD').stdout.strip()
        self.git('mv', 'a', 'b')
        self.git('commit', '-q', '-m', 'log: move it')
        self.assertEqual(self.check(), (0, f'commits: 1 since {self.base}, 0 breaches\n'))

    def test_a_short_history_is_skipped(self):
        self.assertEqual(self.check('0' * 40)[0], commits.SKIPPED)
        shutil.rmtree(self.root / '.git')
        self.assertEqual(self.check()[0], commits.SKIPPED)


class FloorsTest(unittest.TestCase):
    def faults(self, assertions, lines=measure.SHORT + 1, folder='lib/pool/', macro='RPM_ASSERT'):
        """Breaches of a floor of 1 by two functions of so many lines, with so many assertions in all."""
        filler = '    x();\n' * (lines - 3)
        texts = [f'int f{i}(void)\n{{\n{filler}}}\n' for i in range(2)]
        text = ''.join(texts).replace('    x();', f'    {macro}(x);', assertions)
        floors, measure.FLOORS = measure.FLOORS, {'lib/pool/': 1}
        try:
            return list(measure.below_floor({folder + 'a.c': measure.measure_file(text)}))
        finally:
            measure.FLOORS = floors

    def test_a_folder_at_its_floor_passes(self):
        self.assertEqual(self.faults(2), [])
        self.assertEqual(self.faults(0, measure.SHORT), [])  # short functions need none

    def test_a_folder_below_its_floor_fails(self):
        self.assertEqual(len(self.faults(1)), 1)
        self.assertIn('1 run-time assertions in 2 functions', self.faults(1)[0])

    def test_only_run_time_assertions_fill_a_floor(self):
        for macro in ('RPM_ASSERT', 'RPM_ASSERT_SLOW', 'DTX_ASSERT'):
            self.assertEqual(self.faults(2, macro=macro), [])
        for macro in ('_Static_assert', 'static_assert', '#define RPM_ASSERT', 'MY_RPM_ASSERT'):
            self.assertEqual(len(self.faults(2, macro=macro)), 1, macro)
        row = measure.measure_file('static_assert(A);\nvoid f(void)\n{\n    RPM_ASSERT(x);\n}\n')
        self.assertEqual((row['assertions'], row['static_assertions']), (1, 1))

    def test_a_floor_of_no_folder_fails(self):
        self.assertEqual(len(self.faults(2, folder='lib/pond/')), 1)


if __name__ == '__main__':
    sys.exit(unittest.main())
