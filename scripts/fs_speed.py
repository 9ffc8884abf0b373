# SPDX-License-Identifier: BSD-3-Clause
"""fs_speed.py: how fast the file system is, each time as a ratio to something else on the same memory, in turn with
it. For scripts/fs.py.
"""
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from fs_peers import Gluster, Moose, Passthrough, output, own_network
from fs_world import DEADLINE_S, MIB, TOP, World, die

SECONDS = 1  # of a row
FILES = 20000  # made, looked up and removed at a mount
FEW = 2000  # of them at each of several file systems
MANY = 1000000  # files in the volume that is recovered and checked


@dataclass
class Bar:
    """A ratio that must be at least @bar, or at most if @most, as the median of the rounds."""
    name: str  # S1 and so on
    what: str
    against: str
    bar: float
    most: bool = False
    unit: str = ""  # of a bar that is no ratio
    ratios: list = field(default_factory=list)

    def median(self):
        return statistics.median(self.ratios)

    def holds(self):
        return self.median() <= self.bar if self.most else self.median() >= self.bar

    def line(self):
        value = f"{self.median():.3g}{self.unit}"
        rounds = f"{len(self.ratios)} rounds, {min(self.ratios):.3g}..{max(self.ratios):.3g}"
        return (f"{self.name} {self.what}: {value}{self.against and ' ' + self.against} (bar {'at most ' if self.most else ''}{self.bar:g}"
                f"{self.unit}) {'ok' if self.holds() else 'MISSED'} ({rounds})")


