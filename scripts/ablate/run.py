# SPDX-License-Identifier: BSD-3-Clause
"""Run rpm-hints: several processes at a time, stopped cleanly, continued where an earlier call ended.

A finished result has a stamp file: the command, a hash of the program's and library's bytes, and a hash of
the result. The result is kept only if all of these still match; else the run starts again. A result without a
stamp was interrupted: its lines are whole, but some are missing.
"""
import contextlib
import fcntl
import hashlib
import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

NOTHING = 3  # exit status of rpm-hints: its rows are there, and none has numbers
POLL_S = 0.03
GRACE_S = 5  # between SIGTERM and SIGKILL
REDRAW_S = 0.2


class Failed(Exception):
    """An error that stops the whole command; the text is for people."""


@dataclass
class Job:
    name: str
    command: list
    output: Path
    captured: bool = False  # stdout is the result; else the program writes it itself
    group: str = ''  # reported as one


@dataclass
class Result:
    job: Job
    status: str  # 'done', 'kept' or 'failed'
    seconds: float = 0
    message: str = ''


@dataclass
class Child:
    job: Job
    process: subprocess.Popen
    log: object
    start: float


def hash_file(path, into=None):
    digest = into or hashlib.sha256()
    with open(path, 'rb') as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def program_hash(program, url):
    """A hash over our files that decide the numbers: program, library, preset file."""
    paths = [program]
    with contextlib.suppress(OSError):
        lines = subprocess.run(['ldd', program], capture_output=True, text=True, check=False).stdout
        paths += re.findall(r'=> (/\S*librpm\S*|/\S+/build\S*/lib\S+) ', lines)
    preset = re.search(r'preset=([^,;]*/[^,;]*)', url or '')
    if preset:
        paths.append(preset.group(1))
    digest = hashlib.sha256()
    try:
        for path in paths:
            hash_file(path, digest)
    except OSError as error:
        raise Failed(f'{error.filename}: {error.strerror}') from None
    return digest.hexdigest()


