# SPDX-License-Identifier: BSD-3-Clause
"""Writers on a new volume, and the comparison of the volume with their notes."""
import os

from fs_tree import Seen, bytes_of, differences
from fs_world import Failed, wait_until
from fs_writer import Past, Writer

VOLUME_MIB = 128
MOUNTS = ("A", "B")


class LosingWriter(Writer):
    """Notes some writes that it does not make."""

    def write(self, fd, kind, *words):
        if self.number % 8 != 0:
            super().write(fd, kind, *words)


class HalvingWriter(Writer):
    """Leaves half of a write behind."""

    def run(self):
        super().run()
        path = next(path for path in self.tree.files() if len(self.tree.paths[path].data) < 1 << 20)
        offset = len(self.tree.paths[path].data)
        self.number += 1
        self.notes.line("begin", self.number, "write", path, offset, 8192)
        fd = os.open(os.path.join(self.world.path("B"), self.name, path), os.O_WRONLY)
        os.pwrite(fd, bytes_of(self.name, self.number, 8192)[:4096], offset)


CANARIES = {None: Writer, "lost": LosingWriter, "half": HalvingWriter}


class Load:
    def __init__(self, world, writers, seed, kind=Writer):
        """@kind: the class of the writers."""
        self.world = world
        self.seed = seed
        self.kind = kind
        self.names = [f"w{i}" for i in range(writers)]
        self.unknown = 0

    def begin(self):
        """Makes a volume, mounts it at A and B, and starts the writers."""
        world = self.world
        for name in os.listdir(world.folder):
            if name == "stop" or name.endswith((".notes", ".log", ".found")):
                os.unlink(world.path(name))
        world.start_anew(VOLUME_MIB)
        for name in MOUNTS:
            world.mount(name)
        world.workers.clear()
        for i, name in enumerate(self.names):
            os.mkdir(os.path.join(world.path("A"), name))
            with open(world.path(name + ".notes"), "w", encoding="utf-8"):
                pass
            writer = self.kind(world, name, self.seed, MOUNTS[i % 2])
            world.work(name, writer.run)

    def ends(self):
        """Of each writer, how many calls were acknowledged."""
        counts = []
        for name in self.names:
            with open(self.world.path(name + ".notes"), "rb") as file:
                counts.append(file.read().count(b"end "))
        return counts

    def acknowledged(self):
        return sum(self.ends())

    def await_progress(self, calls, what):
        """All writers make so many further calls."""
        before = self.ends()

        def all_went_on():
            self.world.expect_well()
            return all(now >= then + calls for then, now in zip(before, self.ends()))

        wait_until(all_went_on, what)

    def stop(self):
        with open(self.world.path("stop"), "w", encoding="utf-8"):
            pass
        for worker in self.world.workers:
            worker.expect_end()

    def compare_all(self, pasts):
        """In a child, which may be killed if the mount does not answer: writes what it finds to a file."""
        with open(self.world.path("all.found"), "w", encoding="utf-8") as file:
            for name, past in pasts.items():
                top = os.open(os.path.join(self.world.path("B"), name), os.O_RDONLY | os.O_DIRECTORY)
                for kind, text in compare(past, Seen(top)):
                    print(kind, f"{name}: {text}", file=file)
                os.close(top)

    def verify(self):
        """Throws Failed unless B shows what the notes say."""
        pasts = {name: Past(name, self.world.path(name + ".notes")) for name in self.names}
        self.unknown = sum(past.unknown for past in pasts.values())
        self.world.work("verifier", self.compare_all, pasts).expect_end()
        with open(self.world.path("all.found"), encoding="utf-8") as file:
            found = file.read().splitlines()
        if found:
            lost = sum(line.startswith("lost") for line in found)
            raise Failed("\n".join(found) + f"\nacknowledged {self.acknowledged()}, lost {lost}, "
                                            f"half {len(found) - lost}")


def compare(past, seen):
    """What is lost of what was acknowledged, and what has happened in part."""
    before = differences(past.tree, seen)
    if not before:
        return []
    if past.pending is None:
        return [("lost", f"{path} {text}") for path, text in before.items()]
    after = differences(past.tree.after(*past.pending), seen)
    if not after:
        return []
    found = [("lost", f"{path} {text}") for path, text in before.items() if after.get(path) == text]
    if not found:
        found = [("half", f"{past.pending}: before it {before}, after it {after}")]
    return found
