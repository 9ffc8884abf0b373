# SPDX-License-Identifier: BSD-3-Clause
"""contract.py: the contract blocks of the public headers, as data. tidy.py checks them, mkman.py
turns them into manual pages."""

import re
from dataclasses import dataclass, field

LABELS = ('Durable', 'Errors', 'Threads', 'Cost', 'Source')
BLOCK = re.compile(r'/\*\*\n(?P<doc>(?: \*[^\n]*\n)+?) \*/\n(?P<proto>[^/;{}]*;)')
PROTOTYPE = re.compile(r'^(?!typedef|static|struct \w+;|#)[A-Za-z][^;{}#]*?'
                       r'\b(r(?:pm|fs)_\w+)\s*\(([^;{}]*)\)[^;{}()]*;', re.M)


@dataclass
class Contract:
    name: str
    line: int
    prototype: str
    params: list  # (type, name)
    arrays: dict = field(default_factory=dict)  # name of a parameter -> '[2]'
    summary: str = ''
    text: str = ''  # sentences that belong to no label
    returns: str = ''
    args: list = field(default_factory=list)  # (name, text)
    labels: list = field(default_factory=list)  # (label, text)
    documented: bool = False

    def label(self, wanted):
        return next((text for label, text in self.labels if label == wanted), None)


def _split_params(inside):
    inside = ' '.join(inside.split())
    if inside in ('', 'void'):
        return []
    params = []
    for param in inside.split(','):
        found = re.match(r'(.*?)(\w+)(\[\w*\])?$', param.strip())
        params.append((found.group(1).strip(), found.group(2)))
    return params


def _sections(doc):
    """Cut a block into (kind, key, text): head, arg, label, returns or prose."""
    lines = [line[3:] if line.startswith(' * ') else '' for line in doc.split('\n')[:-1]]
    sections = []
    current = None
    for line in lines:
        arg = re.match(r'@(\w+)\s+(.*)', line)
        label = re.match(r'(%s):\s+(.*)' % '|'.join(LABELS), line)
        returns = re.match(r'(Returns?(?:ed)?)\b', line)
        if not line.strip():
            current = None
            continue
        if arg:
            current = ['arg', arg.group(1), arg.group(2)]
        elif label:
            current = ['label', label.group(1), label.group(2)]
        elif returns and not line.startswith(' '):
            current = ['returns', '', line]
        elif current is None:
            current = ['prose', '', line]
        else:
            current[2] += ' ' + line.strip()
            continue
        sections.append(current)
    return sections


def _fill(contract, doc):
    contract.documented = True
    prose = []
    for kind, key, text in _sections(doc):
        if kind == 'arg':
            contract.args.append((key, text))
        elif kind == 'label':
            contract.labels.append((key, text))
        elif kind == 'returns':
            contract.returns = (contract.returns + ' ' + text).strip()
        else:
            prose.append(text)
    if prose and prose[0].startswith(contract.name + ':'):
        contract.summary = prose.pop(0)[len(contract.name) + 1:].strip()
    contract.text = '\n\n'.join(prose)


def _first_comment(text):
    first = re.search(r'/\*\n(?P<doc>(?: \*[^\n]*\n)+?) \*/\n', text)
    return first.group('doc') if first else ''


def shared_errors(text):
    """The errors that a header's first comment lists for the functions that refer to it, or None."""
    return next((text for _, key, text in _sections(_first_comment(text)) if key == 'Errors'), None)


def about(text):
    """The paragraphs of a header's first comment, without its errors; the first begins with its name."""
    plain = re.sub(r'^ \* ?', '', _first_comment(text), flags=re.M)
    return [part for part in plain.strip('\n').split('\n\n') if not part.startswith('Errors:')]


def referred_headers(text):
    """The headers to whose errors the text of Errors: refers, as in: those of tree.h."""
    return re.findall(r'\bthose of (\w+\.h)\b', text)


def _without_inline(text):
    blank = lambda match: '\n' * match.group(0).count('\n')
    return re.sub(r'^static inline .*?^}\n', blank, text, flags=re.S | re.M)


def contracts(text):
    """Every public function that a header declares, with its contract if it has one."""
    text = _without_inline(text)
    docs = {match.start('proto'): match.group('doc') for match in BLOCK.finditer(text)}
    bare = re.sub(r'/\*.*?\*/', lambda m: re.sub(r'[^\n]', ' ', m.group(0)), text, flags=re.S)
    found = []
    for match in PROTOTYPE.finditer(bare):
        prototype = ' '.join(match.group(0).split())
        line = bare.count('\n', 0, match.start(1)) + 1
        contract = Contract(match.group(1), line, prototype, _split_params(match.group(2)),
                            dict(re.findall(r'(\w+)(\[\w*\])', match.group(2))))
        if match.start() in docs:
            _fill(contract, docs[match.start()])
        found.append(contract)
    return found
