# SPDX-License-Identifier: BSD-3-Clause
"""Processes at two mounts that write the same files, and whether what they saw has one order in time.

Each write has a name of its own. Journals are files of records that are only appended: one is begun each second.
Registers are blocks of one file, each overwritten as a whole. A process notes, for each call,

    KIND PLACE NAME BEGIN END RESULT

in nanoseconds of the monotonic clock; RESULT is "ok", or the error. Of a read of a journal, NAME is how many records
it had; of a read of a register, the write that it showed.
"""
import bisect
import collections
import errno
import os
import random
import time

RECORD = 64
BLOCK = 4096
REGISTERS = 4
NEVER = 1 << 62

Call = collections.namedtuple("Call", "kind place name begin end result")


def record(name):
    return name.ljust(RECORD - 1).encode() + b"\n"


def names_in(data):
    return [data[i:i + RECORD].decode(errors="replace").rstrip() for i in range(0, len(data), RECORD)]


class Client:
    """One process."""

    def __init__(self, world, name, mount, begun_ns):
        self.world = world
        self.name = name
        self.mount = world.path(mount)
        self.begun_ns = begun_ns
        self.random = random.Random(name)
        self.notes = open(world.path(name + ".notes"), "w", buffering=1, encoding="utf-8")
        self.number = 0

    def journal(self):
        return f"journal{(time.monotonic_ns() - self.begun_ns) // 10**9}"

    def note(self, kind, place, name, call):
        """Makes a call, which returns a name instead of @name, or None."""
        begin = time.monotonic_ns()
        try:
            name, result = call() or name, "ok"
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            result = "EIO"
        print(kind, place, name, begin, time.monotonic_ns(), result, file=self.notes)

    def open(self, name, flags):
        return os.open(os.path.join(self.mount, name), flags, 0o644)

    def append(self):
        self.number += 1
        name, place = f"{self.name}.{self.number}", self.journal()

        def call():
            fd = self.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            try:
                assert os.write(fd, record(name)) == RECORD
            finally:
                os.close(fd)

        self.note("append", place, name, call)

    def overwrite(self):
        self.number += 1
        name, place = f"{self.name}.{self.number}", self.random.randrange(REGISTERS)

        def call():
            fd = self.open("registers", os.O_WRONLY)
            try:
                assert os.pwrite(fd, record(name) * (BLOCK // RECORD), place * BLOCK) == BLOCK
            finally:
                os.close(fd)

        self.note("overwrite", place, name, call)

    def look(self):
        """Reads of both, half of them past the pages of the kernel."""
        direct = self.random.choice([0, os.O_APPEND])
        place, journal = self.random.randrange(REGISTERS), self.journal()

        def read_register():
            fd = self.open("registers", os.O_RDONLY | direct)
            names = set(names_in(os.pread(fd, BLOCK, place * BLOCK)))
            os.close(fd)
            return "|".join(sorted(names))

        def read_journal():
            fd = self.open(journal, os.O_RDONLY | direct)
            count = len(os.pread(fd, 1 << 20, 0)) / RECORD
            os.close(fd)
            return str(count)

        self.note("read_register", place, "-", read_register)
        if os.path.exists(os.path.join(self.mount, journal)):
            self.note("read_journal", journal, "-", read_journal)

    def run(self, act):
        while not os.path.exists(self.world.path("stop")):
            act(self)


ACTS = {"append": Client.append, "overwrite": Client.overwrite, "look": Client.look}


def start_clients(world):
    """Of each act one process at each mount. Returns their names by mount."""
    names = {"A": [], "B": []}
    fd = os.open(os.path.join(world.path("A"), "registers"), os.O_WRONLY | os.O_CREAT)
    os.write(fd, record("none") * (REGISTERS * BLOCK // RECORD))
    os.close(fd)
    begun_ns = time.monotonic_ns()
    for mount in names:
        for kind, act in ACTS.items():
            for i in range(2 if kind == "append" else 1):
                name = f"{mount}{kind}{i}"
                names[mount].append(name)
                world.work(name, Client(world, name, mount, begun_ns).run, act)
    return names


def calls_of(world, names):
    """All that was noted, except a line that is not whole yet."""
    calls = []
    for name in names:
        with open(world.path(name + ".notes"), encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    kind, place, what, begin, end, result = line.split()
                    calls.append(Call(kind, place, what, int(begin), int(end), result))
    return calls


def last_end(path):
    """When the last call that these notes tell of had returned; 0: there is none."""
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - 1000))
        lines = file.read().split(b"\n")[:-1]
    words = lines[-1].split() if lines else []
    return int(words[4]) if len(words) == 6 else 0


class Judged:
    """Texts of what is wrong."""

    def __init__(self):
        self.stale = []
        self.lost = []  # of what was acknowledged
        self.late = []  # has happened after the call had failed


def judge_journal(place, calls, data, judged):
    """@data: the journal at the end."""
    appends = {call.name: call for call in calls if call.kind == "append"}
    order = names_in(data)
    for name in appends:
        count = order.count(name)
        if count > 1 or (count == 0 and appends[name].result == "ok"):
            judged.lost.append(f"{name} is in {place} {count} times")
    unknown = [name for name in order if name not in appends]
    if unknown:
        judged.lost.append(f"{place} has the records {unknown[:3]}")
        return
    latest = 0
    for name in order:
        call = appends[name]
        if call.end < latest:
            judged.late.append(f"{name} is behind a record whose call began after it had returned {call.result}")
        latest = max(latest, call.begin)
    least = [NEVER]  # from the end: when the first of the records from there on was acknowledged
    for name in reversed(order):
        call = appends[name]
        least.append(min(least[-1], call.end if call.result == "ok" else NEVER))
    least.reverse()
    for call in calls:
        if call.kind == "read_journal" and call.result == "ok":
            count = float(call.name)
            if count != int(count) or least[min(int(count), len(order))] < call.begin:
                judged.stale.append(f"{place} was read with {call.name} records of {len(order)}")


def judge_register(place, calls, judged):
    writes = {call.name: call for call in calls if call.kind == "overwrite"}
    writes["none"] = Call("overwrite", place, "none", 0, 0, "ok")
    reads = [call for call in calls if call.kind == "read_register" and call.result == "ok"]
    done = {name: call.end if call.result == "ok" else NEVER for name, call in writes.items()}
    for read in reads:
        if read.name in done:
            done[read.name] = min(done[read.name], read.end)
    ends = sorted((end, writes[name].begin) for name, end in done.items())
    latest = [0]  # of the writes that were done by then, when the last one began
    for _, begin in ends:
        latest.append(max(latest[-1], begin))
    for read in reads:
        if read.name not in writes:
            judged.lost.append(f"register {place} was read as {read.name}")
        elif writes[read.name].end < latest[bisect.bisect_left(ends, (read.begin, 0))]:
            judged.stale.append(f"register {place} was read as {read.name} after a later write")


def judge(calls, journals):
    """@journals: contents at the end, by name; @calls has a last read of each register."""
    judged = Judged()
    by_place = collections.defaultdict(list)
    for call in calls:
        by_place[call.place].append(call)
    for place, each in by_place.items():
        if place.startswith("journal"):
            judge_journal(place, each, journals.get(place, b""), judged)
        else:
            judge_register(place, each, judged)
    return judged
