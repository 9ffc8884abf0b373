# SPDX-License-Identifier: BSD-3-Clause
"""A process that changes a directory of a volume at two mounts, and notes that outside the volume.

The notes are lines of

    begin N OPERATION...  before its system call
    end N                 the call has returned: acknowledged
    unknown N ERROR       the daemon or a server was killed meanwhile
    settled N 0|1         after that, the volume has not, or has, the change
    wrong N TEXT          a read, or what was found after "unknown", is neither before nor after
"""
import contextlib
import errno
import os
import random
import time

from fs_tree import FILE_MAX, FILES, FOLDERS, Seen, Tree, bytes_of, differences, read_file

GONE = {errno.ENOTCONN, errno.ECONNABORTED, errno.EIO}  # what a call gets whose daemon was killed
HELD_MAX = 6
WRITE_MAX = 1020 << 10  # in one call, from memory that does not begin at a page
SETTLE_S = 40
OPERATIONS = {"create": 12, "write": 34, "append": 14, "rename": 8, "over": 6, "unlink": 6, "mkdir": 3,
              "rmdir": 2, "truncate": 8, "link": 5, "read": 8}


class Wrong(Exception):
    """The volume shows what no order of the operations explains."""


class Notes:
    def __init__(self, path):
        self.fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def line(self, *words):
        os.write(self.fd, (" ".join(str(word) for word in words) + "\n").encode())


class Past:
    """What notes tell."""

    def __init__(self, owner, path):
        self.tree = Tree(owner)
        self.acknowledged = self.unknown = 0
        self.pending = None  # number and operation of one that may have happened or not
        self.wrong = []
        with open(path, encoding="utf-8") as file:
            for line in file:
                self._take(*line.split())

    def _take(self, what, number, *words):
        if what == "begin":
            self.pending = (number, tuple(words))
        elif what == "end" or (what == "settled" and words == ("1",)):
            self.tree.apply(*self.pending)
        elif what == "unknown":
            self.unknown += 1
        elif what == "wrong":
            self.wrong.append(" ".join((number,) + words))
        if what in ("end", "settled"):
            self.pending = None
        self.acknowledged += what == "end"


