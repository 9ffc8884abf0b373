# SPDX-License-Identifier: BSD-3-Clause
"""fs_posix.py: test suites of others, run in a directory of a mounted volume; for scripts/fs.py.

A suite is a function of a Place, which raises Failed or returns what it has found in a few words. With two mounts it
works at both where that can be: it writes at one and reads at the other.
"""
import os
import random
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from fs_world import MIB, TOP, World

TESTS = TOP / "tests" / "fs"
VOLUME_BYTES = 512 * MIB
ENDS_S = 10  # how long a process may take to end that was asked to, or killed
FSX_SEEDS = (1, 2, 3)
FSX_CALLS = 10000
FILE_BYTES = 64 * MIB  # of stress-ng
STRESSOR_S = 120  # how long a stressor may run that was told to end after a second: some remove thousands of names then

# Of stress-ng, by --class filesystem: those it may skip, as the kernel or FUSE lack what they test.
STRESS_SKIPPED = {
    "bind-mount": "mounts all over: stress-ng runs it only if it is named",
    "binderfs": "a file system of its own, which few kernels have",
    "fiemap": "FUSE cannot tell where blocks are",
    "verity": "FUSE passes no FS_IOC_ENABLE_VERITY",
    "xattr": "mounts serve them with -o xattr alone",
}


class Failed(Exception):
    """What a suite found."""


