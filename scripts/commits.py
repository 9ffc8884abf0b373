# SPDX-License-Identifier: BSD-3-Clause
"""commits.py: the subjects and sizes of commits, checked by `tidy.py --commits [BASE]`: of those of
HEAD that are not in BASE."""

import re
import subprocess

SUBJECT_COLUMNS = 72
LINES_WARNED = 400  # added and deleted; a file that only moved has none
LINES_MAX = 1000
SKIPPED = 77  # exit status if nothing can be checked
# The last commit before these rules held.
SINCE = 'ad3a0c1ad3ca'

# Commits that may be larger: subject and reason.
LARGE = {
    'sim: dispatch the events of the performance model in one function':
        'calls among eight files became events, which work only together',
    'sim: dispatch the events of the device model in one function':
        'calls among ten files became events, which work only together',
    'tests: kill what serves a volume, and read what was acknowledged':
        'a test in four files, of which none works without the others',
    'transport: add links with an agent, by agent=URL':
        'a queue that two links share, in files of which none works without the others',
    'lib: name the actors in base, plan, conn, region, pool and log':
        'comments; of the code two names only, in throttle.c',
}

# What the first word after the colon may be. A verb that is missing is added here.
VERBS = set('''
    abort accept add admit allocate allow answer apply arm ask assert assign attach avoid back balance batch begin bind
    bound break bring build bump cache call carry catch change check choose cite claim clean clear close
    collect combine compare compile complete compute configure connect convert copy correct count cover
    cross-build cut deal declare decide decode default define defer delay delete deliver deny derive
    describe detach detect disable discard dispatch divide do document downgrade drain draw drop dump edit enable
    encode end enforce ensure enter erase estimate examine exclude exercise exit expand expect explain
    export expose express extend extract fail feed fence fetch fill filter find finish fit fix flatten
    flush fold follow forbid force forget format forward frame free freeze fuzz gather generate get give
    go group grow guard halve hand handle harden have hide hint hold honour identify ignore implement import
    improve include index infer inherit initialise inline insert inspect install instrument isolate issue
    join judge keep kill know label land lay lead learn leave lend let lift limit link list listen load
    lock log look loosen lose lower make map mark match measure meet mend merge mirror model mount move name narrow
    nest note number offer omit open order own pack pad park parse pass permit persist pick pin place plan
    plant poll port post prefer prepare preserve prevent print probe promote prove provide publish pull push put
    quote raise randomise read reap rebuild receive recognise record recover reduce refer refuse register reject
    release rely remember remove rename reorder repair repeat replace replay reply report request require
    reserve reset resize resolve respect rest restore restrict resume retire retry return reuse revert
    review rewrite round route run sample save say scale scan schedule search see seed select send
    separate serialise serve set settle shape share shorten show shrink signal simplify simulate size
    skip sleep sort span spell spend spin split spread stage stamp start state stop store straighten
    strengthen stress stretch strip submit substitute support suppress suspend swap switch sync take
    teach tell terminate test tidy tie tighten time tolerate trace track treat trim trust try tune turn unify
    update upgrade use validate vary verify vouch wait wake walk warn watch weaken widen wire word wrap
    write zero
'''.split())


def git(root, *words):
    return subprocess.run(['git', '-C', str(root), *words], capture_output=True, check=False,
                          text=True, errors='replace')


def subject_faults(subject):
    """What is wrong with one subject."""
    area, colon, rest = subject.partition(': ')
    words = rest.split()
    if not colon or not words or not re.fullmatch(r'[A-Za-z0-9_.,/+ -]+', area):
        yield 'is not "area: imperative"'
        return
    if words[0] not in VERBS:
        yield f'"{words[0]}" is no imperative that scripts/commits.py knows'
    if len(subject) > SUBJECT_COLUMNS:
        yield f'has {len(subject)} characters, limit {SUBJECT_COLUMNS}'


def changed_lines(root, commit):
    """Lines that a commit adds and deletes; bytes that are not text have none."""
    numbers = git(root, 'show', '--numstat', '-M', '--format=', commit).stdout
    return sum(int(line.split('\t')[0]) + int(line.split('\t')[1])
               for line in numbers.splitlines() if re.match(r'\d+\t\d+\t', line))


def check(root, base, large=None):
    """Prints breaches and warnings; 0, 1, or SKIPPED if the history does not reach @base."""
    base = base or SINCE
    if git(root, 'merge-base', '--is-ancestor', base, 'HEAD').returncode != 0:
        print(f'commits: skipped: the history here does not reach back to {base}')
        return SKIPPED
    faults = 0
    commits = git(root, 'log', '--no-merges', '--format=%h %s', f'{base}..HEAD').stdout.splitlines()
    for commit, _, subject in (line.partition(' ') for line in commits):
        told = list(subject_faults(subject))
        lines = changed_lines(root, commit)
        if lines > LINES_MAX and subject not in (LARGE if large is None else large):
            told.append(f'changes {lines} lines, limit {LINES_MAX}: split it, or list it with a '
                        'reason in scripts/commits.py')
        elif lines > LINES_WARNED:
            print(f'{commit} {subject}: warning: changes {lines} lines, more than {LINES_WARNED}')
        for fault in told:
            print(f'{commit} {subject}: {fault}')
        faults += len(told)
    print(f'commits: {len(commits)} since {base}, {faults} breaches')
    return 1 if faults else 0
