# SPDX-License-Identifier: BSD-3-Clause
"""cxxman.py: manual pages of the C++ interface, <dtx/...>, from its headers: a page for each header
of PAGES, with its first comment, its structs and enums unchanged, and the public members
of its classes with their comments. Used by mkman.py.
"""

import re

# The headers that a program includes; the others are installed because these need them.
PAGES = ('schema', 'cluster', 'session', 'txn', 'error', 'ordered_index', 'phases', 'techniques',
         'layout')
HIDDEN = re.compile(r'= delete|operator=|^friend|^static_assert|^~|^virtual ~')
COMMENT = re.compile(r'/\*\s*(.*?)\s*\*/', re.S)


class Group:
    """Declarations that one comment is about."""

    def __init__(self, text):
        self.text = text
        self.signatures = []


def comment_text(raw):
    """A block comment without its stars."""
    return '\n'.join(re.sub(r'^\s*\* ?', '', line).strip() for line in raw.split('\n')).strip()


def about(header):
    """The first comment: (summary, paragraphs), without the line on tests."""
    text = comment_text(COMMENT.findall(header)[1])
    text = re.sub(r'^\w+\.h: ', '', re.split(r'\b(?:Tests|Invariants|Source)\b', text)[0].strip())
    first, *rest = re.split(r'\n\s*\n', text)
    summary, _, more = first.partition('. ')
    return ' '.join(summary.rstrip('.').split()), [part for part in [more, *rest] if part.strip()]


def end_of_block(text, start):
    """The place behind the brace that closes the one at @start."""
    depth = 0
    for i in range(start, len(text)):
        depth += {'{': 1, '}': -1}.get(text[i], 0)
        if depth == 0:
            return i + 1
    raise ValueError('a brace is not closed')


def end_of_declaration(text, start):
    """(end of what is to be read, end of the whole): a body or initialisers are left out."""
    depth = 0
    for i in range(start, len(text)):
        char = text[i]
        depth += {'(': 1, ')': -1}.get(char, 0)
        if depth == 0 and char == ';':
            return i, i + 1
        if depth == 0 and char == '{':
            end = end_of_block(text, i)
            return i, end + 1 if text[end:end + 1] == ';' else end
    raise ValueError('a declaration does not end')


def one_line(declaration):
    """A declaration for readers: without a constructor's initialisers and a constant's value."""
    text = ' '.join(declaration.split())
    found = re.match(r'(.*?\)(?: const| noexcept)*) : ', text)
    return found.group(1) if found else text


def members(body):
    """Groups of the public members of a class, by their comments."""
    groups = []
    public = False
    place = 0
    while True:
        space = re.match(r'\s*', body[place:]).group(0)
        place += len(space)
        if place >= len(body):
            return [group for group in groups if group.signatures]
        access = re.match(r'(public|private|protected):', body[place:])
        if access:
            public = access.group(1) == 'public'
            place += access.end()
            continue
        if body.startswith('/*', place):
            end = body.index('*/', place) + 2
            groups.append(Group(comment_text(body[place + 2:end - 2])))
            place = end
            continue
        if not groups or space.count('\n') > 1:
            groups.append(Group(''))
        read, end = end_of_declaration(body, place)
        signature = one_line(body[place:read])
        if public and not HIDDEN.search(signature):
            groups[-1].signatures.append(signature)
        place = end


def types(header):
    """The types of a header in order: (kind, name, comment, text of the definition or groups)."""
    found = []
    pattern = re.compile(r'^(?:/\*((?:(?!\*/).)*)\*/\n)?((?:template <[^\n]*> )?'
                         r'(?:struct|class|enum class|enum) (\w+)[^;{]*\{)', re.M | re.S)
    for match in pattern.finditer(header):
        comment = comment_text(match.group(1) or '')
        end = end_of_block(header, match.end() - 1)
        text = header[match.start(2):end]
        if re.match(r'(template <[^\n]*> )?class', match.group(2)):
            found.append(('class', match.group(3), comment, members(header[match.end():end - 1])))
        else:
            found.append(('struct', match.group(3), comment, text + ';'))
    return found


def quoted(text):
    return '"' + text.replace('\\', '\\e').replace('"', '""') + '"'


def type_lines(kind, name, comment, content, mdoc):
    lines = [f'.Ss {name}'] + (mdoc.sentences(comment).split('\n') if comment else [])
    if kind == 'struct':
        return lines + mdoc.literal(content)
    lines += ['.Bl -tag -width Ds']
    for group in content:
        lines += [f'.It Li {quoted(one)}' for one in group.signatures]
        lines += mdoc.sentences(group.text).split('\n') if group.text else []
    return lines + ['.El']


def page(name, header, options, mdoc):
    """The manual page of one header. @mdoc: how mkman writes sentences and literal text."""
    summary, paragraphs = about(header)
    title = f'dtx_{name}'
    lines = [f'.Dd {options.date}', f'.Dt {title.upper()} 3', f'.Os librpm {options.version}',
             '.Sh NAME', f'.Nm {title}', f'.Nd {mdoc.escape(summary)}', '.Sh LIBRARY',
             'dtx, a library of C++20, through pkg-config dtx or librpm::dtx of CMake',
             '.Sh SYNOPSIS', f'.In dtx/{name}.h', '.Sh DESCRIPTION',
             'All names are in namespace dtx.']
    for text in paragraphs:
        lines += ['.Pp', *mdoc.sentences(text).split('\n')]
    for kind, own, comment, content in types(header):
        lines += type_lines(kind, own, comment, content, mdoc)
    others = [other for other in PAGES if other != name]
    lines += ['.Sh SEE ALSO', '.Xr dtx 3 ,']
    lines += [f'.Xr dtx_{other} 3 ,' for other in sorted(others)] + ['.Xr librpm 7']
    return '\n'.join(lines) + '\n'