@dataclass
class Place:
    """A directory of the volume at the mounts @a and @b, which are one if only one is mounted."""
    world: World
    a: Path
    b: Path
    tools: Path  # with crates/ and sqlite/
    log: Path  # without its suffix
    seed: int
    calls: int  # of fsx

    def start(self, *words, part="", **named):
        log = Path(f"{self.log}{part}.log")
        with open(log, "a", encoding="utf-8") as file:
            file.write(f"$ {' '.join(map(str, words))}\n")
            file.flush()
            begin = log.stat().st_size  # before the program prints
            # A process group of its own, to end all of it.
            process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=file,
                                       stderr=subprocess.STDOUT, start_new_session=True, **named)
        return process, log, begin, str(words[0])

    def finish(self, started, deadline, codes=(0,)):
        """Awaits what start() returned. Returns what it printed. @codes: exit statuses that are none of failure."""
        process, log, begin, name = started
        name = os.path.basename(name)
        try:
            status = process.wait(max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            self.end(process)
            raise Failed(f"{name} did not end in time") from None
        with open(log, encoding="utf-8", errors="replace") as file:
            said = file.read()[begin:]
        if status not in codes:
            raise Failed(f"{name} ended with {status}: {last_line(said)}")
        return said

    def end(self, process):
        for each in (signal.SIGTERM, signal.SIGKILL):
            os.killpg(process.pid, each)
            try:
                process.wait(ENDS_S)
                break
            except subprocess.TimeoutExpired:
                pass
        else:  # it waits for a daemon, which does not answer
            for name in self.world.mounts:
                self.world.kill(self.world.mounts[name])
            process.wait(ENDS_S)

    def run(self, *words, seconds, codes=(0,), part="", **named):
        return self.finish(self.start(*words, part=part, **named), time.monotonic() + seconds, codes)

    def remount(self):
        for name in list(self.world.mounts):
            self.world.unmount(name)
            self.world.mount(name)

    def is_shared(self):
        return self.a != self.b


def last_line(text):
    return (text.strip().splitlines() or ["it printed nothing"])[-1].strip()


def expect(holds, text):
    if not holds:
        raise Failed(text)


def read_list(path):
    """Names in a file of lines: a name, and its reason."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}


def write_program(path, text):
    path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def pjdfstest(place):
    # It calls mount -o remount,ro DIR; mount(8) would look for mount.fuse.rpmfs, which may not be installed.
    path = Path(place.world.path("path"))
    path.mkdir(exist_ok=True)
    write_program(path / "mount", f'[[ $2 != remount,* ]] || exec {place.world.programs}/rpm-fs mount '
                                  f'{place.world.volume} "$3" -o "$2"\nexec {shutil.which("mount")} "$@"')
    settings = TESTS / "pjdfstest.toml"
    remounts = Path(place.world.path("remounts.toml"))
    remounts.write_text(settings.read_text(encoding="utf-8").replace("allow_remount = false", "allow_remount = true"),
                        encoding="utf-8")
    results = {}
    for words in ((settings,), (remounts, "erofs")):
        said = place.run(place.tools / "crates/bin/pjdfstest", "-p", place.b, "-s", place.world.scratch, "-c", *words,
                         seconds=90, codes=(0, 1), env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}",
                                                        "NO_COLOR": "1", "RUST_BACKTRACE": "0"})
        expect("\nSummary: " in said, last_line(said))
        results.update(re.findall(r"^(\S+) +(ok|skipped|FAILED)$", said, re.M))
    failed = [name for name, result in results.items() if result == "FAILED"]
    expect(not failed, f"{len(failed)} failed: {' '.join(failed)}")
    skipped = {name for name, result in results.items() if result == "skipped"}
    listed = read_list(TESTS / "pjdfstest-skipped.txt")
    expect(skipped == listed, f"pjdfstest-skipped.txt does not match: {' '.join(sorted(skipped ^ listed))}")
    return f"{len(results) - len(skipped)} passed, {len(skipped)} skipped"


def fsx(place):
    seeds = [*FSX_SEEDS, place.seed]
    deadline = time.monotonic() + 60 + place.calls // 100
    artefacts = place.log.parent
    # Two beside each other, at both mounts.
    for i in range(0, len(seeds), 2):
        started = [place.start(place.tools / "crates/bin/fsx", "-q", "-f", TESTS / "fsx.toml", "-N", place.calls,
                               "-S", seed, "-P", artefacts, where / f"f{seed}", part=f"-{seed}")
                   for seed, where in zip(seeds[i:i + 2], (place.a, place.b))]
        errors = []
        for each, seed in zip(started, seeds[i:i + 2]):
            try:
                expect("A-OK" in place.finish(each, deadline), f"seed {seed} does not end with A-OK")
            except Failed as error:
                errors.append(f"seed {seed}: {error}")
        expect(not errors, "; ".join(errors))
    return f"seeds {' '.join(map(str, seeds))}, {place.calls} calls each"


def fio(place):
    words = ("fio", "--name=v", "--rw=randwrite", "--bsrange=512-128k", "--size=64m", "--numjobs=4", "--verify=xxhash",
             "--verify_state_save=0")
    wrote = place.run(*words, f"--directory={place.a}", "--do_verify=0", "--end_fsync=1", seconds=60)
    place.remount()
    read = place.run(*words, f"--directory={place.b}", "--verify_only", seconds=60)
    for said in (wrote, read):
        errors = re.findall(r"err= *(\d+)", said)
        expect(errors == ["0"] * 4, f"err= {' '.join(errors)}: {last_line(said)}")
    return "4 files written, 4 verified after a remount"


def sqlite(place):
    folder = place.tools / "sqlite"
    # Clients with even numbers use the other mount.
    client = Path(place.world.path("mptester"))
    write_program(client, 'database=$1\n[[ "$2 $3" != "--client "*[02468] ]] || database=$OTHER/${1##*/}\n'
                          f'exec -a "$0" {folder}/mptester "$database" "${{@:2}}"')
    said = place.run(client, place.a / "db", folder / "multiwrite01.test", seconds=60, codes=(0, 1),
                     env={**os.environ, "OTHER": str(place.b)})
    found = re.search(r"Summary: (\d+) errors out of (\d+) tests", said)
    expect(found and found[1] == "0", last_line(said) if not found else found[0])
    return found[0].removeprefix("Summary: ")


def dbench(place):
    wheres = (place.a, place.b) if place.is_shared() else (place.a,)
    started = [place.start("dbench", "-D", where, "-t", 10, 4 // len(wheres), part=f"-{i}")
               for i, where in enumerate(map(own_folder, wheres))]
    deadline = time.monotonic() + 60
    said = [place.finish(each, deadline) for each in started]
    for each in said:
        wrong = [line for line in each.splitlines() if re.search(r"ERROR|[Ff]ailed(?! to create barrier)", line)]
        expect(not wrong, wrong and wrong[0].strip())
    rates = [re.search(r"Throughput ([\d.]+) MB/sec", each) for each in said]
    expect(all(rates), "no throughput is told")
    return f"4 clients, {sum(float(rate[1]) for rate in rates):.1f} MB/s"


def own_folder(where):
    """dbench removes the folder clients/ that it finds, so each has a folder of its own."""
    folder = Path(f"{where}/{'-'.join(where.parts[-2:])}")
    folder.mkdir()
    return folder


def slow_stressors(stress, seen):
    """Of the session of a stress-ng: each process of a stressor that does not end, as a line of ps. @seen: since when
    each was there, by its number; of one that has just ended, ps tells an age that is none."""
    found = subprocess.run(["ps", "-s", str(stress.pid), "-o", "pid=,stat=,wchan:32=,args="], capture_output=True,
                           text=True, check=False).stdout
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in found.splitlines() if "stress-ng-" in line}
    now = time.monotonic()
    for gone in seen.keys() - lines.keys():
        del seen[gone]
    return [line for pid, line in lines.items() if now - seen.setdefault(pid, now) > STRESSOR_S]


def stress_ng(place):
    members = place.run("stress-ng", "--class", "filesystem?", seconds=30)
    names = sorted(set(members.partition(":")[2].split()))
    expect(names, last_line(members))
    # Some take 1 GiB otherwise; then the volume is full, and one in the other half finds no room to begin.
    small = [f"--{each}-bytes={FILE_BYTES}" for each in ("fallocate", "hdd", "iomix", "sync-file")]
    # One after another, in two halves beside each other.
    started = [place.start("stress-ng", "--class", "filesystem", "--sequential", 1, "--timeout", "1s", "--verify",
                           "--exclude", ",".join(names[1 - i::2]), "--metrics-brief", "--stdout",
                           *small, "--temp-path", where, part=f"-{i}")
               for i, where in enumerate((place.a, place.b))]
    seen = [{} for _ in started]
    while any(each[0].poll() is None for each in started):
        slow = [line for each, those in zip(started, seen) for line in slow_stressors(each[0], those)]
        for each in started if slow else ():
            if each[0].poll() is None:
                place.end(each[0])
        expect(not slow, f"a stressor does not end (state, where it waits): {'; '.join(slow)}")
        time.sleep(0.5)
    saids = [place.finish(each, time.monotonic() + ENDS_S, codes=range(256)) for each in started]
    said = "".join(saids)
    for each in saids:
        expect("run completed in" in each, last_line(each))
    failed = sorted(set(re.findall(r"stress-ng: fail: +\[\d+\] (.*)", said)))
    expect(not failed, "; ".join(failed))
    done = set(re.findall(r"stress-ng: metrc: \[\d+\] ([\w-]+) +\d+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+$", said,
                          re.M))
    skipped = set(names) - done
    expect(skipped <= STRESS_SKIPPED.keys(), f"skipped without a reason: {' '.join(skipped - STRESS_SKIPPED.keys())}")
    return f"{len(done)} stressors, skipped: {' '.join(sorted(skipped))}"


def git(place):
    place.run("git", "clone", "--quiet", "--no-local", TOP, place.a / "clone", seconds=60)
    clone = place.b / "clone"
    said = place.run("git", "-C", clone, "fsck", "--strict", "--no-progress", seconds=60)
    expect(not said, last_line(said))
    said = place.run("git", "-C", clone, "status", "--porcelain", seconds=60)
    expect(not said, f"changed: {last_line(said)}")
    count = place.run("git", "-C", clone, "rev-list", "--count", "HEAD", seconds=60)
    return f"{count.strip()} commits"


def rsync(place):
    words = ("rsync", "-ac", "--itemize-changes", "--exclude=/.git", "--exclude=/build*", "--exclude=__pycache__",
             f"{TOP}/")
    first = place.run(*words, place.a / "copy", seconds=60)
    again = place.run(*words, place.b / "copy", seconds=60)
    expect(not again, f"the second copies {len(again.splitlines())} again: {last_line(again)}")
    return f"{len(first.splitlines())} files, none again"


def two_mounts(place):
    said = place.run(TESTS / "two_mounts", place.a, place.b, seconds=90, codes=(0, 1))
    failed = re.findall(r"^FAILED: (\S+)", said, re.M)
    expect(not failed, " ".join(failed))
    found = re.fullmatch(r"two mounts: (\d+) of (\d+)", last_line(said))
    expect(found and found[1] == found[2], last_line(said))
    return last_line(said).removeprefix("two mounts: ")


SUITES = {
    "pjdfstest": pjdfstest, "fsx": fsx, "fio": fio, "sqlite": sqlite, "dbench": dbench, "stress-ng": stress_ng,
    "git": git, "rsync": rsync, "two_mounts": two_mounts,
}


class Runner:
    def __init__(self, world, tools, out, fsx):
        self.world = world
        self.tools = tools
        self.out = out
        self.fsx = fsx
        self.passed = self.count = 0

    def report(self, name, mode, text, is_ok, start):
        self.count += 1
        self.passed += is_ok
        print(f"{name} {mode}: {text} {'ok' if is_ok else 'FAILED'} ({time.monotonic() - start:.0f} s)", flush=True)

    def suite(self, name, mode):
        # Short, as the path of a socket has 107 bytes.
        folder = f"{name[:3]}{len(self.world.mounts)}"
        paths = [Path(self.world.path(mount), folder) for mount in self.world.mounts]
        place = Place(self.world, paths[0], paths[-1], self.tools, self.out / f"{name}-{mode}", *self.fsx)
        start = time.monotonic()
        found = []
        texts = [self.attempt(found, lambda: place.run("mkdir", paths[0], seconds=30) or SUITES[name](place)),
                 self.attempt(found, lambda: place.run("rm", "-rf", paths[0], seconds=60))]
        self.report(name, mode, "; ".join(found) or texts[0], not found, start)

    def attempt(self, found, call):
        """Adds to @found how the call failed, and mounts again whose daemon ended meanwhile."""
        try:
            text = call()
        except Failed as error:
            text = None
            found.append(str(error))
        for mount, process in self.world.mounts.items():
            if process.poll() is not None:
                found.append(f"the daemon of mount {mount} ended")
                self.world.mount(mount)
        return text

    def check(self, mode):
        start = time.monotonic()
        statuses = [self.world.unmount(mount) for mount in list(self.world.mounts)]
        status, last, said = self.world.check()
        (self.out / f"check-{mode}.log").write_text(said, encoding="utf-8")
        ended = "" if set(statuses) == {0} else f"; daemons ended with {statuses}"
        self.report("check", mode, last + ended, status == 0 and not ended, start)


def run(build, only, seed, calls):
    """Runs the suites @only, or all, and prints a line for each. @seed, @calls: of fsx. True: all hold."""
    out = build / "fs" / "posix"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    seed = random.randrange(1 << 31) if seed is None else seed
    with World(build / "bin", "posix", VOLUME_BYTES) as world:
        os.chmod(world.scratch, 0o755)  # suites act as other users, too
        world.make_volume("--bytes-per-inode", "8K")
        runner = Runner(world, build / "fs", out, (seed, calls))
        for mode, mounts in (("one", "A"), ("two", "AB")):
            for mount in mounts:
                world.mount(mount)
            for name in SUITES:
                if name in only or not only:
                    runner.suite(name, mode)
            runner.check(mode)
        print(f"posix: {runner.passed} of {runner.count}")
        if runner.passed != runner.count:
            print(f"the suites' output is in {out}/")
    return runner.passed == runner.count
