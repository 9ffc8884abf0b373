#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tidy.py: the house style as a test. Prints one line for each breach and exits 1 if there is one.

    scripts/tidy.py                     the whole tree
    scripts/tidy.py --only F3,B4        some checks
    scripts/tidy.py --list              what is checked
    scripts/tidy.py --commits [BASE]    subjects and sizes of the commits since BASE, and no files

Exceptions are in scripts/tidy_allow.txt with a reason. scripts/tidy_test.py tests that each check fires.
"""

import argparse
import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import commits
import csource
import interface
import prose

FUNCTION_LINES = 70
FILE_LINES = 600
COLUMNS = 100
NESTING = 4
PARAMETERS = 6
ROOT_CMAKE_LINES = 150
FOLDER_CMAKE_LINES = 30
FILE_KIB = 100
INCLUDE_DEPTH = 5  # headers of one folder that include each other in a row

C_LIKE = ('.c', '.h', '.cc', '.cpp', '.hpp')
SOURCES = ('.c', '.cc', '.cpp')
COMMENTED = C_LIKE + ('.py', '.sh', '.cmake', '.toml', '.map')
# Folders whose every source has a test of its name: (folder, suffix, how much tests/unit/ leaves out).
MIRRORED = (('lib/', '.c', len('lib/')), ('dtx/history/', '.cc', 0))
USER_FOLDERS = ('lib', 'tools', 'examples', 'hints', 'dtx', 'fs')

# (pattern, folders, exempt prefixes, why). The patterns are split so that they do not match here.
BANS = (
    (r'\b(time|clock|gettimeofday|clock_gettime|nanosleep|clock_nanosleep) ?\(', ('lib',),
     ('lib/base/',), 'time comes from base/clock.h'),
    (r'\b(time|usleep|sleep) ?\(', ('tools', 'tests', 'examples'), (), 'bound waits by a clock'),
    (r'\b(s?rand|random|rand_r|drand48) ?\(', ('lib', 'tools', 'tests', 'examples'),
     ('lib/base/',), 'chance comes from base/rng.h, with a seed'),
    (r'\busleep ?\(', ('lib',), ('lib/base/',), 'waiting goes through base/clock.h'),
    (r'\b(_?exit|quick_exit) ?\(', ('lib',), (), 'the library never ends its program'),
    (r'\babort ?\(', ('lib',), ('lib/base/assert.c',), 'only a failed assertion aborts'),
    (r'\bsched_yield ?\(', ('lib', 'tools', 'tests', 'examples'), (), 'spin, then sleep'),
    (r'\b(printf|fprintf|puts|perror|vfprintf) ?\(', ('lib',),
     ('lib/base/diag.c', 'lib/base/assert.c'), 'diagnostics go through base/diag.h'),
    (r'(?<!static_)\bassert ?\(', ('lib',), (), 'use RPM_ASSERT, which stays on'),
    (r'\b(strcpy|strcat|sprintf|vsprintf|gets|alloca) ?\(', USER_FOLDERS, (), 'no bound'),
    (r'^\s*#\s*if 0\b', USER_FOLDERS + ('tests',), (), 'dead code'),
)
SPDX_LINE = re.compile(r'(?:/\*|//|#) SPDX-License-Identifier: BSD-3-Clause(?: \*/)?')
TAG = re.compile(r'^[ \t]*(?:(?:static|const|typedef) )*(?:struct|enum|union) (\w+)\s*\{', re.M)
LEFTOVERS = re.compile(r'\b(%s)\b|\b%s\b' % ('|'.join(('TO' 'DO', 'FIX' 'ME', 'XX' 'X', 'HA' 'CK')),
                                             '[Ss]t' 'ub'))
MACHINE_PATHS = re.compile(r'(?:^|[^A-Za-z0-9._/-])/(?:wo' r'rk|fa' r'rm|ho' r'me)/\w|/tmp/bui' r'ld-')


class Tree:
    """The files that belong to the project, read once."""

    def __init__(self, root):
        self.root = Path(root)
        self.paths = sorted(self._list())
        self.bytes = {path: (self.root / path).read_bytes() for path in self.paths}
        self.texts = {}
        self.codes = {}
        for path, data in self.bytes.items():
            if b'\0' not in data[:8192]:
                self.texts[path] = data.decode('utf-8', 'replace')

    def _list(self):
        command = ['git', '-C', str(self.root), 'ls-files', '-co', '--exclude-standard', '-z']
        inside = subprocess.run(command, capture_output=True, check=False)
        if inside.returncode == 0 and (self.root / '.git').exists():
            names = inside.stdout.decode().split('\0')
            return [name for name in names if name and (self.root / name).is_file()]
        found = []
        for folder, folders, files in os.walk(self.root):
            folders[:] = [f for f in folders if f not in ('.git', '__pycache__')
                          and not (Path(folder) == self.root and f.startswith('build'))]
            found += [str((Path(folder) / file).relative_to(self.root)) for file in files]
        return found

    def with_suffix(self, suffixes, folders=None):
        for path in self.texts:
            if path.endswith(suffixes) and (not folders or path.split('/')[0] in folders):
                yield path

    def code(self, path):
        if path not in self.codes:
            self.codes[path] = csource.code_only(self.texts[path])
        return self.codes[path]


def line_of(text, offset):
    return text.count('\n', 0, offset) + 1


def check_f3(tree):
    """functions, files, nesting and parameters stay within the limits"""
    for path in tree.with_suffix(C_LIKE):
        text = tree.texts[path]
        for item in csource.functions(text):
            lines = item.last - item.first + 1
            place = f'{path}:{item.first}'
            if lines > FUNCTION_LINES:
                yield place, f'{item.name} has {lines} lines, limit {FUNCTION_LINES}', item.name
            if item.nesting > NESTING:
                yield place, f'{item.name} nests {item.nesting} deep, limit {NESTING}', item.name
            if item.params > PARAMETERS:
                yield place, f'{item.name} has {item.params} parameters', item.name
    for path in tree.with_suffix(('.py',)):
        for node in ast.walk(ast.parse(tree.texts[path], path)):
            if isinstance(node, ast.FunctionDef):
                lines = node.end_lineno - node.lineno + 1
                if lines > FUNCTION_LINES:
                    yield f'{path}:{node.lineno}', f'{node.name} has {lines} lines', node.name
    for path in tree.with_suffix(COMMENTED):
        lines = tree.texts[path].count('\n')
        if lines > FILE_LINES:
            yield path, f'{lines} lines, limit {FILE_LINES}', ''


def check_f2(tree):
    """no comment reaches past the last column: clang-format leaves comments as they are"""
    for path in tree.with_suffix(C_LIKE):
        for i, line in enumerate(tree.texts[path].split('\n'), 1):
            if len(line) > COLUMNS and re.search(r'^\s*\*|/\*|(?<!:)//', line):
                yield f'{path}:{i}', f'a comment of {len(line)} columns, limit {COLUMNS}', ''


def check_e2(tree):
    """a public function that can fail drops the error text of the call before"""
    can_fail = {name for header in interface.LIBRPM.headers(tree)
                for name in re.findall(r'\bRPM_MUST_CHECK int (\w+)\(', tree.code(header))}
    for path in tree.with_suffix('.c', ('lib',)):
        code = tree.code(path)
        for match in re.finditer(r'^int (rpm_\w+)\([^;{]*\)\n\{\n(.*)', code, re.M):
            if match.group(1) in can_fail and match.group(2).strip() != 'rpmi_begin();':
                yield (f'{path}:{line_of(code, match.start())}',
                       f'{match.group(1)} does not begin with rpmi_begin()', match.group(1))


def check_n2(tree):
    """no typedef of a struct, no name of ours that ends in _t"""
    for path in tree.with_suffix(C_LIKE, USER_FOLDERS):
        code = tree.code(path)
        for match in re.finditer(r'\btypedef\s+(struct|union|enum)\b', code):
            yield f'{path}:{line_of(code, match.start())}', f'typedef of a {match.group(1)}', ''
        for match in re.finditer(r'\b(rpmi?_\w+_t|(?<=struct )\w+_t)\b', code):
            yield f'{path}:{line_of(code, match.start())}', f'{match.group(1)} ends in _t', ''


def check_tags(tree):
    """one tag of a struct, an enum or a union has one definition in the whole library"""
    first = {}
    for path in tree.with_suffix(('.c', '.h')):
        if not path.startswith('lib/'):
            continue
        for match in TAG.finditer(tree.texts[path]):
            place = f'{path}:{line_of(tree.texts[path], match.start(1))}'
            if match.group(1) in first:
                yield place, f'{match.group(1)} is defined at {first[match.group(1)]} too', match.group(1)
            first.setdefault(match.group(1), place)


def check_x1(tree):
    """each source in MIRRORED has its test, titles of tests are sentences"""
    for folder, suffix, cut in MIRRORED:
        for path in tree.with_suffix((suffix,)):
            test = 'tests/unit/' + path[cut:-len(suffix)] + '_test.cpp'
            if path.startswith(folder) and test not in tree.texts:
                yield path, f'no {test}', ''
    for path in tree.with_suffix(('.cpp',), ('tests',)):
        text = tree.texts[path]
        for match in re.finditer(r'\bTEST_CASE\(\s*"([^"]*)"(?!,\s*"\[\.)', text):
            if not re.match(r'[a-z0-9_/ +-]+: \S+ \S+', match.group(1)):
                place = f'{path}:{line_of(text, match.start())}'
                yield place, f'title "{match.group(1)}" is not "area: sentence"', ''


def check_x5(tree):
    """one clock, one source of chance, no calls that a library must not make"""
    for pattern, folders, exempt, why in BANS:
        for path in tree.with_suffix(C_LIKE, folders):
            if path.startswith(exempt or ('\0',)):
                continue
            code = tree.code(path)
            for match in re.finditer(pattern, code, re.M):
                place = f'{path}:{line_of(code, match.start())}'
                yield place, f'{match.group(0).strip()}: {why}', ''


def closing(text, begin):
    """The offset of the parenthesis that closes one at @begin or, without one there, around it."""
    depth = 0
    for i in range(begin, len(text)):
        depth += {'(': 1, ')': -1}.get(text[i], 0)
        if depth < 0 or (depth == 0 and text[i] == ')' and text[begin] == '('):
            return i
    return len(text) - 1


def await_breaches(code):
    """Offsets of statements in which co_await is a part of a condition, or beside &&, || or ?: ."""
    for match in re.finditer(r'[^;{}]*[;{}]', code):
        start = match.start() + len(match.group(0)) - len(match.group(0).lstrip())
        text = re.sub(r'\bauto ?&&', 'auto', code[start:match.end()])
        bad = False
        if text.count(')') > text.count('('):  # the last part of the head of a for
            text = text[closing(text, 0) + 1:]
        while 'co_await' in text and (control := re.match(r'\s*(?:else )?(if|while)\b\s*\(', text)):
            end = closing(text, control.end() - 1)
            bad = bad or 'co_await' in text[:end]
            text = text[end + 1:]
        inner = None
        while inner != text:  # arguments are expressions of their own
            inner, text = text, re.sub(r'(?<=\w)\([^()]*\)', '', text)
        if bad or ('co_await' in text and re.search(r'&&|\|\||\?', text)):
            yield start


def check_await(tree):
    """co_await in no condition, and beside no &&, || and ?: , all of which GCC 12 miscompiles"""
    for path in tree.with_suffix(('.cc', '.cpp', '.h')):
        code = tree.code(path)
        for start in await_breaches(code):
            yield f'{path}:{line_of(code, start)}', 'assign the result of co_await to a variable, and use that', ''


def layer_of(path, layers):
    fits = [layer for layer in layers if path.startswith(layer + '/')]
    return max(fits, key=len, default=None)


def resolve(tree, path, name):
    for base in (str(Path(path).parent), 'lib', path.split('/')[0]):
        place = os.path.normpath(f'{base}/{name}')
        if place in tree.texts:
            return place
    return None


def check_b4(tree):
    """includes follow scripts/layers.toml"""
    rules = tomllib.loads(tree.texts['scripts/layers.toml'])
    layers = rules['lib'] | rules.get('dtx', {}) | rules.get('fs', {})
    for path in tree.with_suffix(C_LIKE, ('lib', *rules['users']['folders'])):
        own = layer_of(path, layers)
        for line, form, name in csource.includes(tree.texts[path]):
            place = f'{path}:{line}'
            for prefix, folders in rules['only'].items():
                if name.startswith(prefix) and not path.startswith(
                        tuple(folder + '/' for folder in folders)):
                    yield place, f'<{name}> belongs to {" and ".join(folders)} alone', name
            target = resolve(tree, path, name) if form == '"' else None
            if target is None or target.startswith('lib/include/'):
                continue
            if not path.startswith('lib/'):
                if target.split('/')[0] != path.split('/')[0]:
                    yield place, f'"{name}": include <librpm.h> only', name
                    continue
                if own is None:
                    top = path.split('/')[0]
                    if top in ('dtx', 'fs') and rules.get(top) and '/include/' not in path:
                        yield place, f'{os.path.dirname(path)} is in no row of layers.toml', name
                    continue
            theirs = layer_of(target, layers)
            if theirs != own and theirs not in layers.get(own, []):
                yield place, f'{own} may not include {theirs}', name


def check_depth(tree):
    """headers of one folder do not include each other too many deep, and never in a circle"""
    below = {}
    for path in tree.with_suffix(('.h', '.hpp')):
        folder = os.path.dirname(path)
        places = (f'{folder}/{Path(name).name}' for _, _, name in csource.includes(tree.texts[path])
                  if folder.endswith(os.path.dirname(name)))
        below[path] = [place for place in places if place in tree.texts]

    def deepest(path, above):
        if path in above:
            return [*above, path]
        return max((deepest(each, [*above, path]) for each in below[path]), key=len,
                   default=[*above, path])

    for path in below:
        row = deepest(path, [])
        names = ', '.join(Path(each).name for each in row[1:])
        if len(set(row)) < len(row):
            yield path, f'includes itself by {names}', ''
        elif len(row) > INCLUDE_DEPTH:
            yield path, f'{len(row)} headers deep, limit {INCLUDE_DEPTH}: {names}', ''


def check_cmake(tree):
    """build files stay short and set nothing for all"""
    bans = (r'file\(GLOB', r'\badd_compile_options\(', r'\bFetchContent', r'CMAKE_C(XX)?_FLAGS',
            r'\bfile\(DOWNLOAD', r'\binclude_directories\(', r'\blink_libraries\(')
    for path in tree.with_suffix(('CMakeLists.txt', '.cmake')):
        text = re.sub(r'#[^\n]*', '', tree.texts[path])
        for ban in bans:
            match = re.search(r'(?<!target_)' + ban, text)
            if match:
                yield f'{path}:{line_of(text, match.start())}', f'{match.group(0)} is banned', ''
        limit = ROOT_CMAKE_LINES if path == 'CMakeLists.txt' else FOLDER_CMAKE_LINES
        lines = tree.texts[path].count('\n')
        if path.endswith('CMakeLists.txt') and lines > limit:
            yield path, f'{lines} lines, limit {limit}', ''


def built_files(tree):
    """Every source that a build file names, also by ${name}_fuzz.cpp in a loop over names."""
    built = set()
    for path in tree.with_suffix(('CMakeLists.txt', '.cmake')):
        folder = os.path.dirname(path)
        words = re.findall(r'[\w./${}-]+', re.sub(r'#[^\n]*', '', tree.texts[path]))
        tails = {word.rpartition('}')[2] for word in words if '}' in word}
        names = words + [word + tail for tail in tails if tail.endswith(SOURCES) for word in words]
        built |= {os.path.normpath(os.path.join(folder, name)) for name in names
                  if name.endswith(SOURCES)}
    return built


def built_by_script(tree, path):
    beside = (text for other, text in tree.texts.items()
              if text.startswith('#!') and Path(other).parent == Path(path).parent)
    return any('/' + Path(path).name in text for text in beside)


def check_dead(tree):
    """every source is built, every header included, every script mentioned"""
    built = built_files(tree)
    named = set()
    for path in tree.with_suffix(C_LIKE):
        for _, _, name in csource.includes(tree.texts[path]):
            named.add(Path(name).name)
    for path in tree.with_suffix(C_LIKE):
        if path.endswith(SOURCES) and path not in built and not built_by_script(tree, path):
            yield path, 'in no CMakeLists.txt', ''
        if path.endswith(('.h', '.hpp')) and Path(path).name not in named | {'librpm.h'}:
            yield path, 'included by nothing', ''
    for path in tree.texts:
        if path.startswith('scripts/') and path.count('/') == 1 and path.endswith('.py'):
            stem = Path(path).stem
            others = (text for other, text in tree.texts.items() if other != path
                      and other.startswith(('scripts/', 'tests/', 'CMakeLists', 'README')))
            if not any(re.search(r'\b%s\b' % stem, text) for text in others):
                yield path, 'mentioned nowhere', ''


def check_files(tree):
    """no binaries, nothing large, executable bits where a program line says so"""
    for path, data in tree.bytes.items():
        if path not in tree.texts:
            yield path, 'binary file', ''
        if len(data) > FILE_KIB * 1024:
            yield path, f'{len(data) // 1024} KiB, limit {FILE_KIB}', ''
        runs = os.access(tree.root / path, os.X_OK)
        if runs != data.startswith(b'#!'):
            yield path, 'executable bit and #! line disagree', ''


def check_text(tree):
    """licence line first, a header block that names the file, no tabs, no trailing space"""
    for path, text in tree.texts.items():
        head = text.split('\n', 3)[:2]
        if path.endswith(COMMENTED + ('CMakeLists.txt',)) or text.startswith('#!'):
            if not any(SPDX_LINE.fullmatch(line) for line in head):
                yield path, 'no SPDX line at the top', ''
        if path.startswith('lib/') and path.endswith(C_LIKE):
            if not re.search(r'^ \* %s:' % re.escape(Path(path).name), text[:400], re.M):
                yield path, f'no header block that starts with "{Path(path).name}: "', ''
        for i, line in enumerate(text.split('\n'), 1):
            if '\t' in line and path.endswith(COMMENTED + ('.txt', '.json', '.md')):
                yield f'{path}:{i}', 'tab', ''
            if line.endswith((' ', '\r')):
                yield f'{path}:{i}', 'space at the end of the line', ''
        if text and not text.endswith('\n'):
            yield path, 'no newline at the end', ''


def check_circles(tree):
    """files of the library do not call each other in a circle, in one folder or over several"""
    sources = [path for path in tree.with_suffix(('.c',)) if path.startswith('lib/')]
    homes = {}  # a function may have several: one for each CPU architecture or build option
    for path in sources:
        for function in csource.functions(tree.texts[path]):
            if function.name.startswith(('rpmi_', 'rpm_')):
                homes.setdefault(function.name, set()).add(path)
    calls = {path: set() for path in sources}
    for path in sources:
        for name in set(re.findall(r'\brpmi?_\w+(?=\()', tree.code(path))):
            if path not in homes.get(name, ()):
                calls[path] |= homes.get(name, set())
    for path in sources:
        row = circle(calls, path)
        if row:
            names = ', '.join(each.removeprefix(os.path.dirname(path) + '/') for each in row[1:])
            yield path, f'calls itself by way of {names}: move what they share below them', ''


def circle(calls, start):
    """The shortest row of files from @start to itself, each of which calls the next, or None."""
    rows = [[start]]
    seen = set()
    for row in rows:
        for callee in sorted(calls[row[-1]] - seen):
            if callee == start:
                return [*row, start]
            seen.add(callee)
            rows.append([*row, callee])
    return None


def check_words(tree):
    """no left-over marks, no path of the machine it was written on"""
    for path, text in tree.texts.items():
        for match in LEFTOVERS.finditer(text):
            yield f'{path}:{line_of(text, match.start())}', f'left-over "{match.group(0)}"', ''
        for match in MACHINE_PATHS.finditer(text):
            place = f'{path}:{line_of(text, match.start())}'
            yield place, f'path of one machine: {match.group(0).strip()}', ''


CHECKS = {
    'F2': check_f2, 'F3': check_f3, 'H1': interface.check_h1, 'H2': interface.check_h2,
    'N1': interface.check_n1, 'E2': check_e2,
    'N2': check_n2, 'AWAIT': check_await, 'TAGS': check_tags, 'X1': check_x1, 'X5': check_x5, 'B1': check_cmake,
    'B4': check_b4, 'DEAD': check_dead, 'FILES': check_files, 'TEXT': check_text,
    'WORDS': check_words, 'DEPTH': check_depth, 'CIRCLES': check_circles, 'NAMES': prose.check_names,
    'RETIRED': prose.check_retired,
}


def read_allowed(tree):
    allowed = {}
    text = tree.texts.get('scripts/tidy_allow.txt', '')
    for i, line in enumerate(text.split('\n'), 1):
        if line.strip() and not line.startswith('#'):
            words = line.split(None, 2)
            if len(words) < 3 or words[0] not in CHECKS:
                raise SystemExit(f'scripts/tidy_allow.txt:{i}: want CHECK PATH[:NAME] reason')
            allowed[(words[0], words[1])] = i
    return allowed


def allowance(name, place, detail, allowed):
    path = place.split(':')[0]
    fits = [(name, f'{path}:{detail}'), (name, path)]
    fits += [(name, str(folder) + '/') for folder in Path(path).parents]
    return next((key for key in fits if key in allowed), None)


def run(root, only=None):
    """Every breach as (check, place, message)."""
    tree = Tree(root)
    allowed = read_allowed(tree)
    used = set()
    breaches = []
    for name, check in CHECKS.items():
        if only and name not in only:
            continue
        for place, message, detail in check(tree):
            key = allowance(name, place, detail, allowed)
            if key:
                used.add(key)
            else:
                breaches.append((name, place, message))
    for key, line in allowed.items():
        if key not in used and (not only or key[0] in only):
            breaches.append(('ALLOW', f'scripts/tidy_allow.txt:{line}', 'nothing needs this line'))
    return breaches


def main():
    parser = argparse.ArgumentParser(description='Check the house style.')
    parser.add_argument('--root', default=Path(__file__).resolve().parent.parent)
    parser.add_argument('--only', help='comma-separated names of checks')
    parser.add_argument('--list', action='store_true', help='say what is checked')
    parser.add_argument('--commits', nargs='?', const='', metavar='BASE',
                        help='check the commits of HEAD that are not in BASE, and no files')
    options = parser.parse_args()
    if options.commits is not None:
        return commits.check(options.root, options.commits)
    if options.list:
        for name, check in CHECKS.items():
            print(f'{name:6} {check.__doc__}')
        return 0
    breaches = run(options.root, options.only and options.only.split(','))
    for name, place, message in breaches:
        print(f'{place}: {name}: {message}')
    print(f'tidy: {len(breaches)} breaches')
    return 1 if breaches else 0


if __name__ == '__main__':
    sys.exit(main())
