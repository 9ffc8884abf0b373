# SPDX-License-Identifier: BSD-3-Clause
"""Is a history of calls on files linearisable: has it one order in time that explains all results?

A history is a list of Call. begin and end are ns of one clock, around the call. A call without a result may have
happened at any time since it began, or not at all: its client was killed, or it ended with EIO. One that ended with
ENOSPC has not happened.

    write   file, block, count, value    "ok"              blocks of 4 KiB, all with a value that no other write has
    read    file, block, count           values            "": never written; "?...": parts of several values
    append  file, value                  "ok"              a record with a value that no other one has
    list    file                         values            of all records
    create  name                         ino, "EEXIST"     open() with O_CREAT and O_EXCL
    stat    name                         ino, "ENOENT"
    unlink  name                         "ok", "ENOENT"
    rename  name, to                     "ok", "ENOENT"
    link    name, to                     "ok", "ENOENT", "EEXIST"
    names   -                            {name: ino}       of the whole directory

Each block is a register, each file of records a list, and the directory as a whole one object. A history is linearisable
if that of each object is (Herlihy and Wing, 1990), so the three kinds are judged apart, each completely.
"""
import bisect
import collections
import json

NEVER = 1 << 63
MEMBERS = ("client", "call", "args", "result", "begin", "end")
CONFIGURATIONS_MAX = 200000

Call = collections.namedtuple("Call", MEMBERS)


class Undecided(Exception):
    """Too many calls of unknown outcome to try all orders."""


def to_line(call):
    return json.dumps(call._asdict(), separators=(",", ":")) + "\n"


def from_line(line):
    call = Call(**json.loads(line))
    return call._replace(end=NEVER if call.end is None else call.end)


def said(call):
    end = "-" if call.end == NEVER else call.end
    return f"{call.client} {call.call}({', '.join(map(str, call.args))}) = {call.result} [{call.begin}, {end}]"


class Zone:
    """The write of one value to a register, and the reads that returned it. Some of these calls had ended at
    first_end; one of them began at last_begin. So the value was there in between, if first_end < last_begin."""

    def __init__(self, write):
        self.write = self.first = self.last = write
        self.reads = 0

    def add(self, read):
        self.reads += 1
        if read.end < self.first.end:
            self.first = read
        if read.begin > self.last.begin:
            self.last = read

    @property
    def first_end(self):
        return self.first.end

    @property
    def last_begin(self):
        return self.last.begin

    def has_to_be_there(self):
        return self.first_end < self.last_begin


def zones_of(place, calls):
    """By value. Returns also what is wrong with single reads."""
    zones = {"": Zone(Call("-", "write", [place, ""], "ok", -1, -1))}
    found = []
    for call in calls:
        if call.call == "write":
            if call.args[-1] in zones:
                found.append(f"{place}: the value {call.args[-1]} was written twice")
            zones[call.args[-1]] = Zone(call)
    for call in calls:
        if call.call != "read":
            continue
        zone = zones.get(call.result)
        if zone is None:
            found.append(f"{place}: no call has written what this one read: {said(call)}")
        elif call.end < zone.write.begin:
            found.append(f"{place}: {said(call)} read what {said(zone.write)} wrote later")
        else:
            zone.add(call)
    return zones, found


def judge_register(place, calls):
    """Gibbons and Korach (1997), for registers whose values are all different: value A has to come before B if a call
    of A had ended when one of B began. It is linearisable if no two values have to come before each other."""
    zones, found = zones_of(place, calls)
    known = [zone for zone in zones.values() if zone.first_end != NEVER]
    there = sorted((zone for zone in known if zone.has_to_be_there()), key=lambda zone: zone.first_end)
    begins = [zone.first_end for zone in there]
    longest = []  # of the zones up to each one, that which ends last
    for zone in there:
        longest.append(zone if not longest or zone.last_begin > longest[-1].last_begin else longest[-1])
    pairs = [(there[i], longest[i - 1]) for i in range(1, len(there))]
    for zone in known:
        i = bisect.bisect_left(begins, zone.last_begin)
        if i > 0 and not zone.has_to_be_there():
            pairs.append((zone, longest[i - 1]))
    for zone, other in pairs:
        if zone.first_end < other.last_begin:
            found.append(f"{place}: {said(zone.first)} had ended when {said(other.last)} began, and {said(other.first)} "
                         f"when {said(zone.last)}")
    return found