class Writer:
    def __init__(self, world, name, seed, home):
        """@home: of the mounts A and B, the one that is used mostly."""
        self.world = world
        self.name = name
        self.random = random.Random(f"{seed} {name}")
        self.mounts = ("A", "B") if home == "A" else ("B", "A")
        self.notes = Notes(world.path(name + ".notes"))
        self.tree = Tree(name)
        self.tops = {}  # by mount: a descriptor of the directory
        self.held = {}  # by mount, file and flags: a descriptor
        self.number = 0

    # Descriptors.

    def top(self, mount):
        """A descriptor, never of the directory that is below the mount. None: the daemon is dead."""
        if mount not in self.tops:
            try:
                self.tops[mount] = os.open(os.path.join(self.world.path(mount), self.name),
                                           os.O_RDONLY | os.O_DIRECTORY)
            except OSError as error:
                if error.errno not in GONE | {errno.ENOENT}:
                    raise
                return None
        return self.tops[mount]

    def forget(self, mount):
        """Closes what leads to a daemon."""
        fds = [self.tops.pop(mount)] if mount in self.tops else []
        fds += [self.held.pop(key) for key in list(self.held) if key[0] == mount]
        for fd in fds:
            with contextlib.suppress(OSError):
                os.close(fd)

    def choose_mount(self):
        """A mount and its top; None: neither answers now."""
        order = self.mounts if self.random.random() < 0.85 else self.mounts[::-1]
        for mount in order:
            top = self.top(mount)
            if top is not None:
                return mount, top
            if self.random.random() < 0.3:
                break
        time.sleep(0.02)
        return None

    @contextlib.contextmanager
    def opened(self, mount, path, flags):
        """A descriptor of a file, in half of the cases one that stays open."""
        key = (mount, self.tree.paths[path], flags)
        if key in self.held:
            yield self.held[key]
            return
        fd = os.open(path, flags, dir_fd=self.tops[mount])
        if self.random.random() < 0.5:
            self.held[key] = fd
            yield fd
        else:
            try:
                yield fd
            finally:
                with contextlib.suppress(OSError):
                    os.close(fd)
        if len(self.held) > HELD_MAX:
            with contextlib.suppress(OSError):
                os.close(self.held.pop(self.random.choice(list(self.held))))

    # Operations.

    def free_path(self, names):
        folders = [""] if names is FOLDERS else [""] + [path + "/" for path in self.tree.folders()]
        free = [folder + name for folder in folders for name in names if folder + name not in self.tree.paths]
        return self.random.choice(free) if free else None

    def choose(self):
        """An operation that the tree allows, or None."""
        kind = self.random.choices(list(OPERATIONS), OPERATIONS.values())[0]
        files, folders = self.tree.files(), self.tree.folders()
        if kind in ("create", "mkdir"):
            path = self.free_path(FILES if kind == "create" else FOLDERS)
            return (kind, path) if path else None
        if kind == "rmdir" or (kind == "rename" and folders and self.random.random() < 0.3):
            return self.choose_for_folder(kind, folders)
        if not files:
            return None
        path = self.random.choice(files)
        if kind in ("rename", "link"):
            new = self.free_path(FILES)
            return (kind, path, new) if new else None
        if kind == "over":
            others = [other for other in files if self.tree.paths[other] is not self.tree.paths[path]]
            return ("rename", path, self.random.choice(others)) if others else None
        if kind in ("write", "append", "truncate"):
            return self.choose_bytes(kind, path)
        return (kind, path)

    def choose_for_folder(self, kind, folders):
        if kind == "rename":
            new = self.free_path(FOLDERS)
            return ("rename", self.random.choice(folders), new) if new else None
        empty = [path for path in folders if not any(other.startswith(path + "/") for other in self.tree.paths)]
        return ("rmdir", self.random.choice(empty)) if empty else None

    def choose_bytes(self, kind, path):
        """Within one block, across some, whole blocks, and up to what is one call."""
        length = len(self.tree.paths[path].data)
        aligned = self.random.random() < 0.4
        size = self.random.randint(1, self.random.choice([100, 4096, 4096, 20000, 65536, 200000, WRITE_MAX]))
        offset = self.random.randint(0, length + self.random.choice([0, 0, 10000]))
        if aligned:
            size, offset = (size + 4095) // 4096 * 4096, offset // 4096 * 4096
        if kind == "truncate":
            return (kind, path, str(min(offset, FILE_MAX)))
        if kind == "append":
            return (kind, path, str(size)) if length + size <= FILE_MAX else (("truncate", path, "0"))
        return (kind, path, str(min(offset, FILE_MAX - size)), str(size))

    def call(self, mount, top, operation):
        """The system call, and the note that it has returned. Throws OSError."""
        kind, path, *words = operation
        if kind == "create":
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644, dir_fd=top))
        elif kind == "mkdir":
            os.mkdir(path, dir_fd=top)
        elif kind == "rmdir":
            os.rmdir(path, dir_fd=top)
        elif kind == "unlink":
            os.unlink(path, dir_fd=top)
        elif kind == "rename":
            os.rename(path, words[0], src_dir_fd=top, dst_dir_fd=top)
        elif kind == "link":
            os.link(path, words[0], src_dir_fd=top, dst_dir_fd=top)
        else:
            flags = os.O_WRONLY | (os.O_APPEND if kind == "append" else 0)
            with self.opened(mount, path, flags) as fd:
                if kind == "truncate":
                    os.ftruncate(fd, int(words[0]))
                else:
                    self.write(fd, kind, *words)
        self.notes.line("end", self.number)

    def write(self, fd, kind, *words):
        data = bytes_of(self.name, self.number, int(words[-1]))
        done = os.write(fd, data) if kind == "append" else os.pwrite(fd, data, int(words[0]))
        if done != len(data):
            self.wrong(f"a write of {len(data)} bytes returned {done}")

    def wrong(self, text):
        self.notes.line("wrong", self.number, text)
        raise Wrong(text)

    # The loop.

    def is_over(self):
        return os.path.exists(self.world.path("stop"))

    def run(self):
        while not self.is_over():
            operation = self.choose()
            chosen = self.choose_mount() if operation else None
            if chosen:
                self.step(*chosen, operation)

    def step(self, mount, top, operation):
        self.number += 1
        try:
            if operation[0] == "read":
                self.compare_file(mount, top, operation[1])
                return
            self.notes.line("begin", self.number, *operation)
            self.call(mount, top, operation)
            self.tree.apply(self.number, operation)
        except OSError as error:
            if error.errno not in GONE:
                self.wrong(f"{operation} at {mount}: {error}")
            self.forget(mount)
            if operation[0] != "read":
                self.notes.line("unknown", self.number, errno.errorcode[error.errno])
                self.settle(operation)

    def compare_file(self, mount, top, path):
        data, wanted = read_file(top, path), bytes(self.tree.paths[path].data)
        if data != wanted:
            self.wrong(f"{path} at {mount} is stale: {len(data)} bytes read, {len(wanted)} expected")

    def settle(self, operation):
        """Finds out whether an operation has happened; from then on that stays so."""
        after = self.tree.after(self.number, operation)
        latest = time.monotonic() + SETTLE_S
        while not self.is_over():
            chosen = self.choose_mount()
            if chosen is None:
                continue
            try:
                seen = Seen(chosen[1])
            except OSError as error:
                if error.errno not in GONE or time.monotonic() > latest:
                    self.wrong(f"after {operation} at {chosen[0]}: {error}")
                self.forget(chosen[0])
                continue
            happened = not differences(after, seen)
            if not happened and differences(self.tree, seen):
                self.wrong(f"{operation}: before it {differences(self.tree, seen)}, after it "
                           f"{differences(after, seen)}")
            self.notes.line("settled", self.number, int(happened))
            self.tree = after if happened else self.tree
            return