@contextlib.contextmanager
def locked(folder):
    """Lock a folder for one command. Children hold the lock too, in case this process is killed."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / '.lock', 'wb') as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Failed(f'{folder}: another call is at work in it') from None
        yield file


@contextlib.contextmanager
def interrupt_deferred():
    """Raise KeyboardInterrupt at the end of the block if SIGINT came in it."""
    came = []
    before = signal.signal(signal.SIGINT, lambda *_: came.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


class Progress:
    """Progress: on a terminal one line that changes; otherwise one line for each run or group of runs."""

    def __init__(self, total, stream=None):
        self.stream = stream or sys.stderr
        self.live = self.stream.isatty()
        self.total = total
        self.finished = 0
        self.start = time.monotonic()
        self.drawn = 0.0

    def clear(self):
        if self.live:
            self.stream.write('\r\x1b[K')

    def line(self, text):
        self.clear()
        print(text, file=self.stream, flush=True)

    def step(self, name):
        self.finished += 1
        self.show([name])

    def show(self, names):
        now = time.monotonic()
        if not self.live or now - self.drawn < REDRAW_S:
            return
        self.drawn = now
        filled = 24 * self.finished // max(self.total, 1)
        self.stream.write(f'\r\x1b[K[{"#" * filled}{"." * (24 - filled)}] {self.finished}/'
                          f'{self.total} {now - self.start:.0f} s  {" ".join(names)}'[:100])
        self.stream.flush()


@dataclass
class Runner:
    hash: str
    parallel: int
    lock: object
    logs: Path
    running: list = field(default_factory=list)

    def stamp_path(self, job):
        return job.output.with_name(job.output.name + '.done')

    def stamp(self, job):
        return {'command': job.command, 'program': self.hash, 'result': hash_file(job.output)}

    def kept(self, job):
        """Whether an earlier call left this result, unchanged."""
        try:
            return json.loads(self.stamp_path(job).read_text()) == self.stamp(job)
        except (OSError, ValueError):
            return False

    def start(self, job):
        self.stamp_path(job).unlink(missing_ok=True)
        job.output.unlink(missing_ok=True)
        job.output.parent.mkdir(parents=True, exist_ok=True)
        self.logs.mkdir(parents=True, exist_ok=True)
        log = open(self.logs / f'{job.name}.log', 'w+b')
        out = open(job.output.with_name(job.output.name + '.part'), 'wb') if job.captured else log
        try:
            with interrupt_deferred():  # else the child runs on, unknown to stop()
                process = subprocess.Popen(job.command, stdin=subprocess.DEVNULL, stdout=out,
                                           stderr=log, pass_fds=[self.lock.fileno()])
                self.running.append(Child(job, process, log, time.monotonic()))
        except OSError as error:
            raise Failed(f'{job.command[0]}: {error.strerror}') from None
        finally:
            if job.captured:
                out.close()

    def finish(self, child):
        """Turn an ended child into a result."""
        job = child.job
        seconds = time.monotonic() - child.start
        child.log.seek(0)
        said = child.log.read().decode('utf-8', 'replace').strip().split('\n')
        child.log.close()
        part = job.output.with_name(job.output.name + '.part')
        if child.process.returncode not in (0, NOTHING):
            part.unlink(missing_ok=True)
            return Result(job, 'failed', seconds,
                          f'exit status {child.process.returncode}: {said[-1]}')
        if job.captured:
            part.replace(job.output)
        if not job.output.is_file():
            return Result(job, 'failed', seconds, f'wrote no {job.output.name}')
        stamp = self.stamp_path(job)
        stamp.with_suffix('.tmp').write_text(json.dumps(self.stamp(job)) + '\n')
        stamp.with_suffix('.tmp').replace(stamp)
        return Result(job, 'done', seconds)

    def stop(self):
        """End the children: by SIGTERM first, then by SIGKILL; each by its own id."""
        for child in self.running:
            if child.process.poll() is None:
                child.process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + GRACE_S
        for child in self.running:
            try:
                child.process.wait(max(0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.process.kill()
                child.process.wait()
            child.log.close()
            child.job.output.with_name(child.job.output.name + '.part').unlink(missing_ok=True)
        self.running.clear()

    def reap(self, results, tell):
        ended = [child for child in self.running if child.process.poll() is not None]
        for child in ended:
            self.running.remove(child)
            result = self.finish(child)
            results[result.job.name] = result
            tell(result)

    def run(self, jobs, fresh=False, quiet=False):
        """Results by name. A job that fails does not stop the others. SIGINT stops all of them."""
        results = {}
        progress = Progress(len(jobs))
        groups = Groups(jobs)

        def tell(result):
            progress.finished += 1
            text = groups.line(result)
            if text and not quiet and (not progress.live or result.status == 'failed'):
                progress.line(text)

        waiting = list(jobs)
        try:
            while waiting or self.running:
                while waiting and len(self.running) < self.parallel:
                    job = waiting.pop(0)
                    if not fresh and self.kept(job):
                        results[job.name] = Result(job, 'kept')
                        tell(results[job.name])
                    else:
                        self.start(job)
                progress.show(sorted({child.job.group or child.job.name for child in self.running}))
                time.sleep(POLL_S)
                self.reap(results, tell)
        finally:
            progress.clear()
            self.stop()
        return results


class Groups:
    """Print one line for each job, or for a whole group when its last job has ended."""

    def __init__(self, jobs):
        self.left = {}
        self.seconds = {}
        for job in jobs:
            self.left[job.group] = self.left.get(job.group, 0) + 1
        self.total = dict(self.left)

    def line(self, result):
        group = result.job.group
        if not group:
            text = result.message or ('kept from an earlier call' if result.status == 'kept'
                                      else f'{result.seconds:.1f} s')
            return f'{result.job.name}: {text}'
        self.left[group] -= 1
        self.seconds[group] = self.seconds.get(group, 0) + result.seconds
        if self.left[group] > 0:
            return ''
        return f'{group}: {self.total[group]} runs, {self.seconds[group]:.1f} s'