def anonymous_peak(*words, seconds=DEADLINE_S):
    """Runs a program, and returns how many bytes of anonymous memory it had at most (RssAnon, read every 10 ms): its own
    memory, without the pools of servers that it maps, which /usr/bin/time counts as well."""
    end = time.monotonic() + seconds
    peak = 0
    with subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")  # stays until wait()
            peak = max([peak] + [int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon")])
            if time.monotonic() > end:
                process.kill()
                die(f"{' '.join(map(str, words))} took more than {seconds} s")
            time.sleep(0.01)
        if process.returncode != 0:
            die(f"{' '.join(map(str, words))} ended with {process.returncode}: {process.stdout.read().strip()}")
    return peak * 1024


class Bench:
    """Runs programs, and keeps the bars."""

    def __init__(self, build, out, rounds):
        self.build = build
        self.out = out
        self.rounds = rounds
        self.bars = {}

    def note(self, bar, ratio):
        key = (bar.name, bar.what, bar.against)
        self.bars.setdefault(key, bar).ratios.append(ratio)

    @contextlib.contextmanager
    def world(self, servers, copies, size, *options, **named):
        with World(self.build / "bin", "speed", size, servers, copies, **named) as world:
            world.make_volume(*options)
            yield world

    def ours(self, world, only, threads=1, *options):
        """Seconds of a call, by name of the row; of threads together."""
        rows = json.loads(output(self.build / "bin/rpm-fs", "bench", world.volume, "--only", only, "-t", threads, "-s",
                                 SECONDS, "--json", "-", *options, *world.urls()))
        return rates(rows)

    def peer(self, store, threads=1):
        return rates(json.loads(output(self.build / "peer/fs-peer", store, "-t", threads, "-s", SECONDS, "--json",
                                       "-")))

    def calls(self, where, files=FILES):
        return rates(json.loads(output(self.build / "peer/fs-peer", "calls", "--dir", where, "-s", SECONDS, "--files",
                                       files, "--json", "-")))

    def region(self, url, direction, size):
        """Region writes or reads of the library, which are copies, flushed and fenced: calls a second."""
        path = self.out / "region.json"
        output(self.build / "bin/rpm-bench", "run", url, "--rw", direction, "--bs", size, "--time", SECONDS, "--json",
               path)
        line = json.loads(path.read_text(encoding="utf-8"))["lines"][0]
        return line["ops_per_second"]


def rates(rows):
    return {row["what"]: row["calls"] / row["seconds"] for row in rows}


def contents(bench):
    """S1, S2: the library against writes and reads of a region, on the same servers."""
    for copies in (1, 2):
        with bench.world(copies, copies, 512 * MIB) as world:
            for _ in range(bench.rounds):
                ours = bench.ours(world, "contents")
                bare = {(way, size): bench.region(world.url(0), way, size) for way in ("write", "read")
                        for size in ("1M", "4k")}
                text = "of region writes, one copy" if copies == 1 else "of region writes, two copies"
                if copies == 1:
                    bench.note(Bar("S1", "write 1m", text, 0.6), ours["write 1m"] / bare["write", "1M"])
                    bench.note(Bar("S1", "read 1m", "of region reads", 0.5), ours["read 1m"] / bare["read", "1M"])
                    bench.note(Bar("S2", "read 4k", "of region reads", 0.3), ours["read 4k"] / bare["read", "4k"])
                bench.note(Bar("S2", "overwrite 4k", text, 0.15 if copies == 1 else 0.1),
                           ours["overwrite 4k"] / bare["write", "4k"])


def names(bench):
    """S3: the library against embedded stores with a table of names and one of inodes."""
    with bench.world(3, 2, 1024 * MIB, "--bytes-per-inode", "2K") as world:
        for _ in range(bench.rounds):
            ours, both = bench.ours(world, "names"), bench.ours(world, "names", 2)
            for store, bar in (("sqlite", 8), ("lmdb", 1.5)):
                stored = bench.peer(store)
                for row, rate in ours.items():
                    bench.note(Bar("S3", row, f"times {store}", bar), rate / stored[row])
            for row, rate in ours.items():
                bench.note(Bar("S3", f"{row} by two threads", "times one", 1.7), both[row] / rate)


JOBS = {  # name of the row: options of fio, and what it reports
    "randread 4k": ("read", "--rw=randread", "--bs=4k", "--size=64m", "--direct=1"),
    "randwrite 4k": ("write", "--rw=randwrite", "--bs=4k", "--size=64m", "--direct=1"),
    "read 1m": ("read", "--rw=read", "--bs=1m", "--size=128m", "--direct=1"),
    "write 1m": ("write", "--rw=write", "--bs=1m", "--size=128m", "--direct=1"),
    "randwrite 4k, each with fsync": ("write", "--rw=randwrite", "--bs=4k", "--size=64m", "--fsync=1"),
}


def fio(where, name):
    """Calls a second of a row of JOBS."""
    kind, *words = JOBS[name]
    said = output("fio", "--name=f", f"--directory={where}", "--filename=contents", "--ioengine=psync", "--time_based",
                  f"--runtime={SECONDS}", "--fallocate=none", *words, "--output-format=json")
    job = json.loads(said[said.index("{"):])["jobs"][0]
    if job["error"] != 0 or job[kind]["total_ios"] == 0:
        die(f"fio {name} in {where} ended with error {job['error']}")
    return job[kind]["iops"]


def through_fuse(bench, name, mounts, options, copies):
    bars = {"randread 4k": 0.85, "randwrite 4k": 0.75 if copies == 1 else 0.7, "read 1m": 0.8, "write 1m": 0.6,
            "create": 0.7, "stat": 0.95, "unlink": 0.7}
    with bench.world(3, copies, 512 * MIB, "--bytes-per-inode", "4K") as world:
        mounted = [world.mount(mount) for mount in mounts][0]
        with Passthrough(world, bench.out, options) as passed:
            for _ in range(bench.rounds):
                calls = [bench.calls(where) for where in (mounted, passed)]
                for row, bar in bars.items():
                    pair = [fio(where, row) for where in (mounted, passed)] if row in JOBS else [
                        rows[row] for rows in calls]
                    bench.note(Bar(name, f"{row}, {copies} cop{'y' if copies == 1 else 'ies'}", "of passthrough_ll",
                                   bar), pair[0] / pair[1])


def solo(bench):
    """S4: a single mount."""
    for copies in (1, 2):
        through_fuse(bench, "S4", "A", "", copies)


def shared(bench):
    """S5: one of two mounts of a volume."""
    for copies in (1, 2):
        through_fuse(bench, "S5", "AB", ",timeout=0", copies)


def two_mounts_rates(bench, mounted):
    """Calls a second at the first of two mounts; what is read was written at the other one."""
    calls = bench.calls(mounted[0], FEW)
    at = {"read 1m": mounted[1]}
    return {row: fio(at.get(row, mounted[0]), row) if row in JOBS else calls[row] for row in CLUSTER_BARS}


CLUSTER_BARS = {"create": 3, "stat": 2, "randwrite 4k, each with fsync": 5, "write 1m": 1.2, "read 1m": 1.2}


def clusters(bench):
    """S6: two mounts, two copies, against the better of two file systems of others, over TCP on one machine."""
    with own_network():
        for _ in range(bench.rounds):
            peers = []
            for Peer in (Gluster, Moose):
                with World(bench.build / "bin", "speed", 0, 0) as folder, Peer(folder) as mounted:
                    peers.append(two_mounts_rates(bench, mounted))
            for over in ("shm", "tcp"):
                with bench.world(3, 2, 512 * MIB, "--bytes-per-inode", "4K", over=over) as world:
                    ours = two_mounts_rates(bench, [world.mount(name) for name in "AB"])
                for row, bar in CLUSTER_BARS.items():
                    best = max(peers, key=lambda rates: rates[row])
                    bench.note(Bar("S6", f"{row} over {over}", "times the better of glusterfs, moosefs", bar),
                               ours[row] / best[row])


def hot_row(bench):
    """S13: four clients that make names in one directory, whose inode each call changes, against four directories."""
    with bench.world(3, 2, 1024 * MIB, "--bytes-per-inode", "4K") as world:
        for _ in range(bench.rounds):
            one, four = bench.ours(world, "names", 4, "--one-directory"), bench.ours(world, "names", 4)
            for row in ("create", "rename", "unlink"):
                bench.note(Bar("S13", f"{row} by four clients in one directory", "of four directories", 0.5),
                           one[row] / four[row])


def daily(bench):
    """S12: what people do in a directory: how many times as long as through FUSE to a folder in memory."""
    with bench.world(3, 2, 1024 * MIB, "--bytes-per-inode", "8K") as world:
        mounted = world.mount("A")
        with Passthrough(world, bench.out, "") as passed:
            for _ in range(bench.rounds):
                took = [day(bench, Path(where)) for where in (mounted, passed)]
                for what, ours in took[0].items():
                    bench.note(Bar("S12", f"{what}, two copies", "times passthrough_ll", 3, True),
                               ours / took[1][what])


def day(bench, where):
    """Seconds of each of the things that people do, in a new directory of @where."""
    sources = bench.build / "fs/sqlite"
    took = {}

    def timed(what, *words, times=1):
        start = time.monotonic()
        for _ in range(times):
            output(*words)
        took[what] = time.monotonic() - start

    where = where / "day"
    where.mkdir()
    tree = where / "tree"
    timed("untar the sources of SQLite", "tar", "-xf", sources / "source.tar", "-C", where)
    timed("git clone of this repository", "git", "clone", "-q", "--no-local", TOP, tree)
    timed("git status", "git", "-C", tree, "status", "--porcelain", times=10)
    output("cmake", "-G", "Ninja", "-S", tree, "-B", tree / "build", "-DLIBRPM_TESTS=OFF", "-DLIBRPM_TOOLS=OFF")
    timed("build of librpm", "cmake", "--build", tree / "build", "--target", "rpm")
    timed("speed test of SQLite", sources / "speedtest1", "--size", 10, where / "database")
    timed("rm -r of all that", "rm", "-r", where)
    return took


def round_trips(bench):
    """S7: calls over tcp as multiples of a region write of the same size over the same link."""
    with bench.world(1, 1, 256 * MIB, over="tcp") as world:
        for _ in range(bench.rounds):
            ours = bench.ours(world, "contents")
            bare = bench.region(world.url(0), "write", "4k")
            bench.note(Bar("S7", "overwrite 4k over tcp", "round trips", 8, True), bare / ours["overwrite 4k"])
            bench.note(Bar("S7", "read 4k over tcp", "round trips", 4, True), bare / ours["read 4k"])


def many(bench):
    """S8, S9: a volume with many files is recovered, and checked."""
    with bench.world(3, 2, 512 * MIB, "--bytes-per-inode", "400", spare=1536 * MIB) as world:
        # In many directories: the names of one are all in one shard.
        for _ in range(25):
            output(bench.build / "bin/rpm-fs", "bench", world.volume, "--only", "names", "-t", 8, "-s", DEADLINE_S,
                   "--files", MANY // 200, "--keep", *world.urls(), seconds=2 * DEADLINE_S)
        for i in range(len(world.servers)):
            world.kill(world.servers[i])
        world.start_servers()
        start = time.monotonic()
        world.mount("A")
        os.listdir(world.path("A"))
        bench.note(Bar("S8", f"first mount of {MANY} files after all servers died", "", 2, True, " s"),
                   time.monotonic() - start)
        start = time.monotonic()
        world.mount("B")
        os.listdir(world.path("B"))
        # 1 s, and 1.1 s in which the other one stops to be solo.
        bench.note(Bar("S8", "a mount beside another", "", 2.1, True, " s"), time.monotonic() - start)
        for mount in "AB":
            world.unmount(mount)
        start = time.monotonic()
        own = anonymous_peak(bench.build / "bin/rpm-fs", "check", "--offline", world.volume, *world.urls(),
                             seconds=10 * DEADLINE_S)
        bench.note(Bar("S9", "check", "files/s", 100000), MANY / (time.monotonic() - start))
        bench.note(Bar("S9", "anonymous memory of the check", "", 200, True, " bytes a file"), own / MANY)


def idle(bench):
    """S11: memory of a mount that does nothing."""
    for mode, bar in (("shm", 64), ("tcp", 160)):
        with bench.world(3, 2, 256 * MIB, over=mode) as world:
            world.mount("A")
            status = Path(f"/proc/{world.mounts['A'].pid}/status").read_text(encoding="utf-8")
            kib = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))
            bench.note(Bar("S11", f"idle mount over {mode}:", "", bar, True, " MiB"), kib / 1024)


PARTS = {"S1": contents, "S2": contents, "S3": names, "S4": solo, "S5": shared, "S6": clusters, "S7": round_trips,
         "S8": many, "S9": many, "S11": idle, "S12": daily, "S13": hot_row}


def run(build, only, rounds, path):
    """Measures the bars @only, or all, and prints a line for each. True: all hold."""
    out = build / "fs" / "speed"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    bench = Bench(build, out, rounds)
    for part in dict.fromkeys(PARTS[name] for name in PARTS if name in only or not only):
        known = set(bench.bars)
        part(bench)
        for key, bar in bench.bars.items():
            if key not in known and (not only or bar.name in only):
                print(bar.line(), flush=True)
    bars = [bar for bar in bench.bars.values() if not only or bar.name in only]
    if path:
        path.write_text(json.dumps([bar.__dict__ | {"median": bar.median(), "holds": bar.holds()} for bar in bars],
                                   indent=2) + "\n", encoding="utf-8")
    names_of = sorted({bar.name for bar in bars})
    held = [name for name in names_of if all(bar.holds() for bar in bars if bar.name == name)]
    print(f"speed: {len(held)} of {len(names_of)}")
    return len(held) == len(names_of)
