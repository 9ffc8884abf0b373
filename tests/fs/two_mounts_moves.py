# SPDX-License-Identifier: BSD-3-Clause
"""Cases of two_mounts: directories that move at one mount while the kernel at the other knows them."""
import contextlib
import errno
import os
import threading

ROUNDS = 20


def fork(act):
    """Runs act() in a child; returns its pid."""
    pid = os.fork()
    if pid == 0:
        code = 1
        with contextlib.suppress(Exception):
            act()
            code = 0
        os._exit(code)
    return pid


@contextlib.contextmanager
def working_in(directory, path=None):
    """A process works there; at the end, it must find the directory as it was, and itself at @path."""
    begun, end = os.pipe(), os.pipe()
    ino = os.stat(directory).st_ino

    def work():
        os.chdir(directory)
        os.write(begun[1], b"+")
        os.close(end[1])
        os.read(end[0], 1)
        assert os.stat(".").st_ino == ino
        assert "below" in os.listdir(".")
        with open("made", "wb") as file:
            file.write(b"made")
        os.unlink("made")
        assert path is None or os.getcwd() == str(path)

    pid = fork(work)
    os.read(begun[0], 1)
    yield
    os.close(end[1])
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, "the process that worked in it"
    for fd in (*begun, end[0]):
        os.close(fd)


@contextlib.contextmanager
def open_at(directory):
    fd = os.open(directory, os.O_RDONLY)
    yield
    assert "below" in os.listdir(fd)
    os.close(fd)


def move_and_rename(a, b, use, third):
    """A moves a directory that B knows, and B renames it at once. @third: where to."""
    for name in ("p1", "p2", "p3"):
        os.makedirs(a / name, exist_ok=True)
    os.makedirs(a / "p1" / "d" / "below")
    ino = os.stat(b / "p1" / "d" / "below").st_ino
    with use(b / "p1" / "d"):
        os.rename(a / "p1" / "d", a / "p2" / "d")
        os.rename(b / "p2" / "d", b / third / "e")
        assert os.stat(b / third / "e" / "below").st_ino == ino
        assert os.stat(a / third / "e" / "below").st_ino == ino
        for gone in ("p1", "p2"):
            assert os.listdir(b / gone) == (["e"] if gone == third else [])
        os.rename(b / third / "e" / "below", b / "p2" / "f")  # known below both of its parent's places
        os.rename(a / "p2" / "f", a / third / "e" / "below")
        assert os.listdir(b / third / "e") == ["below"]
    os.rmdir(b / third / "e" / "below")
    os.rmdir(b / third / "e")


def case_rename_of_a_directory_that_has_moved(a, b):
    for _ in range(ROUNDS):
        for use in (contextlib.nullcontext, open_at, working_in):
            for third in ("p3", "p1"):
                move_and_rename(a, b, use, third)


def case_a_moved_directory_is_asked_for(a, b):
    """Who only asks whether its name is taken does not take the directory from who works there."""
    for name in ("p1", "p2"):
        os.mkdir(a / name)
    os.makedirs(a / "p1" / "d" / "below")
    with working_in(b / "p1" / "d", b / "p2" / "d"):
        os.rename(a / "p1" / "d", a / "p2" / "d")
        for _ in range(4):
            try:
                os.mkdir(b / "p2" / "d")
            except FileExistsError:
                continue
            raise AssertionError("the directory was not there")


def case_rename_over_a_directory_that_has_moved(a, b):
    for name in ("p1", "p2", "p3"):
        os.mkdir(a / name)
    for _ in range(ROUNDS):
        os.mkdir(a / "p1" / "empty")
        os.mkdir(a / "p3" / "full")
        os.mkdir(a / "p3" / "full" / "below")
        os.stat(b / "p1" / "empty")
        os.stat(b / "p3" / "full")
        os.rename(a / "p1" / "empty", a / "p2" / "empty")
        os.rename(b / "p3" / "full", b / "p2" / "empty")
        assert os.listdir(a / "p2" / "empty") == ["below"]
        assert os.listdir(b / "p3") == []
        os.rmdir(b / "p2" / "empty" / "below")
        os.rmdir(b / "p2" / "empty")


def case_lookups_beside_renames(a, b):
    """Directories move at A, and are looked up at B, beside renames there."""
    for name in ("p1", "p2", "q1", "q2"):
        os.mkdir(a / name)
    os.mkdir(a / "p1" / "d")
    os.mkdir(a / "q1" / "e")
    stop = os.pipe()

    def rename_on():
        os.set_blocking(stop[0], False)
        here, there = "q1", "q2"
        while True:
            with contextlib.suppress(BlockingIOError):
                os.read(stop[0], 1)
                return
            os.rename(b / here / "e", b / there / "e")
            here, there = there, here

    pid = fork(rename_on)
    try:
        here, there = "p1", "p2"
        for _ in range(20 * ROUNDS):
            os.rename(a / here / "d", a / there / "d")
            os.stat(b / there / "d")
            try:
                os.stat(b / here / "d")
            except OSError as error:
                assert error.errno == errno.ENOENT, error
            here, there = there, here
    finally:
        os.write(stop[1], b"+")
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, "the process that renames"


def case_two_renames_make_no_loop(a, b):
    for i in range(20):
        (a / f"x{i}").mkdir()
        (a / f"y{i}").mkdir()
        failed = []

        def move(where, source, target, failed=failed):
            try:
                os.rename(where / source, where / target)
            except OSError as error:
                failed.append(error.errno)

        threads = [threading.Thread(target=move, args=(a, f"x{i}", f"y{i}/x")),
                   threading.Thread(target=move, args=(b, f"y{i}", f"x{i}/y"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(failed) == 1 and failed[0] in (errno.ENOENT, errno.EINVAL), failed
        assert (a / f"x{i}").exists() != (a / f"y{i}").exists()
