#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Append a file to a log through three kills, then compare the log with the file.

Run by scripts/quickstart:

    scripts/quickstart.py build/bin [FILE]

Every line of FILE, its newline included, is one record. The writer records each acknowledged record in a file
before it appends the next, so that the acknowledged records are known after SIGKILL.
At the end

    acknowledged  lines that the writer was told are safe
    recovered     records that are read from the log
    lost          acknowledged lines that are not in the log
    duplicated    records beyond the number of times that FILE has that line: doubled or invented
    torn          frames behind the tail that recovery found broken and discarded

are counted from the bytes themselves, and the order is compared line by line.
"""
import argparse
import collections
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FRAME_BYTES = 24  # in front of each record
LINE_BYTES = 64  # a frame is rounded up to this
DEFAULT_MIN = 3 << 20
DEFAULT_MAX = 64 << 20
DEADLINE_S = 60
NAME = "quickstart"


def die(text):
    sys.exit(f"quickstart: {text}")


def is_text(path):
    with open(path, "rb") as file:
        head = file.read(1 << 16)
    lines = head.count(b"\n")
    return b"\0" not in head and lines > 0 and len(head) / lines < 400


def default_input(scratch):
    """The largest text file of a few MB below /usr, else all headers of the system in one."""
    best = None
    for top in ("/usr/share", "/usr/lib", "/usr/include"):
        for folder, _, names in os.walk(top):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.islink(path) or not os.path.isfile(path):
                    continue
                size = os.path.getsize(path)
                if not DEFAULT_MIN <= size <= DEFAULT_MAX or (best and size <= best[0]):
                    continue
                if is_text(path):
                    best = (size, path)
    if best:
        return best[1]
    path = os.path.join(scratch, "headers")
    with open(path, "wb") as out:
        for header in sorted(pathlib.Path("/usr/include").rglob("*.h")):
            out.write(header.read_bytes())
            if out.tell() > 8 << 20:
                break
    if os.path.getsize(path) < 1 << 20:
        die("found no text file of a few MB here: name one")
    return path


def read_lines(path):
    with open(path, "rb") as file:
        lines = file.read().split(b"\n")
    tail = lines.pop()
    return [line + b"\n" for line in lines] + ([tail] if tail else [])


class Run:
    """Server, writer, and the file of acknowledged records."""

    def __init__(self, programs, path, lines, scratch):
        self.programs = programs
        self.path = path
        self.lines = lines
        self.scratch = scratch
        self.acks = os.path.join(scratch, "acks")
        self.pool = os.path.join(scratch, "pool")
        self.url = "shm:" + os.path.join(scratch, "socket")
        need = sum(-(-(len(line) + FRAME_BYTES) // LINE_BYTES) * LINE_BYTES for line in lines)
        self.capacity = -(-(need + need // 16 + (4 << 20)) // 4096) * 4096
        self.server = None
        self.writer = None
        self.kills = 0
        self.torn = 0
        open(self.acks, "wb").close()

    def program(self, name):
        return os.path.join(self.programs, name)

    def start_server(self):
        log = open(os.path.join(self.scratch, "server.log"), "ab")
        self.server = subprocess.Popen(
            [self.program("rpm-server"), "--pool", self.pool,
             "--size", str(self.capacity + (8 << 20)), "--listen", self.url, "--domain", "adr"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + DEADLINE_S
        while subprocess.run([self.program("rpm-log"), "list", self.url],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             check=False).returncode != 0:
            if self.server.poll() is not None or time.monotonic() > deadline:
                die("the server did not start:\n" +
                    pathlib.Path(self.scratch, "server.log").read_text())
            time.sleep(0.05)

    def start_writer(self):
        self.writer = subprocess.Popen(
            [self.program("rpm-log"), "append", self.url, NAME, "--file", self.path, "--resume",
             "--capacity", str(self.capacity), "--ack-file", self.acks, "--async", "32",
             "--reconnect", str(DEADLINE_S), "--quiet", "--json"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)

    def kill(self, process):
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.kills += 1

    def acknowledged(self):
        """Indexes (from 1) of the acknowledged lines, without one that SIGKILL truncated."""
        with open(self.acks, "rb") as file:
            whole = file.read().rsplit(b"\n", 1)[0]
        return [int(note.split()[0]) for note in whole.split(b"\n") if note]

    def wait_for(self, share):
        """Wait until that share of the lines is acknowledged. False: the writer ended before."""
        per_note = sum(len(str(i)) for i in (1, len(self.lines))) / 2 + 10
        goal = int(len(self.lines) * share * per_note)
        deadline = time.monotonic() + DEADLINE_S
        while os.path.getsize(self.acks) < goal:
            if self.writer.poll() is not None:
                return False
            if time.monotonic() > deadline:
                die("the writer makes no progress")
            time.sleep(0.0005)
        return True

    def note_torn(self):
        """The frames that the next writer will discard."""
        info = subprocess.run([self.program("rpm-log"), "info", self.url, NAME, "--json"],
                              stdout=subprocess.PIPE, check=True)
        self.torn += json.loads(info.stdout)["torn"]

    def stop(self):
        for process in (self.writer, self.server):
            if process and process.poll() is None:
                process.kill()
                process.wait()


def story(run):
    """Kill the writer, the server, and both; restart them each time."""
    run.start_server()
    run.start_writer()
    if run.wait_for(0.25):
        run.kill(run.writer)
        run.note_torn()
        run.start_writer()
    if run.wait_for(0.5):
        run.kill(run.server)
        run.start_server()
    if run.wait_for(0.75):
        run.kill(run.server)
        run.kill(run.writer)
        run.start_server()
        run.note_torn()
        run.start_writer()
    out, _ = run.writer.communicate(timeout=DEADLINE_S)
    if run.writer.returncode != 0:
        die(f"the writer failed with exit status {run.writer.returncode}")
    # Restart once more, so that the records that are read come from the pool alone.
    run.kill(run.server)
    run.start_server()
    return json.loads(out)


def compare(run):
    """Count lost and duplicated lines, and check that the order is that of the file."""
    log = subprocess.run([run.program("rpm-log"), "cat", run.url, NAME],
                         stdout=subprocess.PIPE, check=True).stdout
    records = log.split(b"\n")
    tail = records.pop()
    records = [record + b"\n" for record in records] + ([tail] if tail else [])
    acked = set(run.acknowledged())
    there = collections.Counter(records)
    promised = collections.Counter(run.lines[i - 1] for i in acked)
    lost = sum((promised - there).values())
    doubled = sum((there - collections.Counter(run.lines)).values())
    in_order = records == run.lines[:len(records)]
    return len(acked), len(records), lost, doubled, in_order


def table(rows):
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"  {name:<{width}}  {value}")


def report(run, last, seconds, counts):
    acked, records, lost, doubled, in_order = counts
    latency = last["latency_ns"]
    speed = [
        ("throughput", f"{last['records_per_second']:.0f} records/s (last writer)"),
        ("latency", ", ".join(f"{name} {latency[name] / 1000:.1f} us"
                              for name in ("p50", "p99", "p99.9"))),
    ]
    if last["records"] == 0:
        speed = [("throughput", "not measured: the last writer found every record in the log")]
    domain = last["domain"] + (" (declared)" if last["domain_declared"] else "")
    print()
    table([
        ("file", f"{run.path}, {len(run.lines)} lines, {os.path.getsize(run.path)} bytes"),
        ("pool", f"{last['medium']}, persistence domain {domain}"),
        ("level", f"{last['level']} by method {last['method']}"),
        ("killed with SIGKILL", f"{run.kills} times, writer and server"),
        ("records acknowledged", acked),
        ("records recovered", f"{records}, {'in' if in_order else 'NOT IN'} the order of the file" +
         (f"; a kill cut off the acknowledgement of {records - acked}" if records > acked else "")),
        ("lost", lost),
        ("duplicated", doubled),
        ("torn tail discarded", run.torn),
        *speed,
        ("time in all", f"{seconds:.1f} s, restarts included"),
    ])
    print(f"acknowledged {acked} recovered {records} lost {lost} duplicated {doubled} "
          f"torn {run.torn}")
    # The log may have records whose acknowledgement a killed writer did not record any more.
    return 0 if lost == 0 and doubled == 0 and in_order and records == len(run.lines) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("programs", help="folder of rpm-server and rpm-log")
    parser.add_argument("file", nargs="?", help="its lines become the records")
    args = parser.parse_args()
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    scratch = tempfile.mkdtemp(prefix="librpm-quickstart-", dir=shared)
    run = None
    try:
        path = args.file or default_input(scratch)
        try:
            lines = read_lines(path)
        except OSError as error:
            die(f"{path}: {error.strerror}")
        if not lines:
            die(f"{path} has no lines")
        run = Run(args.programs, path, lines, scratch)
        print(f"appending the {len(lines)} lines of {path}", flush=True)
        start = time.monotonic()
        last = story(run)
        return report(run, last, time.monotonic() - start, compare(run))
    finally:
        if run:
            run.stop()
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
