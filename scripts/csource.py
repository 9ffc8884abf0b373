# SPDX-License-Identifier: BSD-3-Clause
"""csource.py: C and C++ source for tidy.py and measure.py: without comments and strings, and split into
functions. Not a parser: it relies on the format that .clang-format gives our code."""

import re
from dataclasses import dataclass

NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
RAW_STRING = re.compile(r'R"([A-Za-z_]*)\((.*?)\)\1"', re.S)
ATTRIBUTE = re.compile(r'__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|\[\[[^\]]*\]\]')
CONTAINER = re.compile(r'\b(?:namespace|class|struct|union|enum|extern)\b')
CONTROL = re.compile(r'^( *)(?:\} else )?(?:if|for|while|switch|do)\b')


@dataclass
class Function:
    name: str
    first: int  # line of the first word of its head
    last: int  # line of its closing brace
    params: int
    nesting: int
    body: str


def _blank(match):
    text = match.group(0)
    if text.startswith('/'):
        return re.sub(r'[^\n]', ' ', text)
    return text[0] + re.sub(r'[^\n]', ' ', text[1:-1]) + text[-1]


def code_only(text):
    """The text with comments, strings and characters blanked, every line kept in its place."""
    text = RAW_STRING.sub(lambda m: '""' + '\n' * m.group(0).count('\n'), text)
    return NOISE.sub(_blank, text)


def _without_directives(code):
    lines = code.split('\n')
    continued = False
    for i, line in enumerate(lines):
        here = continued or line.lstrip().startswith('#')
        continued = here and line.endswith('\\')
        if here:
            lines[i] = ''
    return '\n'.join(lines)


def _strip_templates(head):
    before = None
    while before != head:
        before = head
        head = re.sub(r'<[^<>;{}]*>', '', head)
    return head


def _params(head):
    """How many parameters the first parenthesis after the name holds, and the name."""
    head = _strip_templates(ATTRIBUTE.sub('', head))
    found = re.search(r'([~\w]+(?:\s*(?:==|\(\)|\[\]|[<>+*/=!-]+))?)\s*\(', head)
    if not found:
        return None, 0
    depth = 0
    commas = 0
    start = end = found.end()
    for end in range(start, len(head)):
        char = head[end]
        if char in '([{':
            depth += 1
        elif char in ')]}':
            if depth == 0:
                break
            depth -= 1
        elif char == ',' and depth == 0:
            commas += 1
    inside = head[start:end].strip()
    return found.group(1), 0 if inside in ('', 'void') else commas + 1


def _nesting(lines, first, last):
    """Control statements inside each other. Directly nested loops count as one."""
    deepest = 0
    outer = []  # (indent, depth, line, loop)
    for number, line in enumerate(lines[first:last]):
        control = CONTROL.match(line)
        if not control:
            continue
        indent = len(control.group(1))
        loop = line.lstrip().startswith('for')
        while outer and outer[-1][0] >= indent:
            outer.pop()
        depth = 1
        if outer:
            same_walk = loop and outer[-1][3] and outer[-1][2] == number - 1
            depth = outer[-1][1] + (0 if same_walk else 1)
        outer.append((indent, depth, number, loop))
        deepest = max(deepest, depth)
    return deepest


def functions(text):
    """Every function that has a body, in order, also those inside classes and namespaces."""
    code = _without_directives(code_only(text))
    lines = code.split('\n')
    found = []
    containers = 0  # open braces that only hold declarations
    depth = 0  # open braces inside a function or an initialiser
    head_start = 0
    current = None
    for mark in re.finditer(r'[{};]', code):
        char = mark.group(0)
        if char == '{' and depth == 0:
            head = code[head_start:mark.start()]
            plain = _strip_templates(ATTRIBUTE.sub('', head)).strip()
            is_function = '(' in plain and not re.search(r'=\s*$', plain)
            if not is_function and CONTAINER.search(plain) and not plain.endswith('='):
                containers += 1
                head_start = mark.end()
                continue
            lead = len(head) - len(head.lstrip())
            current = (head, head_start + lead, mark.end()) if is_function else None
            depth = 1
        elif char == '{':
            depth += 1
        elif char == '}' and depth > 0:
            depth -= 1
            if depth == 0:
                if current:
                    found.append(_function(code, lines, current, mark.start()))
                    current = None
                head_start = mark.end()
        elif char == '}':
            containers -= 1
            head_start = mark.end()
        elif char == ';' and depth == 0:
            head_start = mark.end()
    return [function for function in found if function]


def _function(code, lines, current, end):
    head, start, body_start = current
    head = re.sub(r'^\s*(?:public|private|protected):', '', head)
    name, params = _params(head)
    if name is None:
        return None
    first = code.count('\n', 0, start) + 1
    last = code.count('\n', 0, end) + 1
    nesting = _nesting(lines, first, last)
    return Function(name, first, last, params, nesting, code[body_start:end])


def includes(text):
    """(line, form, name) of every #include; form is '<' or '"'."""
    for i, line in enumerate(text.split('\n'), 1):
        found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if found:
            yield i, found.group(1), found.group(2)