def judge_list(place, calls):
    """Records are only appended, so the longest list says in which order. Each call has then its place in the order,
    and is wrong if it began after one that has a later place had ended."""
    lists = [call for call in calls if call.call == "list"]
    order = max((call.result for call in lists), key=len, default=[])
    appends = {call.args[1]: call for call in calls if call.call == "append"}
    found = []
    groups = [[] for _ in range(2 * len(order) + 2)]  # lists of 0 records, append of the first, lists of 1 record ...
    placed = set()
    for i, value in enumerate(order):
        if value in appends and value not in placed:
            groups[2 * i + 1].append(appends[value])
        else:
            found.append(f"{place}: record {i} is {value}, which no call has appended, or one and not twice")
        placed.add(value)
    for call in lists:
        if call.result == order[:len(call.result)]:
            groups[2 * len(call.result)].append(call)
        else:
            found.append(f"{place}: {said(call)} is not how the longest list begins, {order}")
    groups[-1] = [call for value, call in appends.items() if value not in placed]  # after all lists
    later = None  # of the calls behind those that are looked at, the one that ended first
    for group in reversed(groups):
        found += [f"{place}: {said(later)} had ended when {said(call)} began, and has a later place" for call in group
                  if later is not None and call.begin > later.end]
        later = min(group + ([later] if later else []), key=lambda call: call.end, default=None)
    return found


class Directory:
    """All names of a directory as one object. Its state has the inode of each name, or None. The inode of a file that
    was made by a call without a result is ("?", number of the call) until another call has told it."""

    def __init__(self, calls):
        names = {name for call in calls for name in call.args}
        names |= {name for call in calls if call.call == "names" and call.result for name in call.result}
        self.place = {name: i for i, name in enumerate(sorted(names))}
        self.start = (None,) * len(self.place)

    def places(self, call):
        if call.call == "names":
            return frozenset(range(len(self.start)))
        return frozenset(self.place[name] for name in call.args)

    @staticmethod
    def told(state, at, ino):
        """The state in which the inode at a place is @ino, or None."""
        if state[at] == ino:
            return state
        if isinstance(state[at], tuple) and ino is not None and ino not in state:
            return tuple(ino if each == state[at] else each for each in state)
        return None

    def after(self, state, call, number):
        """The state after a call with this result, or None: it cannot have happened in @state."""
        act = getattr(self, call.call)
        return act(state, [self.place[name] for name in call.args], call.result, number)

    @staticmethod
    def put(state, at, ino):
        return state[:at] + (ino,) + state[at + 1:]

    def create(self, state, args, result, number):
        if result == "EEXIST":
            return state if state[args[0]] is not None else None
        return self.put(state, args[0], ("?", number) if result is None else result) if state[args[0]] is None else None

    def stat(self, state, args, result, _):
        return self.told(state, args[0], None if result == "ENOENT" else result)

    def unlink(self, state, args, result, _):
        if result == "ENOENT":
            return state if state[args[0]] is None else None
        return self.put(state, args[0], None) if state[args[0]] is not None else None

    def rename(self, state, args, result, _):
        source, target = args
        if result == "ENOENT":
            return state if state[source] is None else None
        if state[source] is None:
            return None
        if state[source] == state[target]:
            return state
        return self.put(self.put(state, target, state[source]), source, None)

    def link(self, state, args, result, _):
        source, target = args
        if result == "ENOENT":
            return state if state[source] is None else None
        if state[source] is None or (state[target] is not None) != (result == "EEXIST"):
            return None
        if result == "EEXIST":
            return state
        return self.put(state, target, state[source])

    def names(self, state, _, result, __):
        for name, at in self.place.items():
            state = self.told(state, at, result.get(name))
            if state is None:
                return None
        return state


