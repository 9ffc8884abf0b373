# SPDX-License-Identifier: BSD-3-Clause
"""prose.py: two checks of tidy.py, on text: comments and documents name files that exist, and use
no word that was retired for the field's own.

    scripts/tidy.py --only NAMES,RETIRED
"""

import os
import re

import csource

C_LIKE = ('.c', '.h', '.cc', '.cpp', '.hpp')
HASHED = ('.py', '.sh', '.cmake', '.toml', 'CMakeLists.txt')

# A path with a folder and a suffix of ours, or the file of a test. Not part of a pattern, a URL or a
# path that begins elsewhere; a capital X or NAME stands for a name.
ENDINGS = 'cc|cpp|hpp|c|h|py|sh|md|toml|cmake|csv|hex|map'
PATH = re.compile(r'(?<![\w./*$<>{}~%%-])((?:[\w-]+/|\.\./)+[\w-]+\.(?:%s)'
                  r'|\w+_(?:test|fuzz)\.(?:cpp|cc|py))(?![\w*{}/-])' % ENDINGS)
PLACEHOLDER = re.compile(r'(?:^|/)(?:X|NAME)(?:_|\.)')
# Packages of others whose headers comments name.
FOREIGN = ('nlohmann/', 'CLI/', 'infiniband/', 'rdma/', 'linux/', 'sys/', 'rpm/')

# Words without an actor, and coinages that have a standard term.
ACTOR = 'name who acts: the client, the server, the owner of the lock'
RETIRED = {
    'whoever': ACTOR, 'whomever': ACTOR, 'nobody': ACTOR, 'somebody': ACTOR, 'everybody': ACTOR,
    'anybody': ACTOR, 'someone': ACTOR, 'anyone': ACTOR, 'everyone': ACTOR,
    'rig': 'server model', 'cue': 'step', 'pulse': 'liveness page', 'haunt': 'keep the cleanup pending',
    'haunted': 'the cleanup of a dead client is pending', 'haunts': 'keeps the cleanup pending',
    'bury': 'clean up after', 'buries': 'cleans up after', 'buried': 'cleaned up after',
    'knock': 'ask to be admitted', 'knocks': 'asks to be admitted', 'kin': 'connections of one origin',
    'crowd': 'clients, threads, or the admission queue', 'crowds': 'clients',
    'breathe': 'yield', 'breath': 'yield', 'breaths': 'yields',
    'RPM_ROLE_LOOK': 'RPM_ROLE_READ', 'RPM_ROLE_TAKE': 'RPM_ROLE_LOCK',
    'RPM_ROLE_GIVE': 'RPM_ROLE_UNLOCK', 'RPM_ROLE_SWAP': 'RPM_ROLE_UPDATE',
    'rpm_device_ask': 'rpm_device_capability', 'RPM_DEVICE_ASKS': 'RPM_DEVICE_CAPABILITIES',
    'rpm_device_ask_name': 'rpm_device_capability_name',
    'kCanaryLookEarly': 'kCanaryValidateEarly',
    # As names of types alone.
    'Party': 'Client', 'Ground': 'Fixture', 'Obstacle': 'BlockingLock', 'Patience': 'RetryDeadline',
    'Fates': 'Outcomes', 'Scribe': 'Recorder',
}
SPELLINGS = {form: text for word, text in RETIRED.items()
             for form in ([word, word.capitalize(), word.upper()] if word.islower() else [word])}
# This list itself, and inputs that may hold any bytes.
EXEMPT = ('scripts/prose.py', 'tests/fuzz/corpus/')


def comments(path, text):
    """(offset, text) of each comment; a document is one."""
    if path.endswith('.md'):
        yield 0, text
    elif path.endswith(C_LIKE):
        plain = csource.RAW_STRING.sub(lambda m: re.sub(r'[^\n]', ' ', m.group(0)), text)
        for match in csource.NOISE.finditer(plain):
            if match.group(0).startswith('/'):
                yield match.start(), match.group(0)
    else:
        for match in re.finditer(r'#[^\n]*', text):
            yield match.start(), match.group(0)


def endings_of(paths):
    """Every way to name a file by the end of its path."""
    known = set()
    for path in paths:
        parts = path.split('/')
        known |= {'/'.join(parts[i:]) for i in range(len(parts))}
    return known


def line_of(text, offset):
    return text.count('\n', 0, offset) + 1


def check_names(tree):
    """a file that a comment or a document names exists"""
    known = endings_of(tree.paths)
    for path, text in tree.texts.items():
        if not path.endswith(C_LIKE + HASHED + ('.md',)) and not text.startswith('#!'):
            continue
        for offset, comment in comments(path, text):
            for match in PATH.finditer(comment):
                name = match.group(1)
                beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
                if name in known or beside in known or PLACEHOLDER.search(name):
                    continue
                if not name.startswith(FOREIGN):
                    place = f'{path}:{line_of(text, offset + match.start())}'
                    yield place, f'names {name}, which is not there', name


def check_retired(tree):
    """no word that was retired: one without an actor, or a coinage for a standard term"""
    for path, text in tree.texts.items():
        if path.startswith(EXEMPT):
            continue
        for word in sorted(SPELLINGS.keys() & set(re.findall(r'\w+', text))):
            for match in re.finditer(r'\b%s\b' % word, text):
                place = f'{path}:{line_of(text, match.start())}'
                yield place, f'"{word}" is retired: {SPELLINGS[word]}', word
