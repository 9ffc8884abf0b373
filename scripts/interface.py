# SPDX-License-Identifier: BSD-3-Clause
"""interface.py: the checks of tidy.py on what the libraries offer to programs: their public headers, the
contract of each function, and the symbol maps."""

import errno
import re
from dataclasses import dataclass
from pathlib import Path

import contract
import csource

HEADER_LINES = 250
ERROR_HEADER = 'lib/include/librpm/error.h'
THREADS = re.compile(r'any\b|one per \w+|setup only|one thread')
OWNERSHIP = re.compile(r'\bBorrowed\b|\bTaken\b|\bReturned\b|\bout\b|\bin:')


@dataclass(frozen=True)
class Library:
    """A library whose headers are FOLDER/NAME.h, which includes all, and FOLDER/NAME/."""

    folder: str
    name: str
    must_check: str  # the macro of functions whose result tells of an error
    maps: tuple  # symbol maps, each of one file of the library
    writes: re.Pattern  # names of functions whose contracts need Durable:
    data_path: re.Pattern  # and Cost:

    @property
    def umbrella(self):
        return f'{self.folder}/{self.name}.h'

    def headers(self, tree):
        return [path for path in tree.texts
                if path.startswith(f'{self.folder}/{self.name}/') and path.endswith('.h')]


LIBRPM = Library(
    'lib/include', 'librpm', 'RPM_MUST_CHECK', ('lib/librpm.map', 'lib/librpm-sim.map', 'lib/librpm-s3.map'),
    re.compile(r'_(append|append_batch|append_async|commit|write|writev|write_async|persist|'
               r'trim|resume|remove|cas|faa|power_cut)$'),
    re.compile(r'_(append|append_batch|append_async|reserve|commit|poll|persist|trim|write|'
               r'writev|write_async|read|cas|faa|next|wait|try|release|break|hist_add)$'))
LIBRPMFS = Library(
    'fs/include', 'librpmfs', 'RFS_MUST_CHECK', ('fs/librpmfs.map',),
    re.compile(r'_(make|mount|unmount|turn|open|close|pwrite|fsync|ftruncate|fallocate|lock|flock|mkdir|mknod|'
               r'symlink|link|unlink|rmdir|rename|chmod|l?chown|utimens|truncate|l?setxattr|l?removexattr|'
               r'closedir)(_async)?$'),
    re.compile(r'(?<!_last_error)$'))
LIBRARIES = (LIBRPM, LIBRPMFS)


def check_h1(tree):
    """public headers are short, and the header of the whole library includes each"""
    for library in LIBRARIES:
        umbrella = tree.texts.get(library.umbrella, '')
        for path in library.headers(tree):
            lines = tree.texts[path].count('\n')
            if lines > HEADER_LINES:
                yield path, f'{lines} lines, limit {HEADER_LINES}', ''
            if f'<{library.name}/{Path(path).name}>' not in umbrella:
                yield path, f'{library.name}.h does not include it', ''


def argument_faults(item):
    if [name for name, _ in item.args] != [name for _, name in item.params]:
        yield 'the @arguments are not those of the prototype, in order'
    for (kind, name), (_, text) in zip(item.params, item.args):
        if (kind.endswith('*') or name in item.arrays) and not OWNERSHIP.search(text):
            yield f'@{name} does not say Borrowed, Taken, Returned, in or out'


def label_faults(library, item):
    labels = [label for label, _ in item.labels]
    order = [contract.LABELS.index(label) for label in labels]
    if order != sorted(set(order)):
        yield 'labels repeated or out of order'
    must_check = library.must_check in item.prototype
    needed = {'Threads': True, 'Errors': must_check, 'Durable': library.writes.search(item.name),
              'Cost': library.data_path.search(item.name)}
    for label, wanted in needed.items():
        if wanted and label not in labels:
            yield f'label {label}: is missing'
    if 'Errors' in labels and not must_check:
        yield f'can fail, but is not {library.must_check}'
    if 'Threads' in labels and not THREADS.match(item.label('Threads')):
        yield 'Threads: is none of any, one per object, setup only'


def error_faults(text, named):
    """@named: the RPM_E_ names that there are."""
    for name in re.findall(r'RPM_E_\w+', text):
        if name not in named:
            yield f'{name} is not in error.h'
    for name in re.findall(r'(?<![\w-])-(E[A-Z0-9]+)\b', text):
        if not hasattr(errno, name):
            yield f'-{name} is no error of errno(3)'


def reference_faults(text, shared):
    """@shared: by header, the errors that functions refer to, None if it lists none."""
    for name in contract.referred_headers(text):
        if shared.get(name) is None:
            yield f'refers to the errors of {name}, which lists none'


def contract_faults(library, item, named, shared):
    if not item.documented or not item.summary:
        yield f'no contract block that starts with "{item.name}: "'
        return
    yield from argument_faults(item)
    yield from label_faults(library, item)
    yield from error_faults(' '.join(text for _, text in item.labels), named)
    yield from reference_faults(item.label('Errors') or '', shared)


def check_h2(tree):
    """each public function has its contract, with the labels it needs, and errors that there are"""
    named = set(re.findall(r'\bRPM_E_\w+', tree.texts.get(ERROR_HEADER, '')))
    for library in LIBRARIES:
        paths = library.headers(tree)
        shared = {Path(path).name: contract.shared_errors(tree.texts[path]) for path in paths}
        for path in paths:
            text = shared[Path(path).name] or ''
            for fault in (*error_faults(text, named), *reference_faults(text, shared)):
                yield path, f'its first comment: {fault}', ''
            for item in contract.contracts(tree.texts[path]):
                for fault in contract_faults(library, item, named, shared):
                    yield f'{path}:{item.line}', f'{item.name}: {fault}', item.name


def mapped_names(text):
    """What a symbol map exports to programs. Private nodes, for our own libraries, are left out."""
    public = re.sub(r'^\w+_PRIVATE_\S+ \{.*?^\};', '', csource.code_only(text), flags=re.M | re.S)
    return set(re.findall(r'^\s*(\w+|[\w*]+\*);', public.split('local:')[0], re.M))


def check_n1(tree):
    """the symbol maps list exactly the public functions, those of a header all in one map"""
    for library in LIBRARIES:
        path = library.maps[0]
        maps = {each: mapped_names(tree.texts[each]) for each in library.maps if each in tree.texts}
        mapped = set().union(*maps.values())
        declared = set()
        for header in library.headers(tree):
            names = {item.name for item in contract.contracts(tree.texts[header])}
            declared |= names
            if sum(bool(names & each) for each in maps.values()) > 1:
                yield header, f'its functions are in several of {", ".join(maps)}', header
        for name in sorted(declared - mapped):
            yield path, f'{name} is public but not listed', name
        for name in sorted(mapped - declared):
            yield path, f'{name} is listed but in no public header', name
        for name in sorted(declared):
            if 'flush' in name:
                yield path, f'{name}: the word for users is persist', name