class NameJudge:
    """Just-in-time linearisation (Lowe, 2017): goes through the calls by time, and keeps all configurations that
    explain the results so far: a state, and which of the calls under way have happened.

    When a call returns, it must have happened; others that are under way may have happened before it. Only those that
    share names with it, or with one that does, have to be tried: the others may as well happen later. A call that only
    reads happens as soon as it can."""

    def __init__(self, calls):
        self.calls = calls
        self.model = Directory(calls)
        self.places = [self.model.places(call) for call in calls]
        self.open = []  # numbers of calls that are under way
        self.configurations = {(self.model.start, frozenset())}
        self.found = []

    def related(self, number):
        """Calls under way that may have to happen before one, and that one."""
        near, places, rest = [number], self.places[number], [each for each in self.open if each != number]
        grown = True
        while grown:
            grown = False
            for each in rest[:]:
                if self.places[each] & places:
                    places = places | self.places[each]
                    near.append(each)
                    rest.remove(each)
                    grown = True
        return near

    def only_reads(self, number):
        call = self.calls[number]
        return call.call in ("stat", "names") or call.result in ("ENOENT", "EEXIST")

    def settle(self, state, done, near):
        """Calls that only read have happened, if they can have."""
        happened = [each for each in near if each not in done and self.only_reads(each)
                    and self.model.after(state, self.calls[each], each) == state]
        return state, done.union(happened) if happened else done

    def returned(self, number):
        near = self.related(number)
        stack = [self.settle(*each, near) for each in self.configurations]
        seen, kept = set(stack), set()
        while stack:
            state, done = stack.pop()
            if number in done:
                kept.add((state, done - {number}))
                continue
            for each in near:
                then = None if each in done else self.model.after(state, self.calls[each], each)
                if then is None:
                    continue
                after = self.settle(then, done | {each}, near)
                if after not in seen:
                    seen.add(after)
                    stack.append(after)
            if len(seen) > CONFIGURATIONS_MAX:
                raise Undecided(f"more than {CONFIGURATIONS_MAX} orders of names when {said(self.calls[number])} ended")
        self.open.remove(number)
        if not kept:  # goes on as if there had not been this call
            self.found.append(f"names: no order explains {said(self.calls[number])}")
            kept = {(state, done - {number}) for state, done in self.configurations}
        self.configurations = kept

    def judge(self):
        events = [(call.begin, 0, i) for i, call in enumerate(self.calls)]
        events += [(call.end, 1, i) for i, call in enumerate(self.calls) if call.end != NEVER]
        for _, ends, number in sorted(events):
            if ends:
                self.returned(number)
            else:
                self.open.append(number)
        return self.found


CHANGES = ("write", "append", "create", "unlink", "rename", "link")
OF_BLOCKS = ("write", "read")
OF_LISTS = ("append", "list")


def known(calls):
    """Without reads that have no result, and calls that were refused for lack of room, which change nothing."""
    return [call._replace(end=NEVER) if call.result is None else call for call in calls
            if call.result != "ENOSPC" and (call.result is not None or call.call in CHANGES)]


def by_block(calls):
    """Each call on several blocks as one for each of them."""
    places = collections.defaultdict(list)
    for call in calls:
        file, first, count = call.args[:3]
        for i in range(count):
            place = f"{file}/{first + i}"
            if call.call == "write":
                places[place].append(call._replace(args=[place, call.args[3]]))
            else:
                places[place].append(call._replace(args=[place], result=call.result[i]))
    return places


class Judged:
    """What is wrong with a history, in texts."""

    def __init__(self, calls):
        calls = known(calls)
        self.operations = len(calls)
        self.reads = []
        self.lists = collections.defaultdict(list)
        for call in calls:
            if call.call in OF_LISTS:
                self.lists[call.args[0]].append(call)
        for place, each in by_block([call for call in calls if call.call in OF_BLOCKS]).items():
            self.reads += judge_register(place, each)
        for place, each in self.lists.items():
            self.reads += judge_list(place, each)
        names = NameJudge([call for call in calls if call.call not in OF_BLOCKS + OF_LISTS])
        try:
            names.judge()
        except Undecided:  # whatever the calls behind may show: what was found before is wrong
            if not self.reads and not names.found:
                raise
        self.names = names.found

    def good(self):
        return not self.reads and not self.names

    def line(self):
        return (f"{'' if self.good() else 'not '}linearisable: {self.operations} operations, {len(self.reads)} stale "
                f"reads, {len(self.names)} stale names")
