#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mkman.py: make the manual pages. Section 3 comes from the contract blocks of the public headers and from
the comments in those of dtx (cxxman.py), librpm-format(5) from lib/FORMAT.md. Pages written by hand get
their date, version and tables.

    scripts/mkman.py --out build/man --date 2025-01-31 --version 0.1.0
    scripts/mkman.py --list             the pages it would make
"""

import argparse
import datetime
import re
import sys
import textwrap
from pathlib import Path

import contract
import cxxman

THREAD_RULES = {
    'one per conn': 'One thread for each connection and all that is opened on it',
    'one per object': 'One thread for each object',
    'setup only': 'Setup only, while no other thread uses the object',
    'any': 'Any thread',
}
INLINE = re.compile(r'^static inline (struct \w+) (r(?:pm|fs)_\w+)\(void\)', re.M)
ENTRY = re.compile(r'^\s*([A-Z]\w*)\s*(?:=\s*([^,/]+?))?\s*,?\s*/\*\s*(.*?)\s*\*/', re.M | re.S)


class Headers:
    """What the public headers of a library declare. @folder: has NAME.h and NAME/. @flag: its name behind -l.
    @prefix: of its functions and types."""

    def __init__(self, folder, name, flag, prefix):
        self.contracts = []
        self.comments = {}  # 'x.h' -> the paragraphs of its first comment, without its errors
        self.errors = {}  # 'x.h' -> the errors to which contracts refer, or None
        self.functions = {}  # 'x.h' -> names
        self.about = contract.about(Path(folder, f'{name}.h').read_text())
        self.name = name
        self.flag = flag
        self.prefix = prefix
        sim_map = Path(folder).parent / f'{name}-sim.map'
        self.of_sim = set(re.findall(r'^\s*(rpm_\w+);', sim_map.read_text(), re.M)) if sim_map.exists() else set()
        self.structs = {}  # 'struct rpm_x' -> its definition
        self.enums = {}  # 'rpm_x' -> text between the braces
        self.inits = {}  # 'struct rpm_x' -> name of its initialiser
        for path in sorted(Path(folder).glob(f'{name}/*.h')):
            text = path.read_text()
            found = contract.contracts(text)
            self.contracts += found
            self.comments[path.name] = contract.about(text)
            self.errors[path.name] = contract.shared_errors(text)
            self.functions[path.name] = [item.name for item in found]
            for match in re.finditer(r'^(struct %s_\w+) \{\n.*?^\};' % prefix, text, re.M | re.S):
                self.structs[match.group(1)] = match.group(0)
            for match in re.finditer(r'^enum (%s_\w+) \{(.*?)\};' % prefix, text, re.M | re.S):
                self.enums[match.group(1)] = match.group(2)
            self.inits.update(dict(INLINE.findall(text)))
        self.names = {item.name for item in self.contracts}
        self.owners = self._owners()

    def _owners(self):
        """The function whose page shows a struct: the first that takes it."""
        owners = {}
        for item in sorted(self.contracts, key=lambda item: (item.name.endswith('_async'),
                                                             not item.name.endswith('_open'))):
            for kind, _ in item.params:
                found = re.search(r'struct %s_\w+' % self.prefix, kind)
                if found and found.group(0) in self.structs:
                    owners.setdefault(found.group(0), item.name)
        return owners


def escape(text):
    """Plain text as mdoc body text: no line begins a request, no backslash begins an escape."""
    text = text.replace('\\', '\\e')
    return re.sub(r"^([.'])", r'\\&\1', text, flags=re.M)


def sentences(text):
    """One sentence a line, as mdoc expects; long sentences are folded."""
    text = re.sub(r"(?<=[\w)][.?!])\s+(?=[A-Z\"@'(])", '\n', ' '.join(text.split()))
    lines = [part for line in text.split('\n') for part in textwrap.wrap(
        line, 78, break_long_words=False, break_on_hyphens=False)]
    return escape('\n'.join(lines))


def literal(text):
    lines = escape(text.strip('\n')).split('\n')
    return ['.Bd -literal', *(line or '\\&' for line in lines), '.Ed']


def section(title, text):
    if not text:
        return []
    if not re.match('r(pm|fs)_', text):
        text = text[0].upper() + text[1:]
    return [f'.Sh {title}', *sentences(text).split('\n')]


def threads(text):
    """The short forms of the contract blocks, spelt out."""
    for short, full in THREAD_RULES.items():
        if text.startswith(short):
            return full + text[len(short):]
    return text


def references(headers, item, more):
    text = ' '.join([item.text, item.returns] + [text for _, text in item.args + item.labels])
    names = set(re.findall(r'\b(%s_\w+)\(\)' % headers.prefix, text)) & headers.names | set(more)
    names.discard(item.name)
    rows = [(headers.name, 7)] + [(name, 3) for name in names]
    return ['.Sh SEE ALSO'] + listed(sorted(rows, key=lambda row: (row[1], row[0])))


def listed(rows):
    """A list of pages, as (name, section)."""
    return [f'.Xr {name} {part} ,' for name, part in rows[:-1]] + [f'.Xr {name} {part}' for name, part in rows[-1:]]


def synopsis(headers, item, inits):
    result = re.sub(r'R(?:PM|FS)_MUST_CHECK |\s*\b%s\b.*' % item.name, '', item.prototype)
    lines = ['.Sh SYNOPSIS', f'.In {headers.name}.h', f'.Ft {escape(result)}', f'.Fo {item.name}']
    for kind, name in item.params:
        gap = '' if kind.endswith('*') else ' '
        lines.append(f'.Fa "{kind}{gap}{name}{item.arrays.get(name, "")}"')
    if not item.params:
        lines.append('.Fa void')
    lines.append('.Fc')
    for kind, name in inits:
        lines += [f'.Ft {kind}', f'.Fn {name} void']
    return lines


def return_values(item):
    fails = item.label('Errors') is not None
    if item.returns:
        text = item.returns
        if fails:
            text += '\nOn failure a negative error code is returned.'
        return section('RETURN VALUES', text)
    if fails:
        return section('RETURN VALUES', '0 on success, or a negative error code.')
    return []


def errors(headers, text):
    """The errors of a function, and those of headers to which it refers, or to which they refer."""
    lines = section('ERRORS', text)
    names = contract.referred_headers(text)
    for name in names:
        shared = headers.errors[name]
        lines += ['.Pp', *sentences(f'Those of <{headers.name}/{name}> are, {shared}').split('\n')]
        names += [more for more in contract.referred_headers(shared) if more not in names]
    return lines


def function_page(headers, item, options):
    owned = [kind for kind, owner in headers.owners.items() if owner == item.name]
    inits = [(kind, headers.inits[kind]) for kind in owned if kind in headers.inits]
    names = [item.name] + [name for _, name in inits]
    lines = [f'.Dd {options.date}', f'.Dt {item.name.upper()} 3', f'.Os librpm {options.version}',
             '.Sh NAME']
    lines += [f'.Nm {name} ,' for name in names[:-1]] + [f'.Nm {names[-1]}']
    lines += [f'.Nd {escape(item.summary.rstrip(".?"))}']
    sim = '-sim' if item.name in headers.of_sim else ''
    lines += ['.Sh LIBRARY',
              f'{headers.name}{sim}, linked as \\-l{headers.flag}{sim} or through pkg-config {headers.name}{sim}']
    lines += synopsis(headers, item, inits)
    lines += ['.Sh DESCRIPTION']
    paragraphs = [item.summary[0].upper() + item.summary[1:]] + item.text.split('\n\n')
    lines += '\n.Pp\n'.join(sentences(text) for text in paragraphs if text).split('\n')
    if item.args:
        lines += ['.Bl -tag -width Ds']
        for name, text in item.args:
            lines += [f'.It Fa {name}', *sentences(text).split('\n')]
        lines += ['.El']
    for name in re.findall(r'\benum (\w+)', ' '.join(text for _, text in item.args)):
        if name in headers.enums:
            lines += ['.Pp', f'The values of enum {name} are:', enum_list(headers, name)]
    for kind in owned:
        lines += literal(headers.structs[kind])
    for kind, name in inits:
        lines += ['.Fn ' + name, f'gives a {kind} with every field at its default.']
    lines += section('DURABILITY', item.label('Durable')) + return_values(item)
    lines += errors(headers, item.label('Errors') or '')
    lines += section('THREADS', threads(item.label('Threads') or ''))
    lines += section('COST', item.label('Cost')) + section('SOURCE', item.label('Source'))
    kinds = {found for kind, _ in item.params for found in re.findall(r'struct %s_\w+' % headers.prefix, kind)}
    more = [headers.owners[kind] for kind in kinds if kind in headers.owners]
    return names, '\n'.join(lines + references(headers, item, more)) + '\n'


def enum_list(headers, name):
    """The enumerators of an enum with their comments, as a list."""
    lines = ['.Bl -tag -width Ds']
    for match in ENTRY.finditer(headers.enums[name]):
        text = re.sub(r'\s*\n\s*', ' ', match.group(3))
        lines += [f'.It Dv {match.group(1)}', *sentences(text).split('\n')]
    return '\n'.join(lines + ['.El'])


def prose(parts):
    """Paragraphs of a comment; one whose lines are indented stays as it is."""
    lines = []
    for part in parts:
        plain = any(not line.startswith(' ') for line in part.split('\n'))
        lines += ['.Pp', *sentences(part).split('\n')] if plain else literal(part)
    return lines[1:]


def overview_page(headers, options):
    """What the first comments of the headers say, which holds for the functions of each."""
    title, *more = headers.about[0].partition(': ')[2].split('. ', 1)
    lines = [f'.Dd {options.date}', f'.Dt {headers.name.upper()} 7', f'.Os librpm {options.version}',
             '.Sh NAME', f'.Nm {headers.name}', f'.Nd {escape(" ".join(title.split()))}',
             '.Sh SYNOPSIS', f'.In {headers.name}.h', '.Pp', f'cc program.c $(pkg-config --cflags --libs {headers.name})',
             '.Sh DESCRIPTION', *prose(more + headers.about[1:])]
    for name, (first, *others) in headers.comments.items():
        text = first.partition(': ')[2]
        lines += [f'.Ss <{headers.name}/{name}>', *prose([text[0].upper() + text[1:], *others]),
                  '.Pp', 'Functions:', *listed([(each, 3) for each in headers.functions[name]])]
    return '\n'.join(lines + ['.Sh SEE ALSO'] + listed([('rpm-fs', 1), ('librpm', 7)])) + '\n'


def inline_text(text):
    text = re.sub(r'\*\*([^*]+)\*\*|`([^`]+)`', lambda m: m.group(1) or m.group(2), text)
    text = re.sub(r'\[([^\]]+)\]\([^)]*\)', r'\1', text)
    return re.sub(r'(?<![\w*])\*([^\s*]|[^\s*][^*]*[^\s*])\*(?![\w*])', r'\1', text)


def markdown_blocks(text):
    """Cut markdown into (kind, lines): code, table, list, heading, text."""
    blocks = []
    code = False
    for line in text.split('\n'):
        if line.startswith('```'):
            code = not code
            blocks.append(('code' if code else 'gap', []))
            continue
        kind = 'gap'
        if code:
            kind = 'code'
        elif line.startswith('#'):
            kind = 'heading'
        elif line.startswith('|'):
            kind = 'table'
        elif re.match(r'\s*([-*]|\d+\.) ', line):
            kind = 'list'
        elif line.strip():
            kind = 'list' if blocks and blocks[-1][0] == 'list' and line[0] == ' ' else 'text'
        if not blocks or blocks[-1][0] != kind or kind == 'heading':
            blocks.append((kind, []))
        blocks[-1][1].append(line)
    return [(kind, lines) for kind, lines in blocks if kind != 'gap' and lines]


def table_text(lines):
    rows = [[inline_text(cell.strip()) for cell in line.strip().strip('|').split('|')]
            for line in lines if not re.match(r'^\|[\s:|-]+$', line)]
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(len(rows[0]))]
    return '\n'.join('  '.join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                     for row in rows)


def list_lines(lines):
    items = []
    for line in lines:
        found = re.match(r'\s*(?:[-*]|\d+\.) (.*)', line)
        if found:
            items.append(found.group(1))
        else:
            items[-1] += ' ' + line.strip()
    result = ['.Bl -enum' if re.match(r'\s*\d', lines[0]) else '.Bl -bullet']
    for item in items:
        result += ['.It', *sentences(inline_text(item)).split('\n')]
    return result + ['.El']


def heading_lines(line):
    level = len(line) - len(line.lstrip('#'))
    title = inline_text(line.lstrip('# '))
    return [f'.Sh {escape(title.upper())}' if level == 2 else f'.Ss {escape(title)}']


def format_page(text, options):
    lines = [f'.Dd {options.date}', '.Dt LIBRPM-FORMAT 5', f'.Os librpm {options.version}',
             '.Sh NAME', '.Nm librpm-format', '.Nd bytes on media and on the wire',
             '.Sh DESCRIPTION']
    fresh = True  # no .Pp straight after a heading
    for kind, block in markdown_blocks(text):
        if kind == 'heading':
            if not block[0].startswith('# '):
                lines += heading_lines(block[0])
            fresh = True
            continue
        if kind == 'text':
            lines += ([] if fresh else ['.Pp']) + sentences(inline_text(' '.join(block))).split('\n')
        elif kind == 'list':
            lines += list_lines(block)
        else:
            lines += literal('\n'.join(block) if kind == 'code' else table_text(block))
        fresh = False
    return '\n'.join(lines + ['.Sh SEE ALSO', '.Xr librpm 7']) + '\n'


def handmade_page(path, headers, options):
    text = path.read_text()
    text = re.sub(r'^@ENUM (\w+)@$', lambda m: enum_list(headers, m.group(1)), text, flags=re.M)
    text = re.sub(r'^\.Dd .*$', f'.Dd {options.date}', text, count=1, flags=re.M)
    return re.sub(r'^\.Os librpm$', f'.Os librpm {options.version}', text, count=1, flags=re.M)


def pages(options):
    """Every page as (file below the output folder, text)."""
    top = Path(options.root)
    headers = Headers(top / 'lib/include', 'librpm', options.library, 'rpm')
    files = Headers(top / 'fs/include', 'librpmfs', 'rpmfs', 'rfs')
    for library in (headers, files):
        for item in library.contracts:
            names, text = function_page(library, item, options)
            yield f'man3/{names[0]}.3', text
            for alias in names[1:]:
                yield f'man3/{alias}.3', f'.so man3/{names[0]}.3\n'
    yield 'man7/librpmfs.7', overview_page(files, options)
    for name in cxxman.PAGES:
        header = top / f'dtx/include/dtx/{name}.h'
        if header.exists():
            yield f'man3/dtx_{name}.3', cxxman.page(name, header.read_text(), options,
                                                    sys.modules[__name__])
    format_file = top / 'lib/FORMAT.md'
    if format_file.exists():
        yield 'man5/librpm-format.5', format_page(format_file.read_text(), options)
    for path in sorted(path for folder in ('tools', 'lib', 'dtx', 'fs')
                       for path in top.glob(f'{folder}/man/*.[1-8]')):
        yield f'man{path.suffix[1:]}/{path.name}', handmade_page(path, headers, options)


def main():
    parser = argparse.ArgumentParser(description='Make the manual pages.')
    parser.add_argument('--root', default=Path(__file__).resolve().parent.parent)
    parser.add_argument('--out', help='folder that gets man1/, man3/ and so on')
    parser.add_argument('--date', default=str(datetime.date.today()), help='ISO date of the pages')
    parser.add_argument('--version', default='0')
    parser.add_argument('--library', default='rpm', help='name behind -l')
    parser.add_argument('--list', action='store_true', help='name the pages and make none')
    parser.add_argument('--quiet', action='store_true')
    options = parser.parse_args()
    options.date = datetime.date.fromisoformat(options.date).strftime('%B %-d, %Y')
    if not options.list and not options.out:
        parser.error('--out is missing')
    count = 0
    for name, text in pages(options):
        count += 1
        if options.list:
            print(name)
            continue
        path = Path(options.out) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    if not options.list and not options.quiet:
        print(f'{count} manual pages in {options.out}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
