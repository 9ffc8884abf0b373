#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the seed inputs of the fuzz targets: golden structures, whole, cut and with bytes changed.

    tests/fuzz/make_corpus.py tests/fuzz/corpus

Repeatable: the same files each time. Inputs found by long runs lie beside them under other names
and are not touched. With --check nothing is written; the exit code is 1 if a file differs.
"""
import argparse
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
import make  # noqa: E402  (the path is set above)
import make_fs  # noqa: E402

# The order of the decoders in message_fuzz.cpp and media_fuzz.cpp: an input begins with its place.
MESSAGES = ("hello", "accept", "call", "reply", "request", "answer", "net_hello", "challenge", "auth",
            "grant", "send_message")
MEDIA = ("frame", "head_slots", "superblock", "directory_entry", "segment", "decision", "start_counter")

# The order of the decoders in fs_rows_fuzz.cpp.
FS_ROWS = ("inode", "name", "pointer", "xattrs", "sizes")

# What stands in front of a structure in the input, see media_fuzz.cpp.
POOL = struct.pack("<Q", 1 << 20)

TEXTS = {
    "text": ["shm:pool,mode=ring,wrap=trace+count", "sim:seed=7,preset=adr", "sim:",
            "verbs://host:7471/pool", "s:,a=b", "shm:x,a=1,a=2", "shm:x,=b", "64K", "99999999999G",
            "18446744073709551615", "a:" + "x" * 508,
            "s:" + ",".join(f"k{i}=v" for i in range(17)), "all", "none", "H6,H9", "-H3", "none,+H9",
            "all,-H1,-H2", "H10", "H0", "", ",", "h6", "+H1,-H1", "all,none,H5"],
    "preset": [
        "# t\ninherits = hints # why\ndimms = 1 dimms # s\n", "dimms=1 dimms,media_write=134 ns",
        "domain = adr\nmedium = devdax\nddio = on\n", "domain=eadr;ddio=off", "dimms = 6 dimms\n",
        "media_read = 39.3 ns # Yang, 1\n\nllc_bytes = 13.75 MiB # a # b\nupi_rate=20.8GB/s#c",
        "order_post = 2.5 ns # s\n", "order_retry=50 us", "upi_rate = 0 GB/s # s\n",
        "dimms = 9 dimms # s\n", "inherits = ./a/b\n", "\n\n", "dimms = -1 dimms # s",
        "nic_atomics=1.5 units", "media_line = 0.25 KiB # s\nmedia_line = 256 B # s\n",
        "media_read = 0.0001 ns # s", "interleave = 1000000000000000000000 GiB # s",
        "media_read=1" + "0" * 19 + "us", "dimms = 6 dimms # " + "s" * 199,
        "dimms = 6 dimms # " + "s" * 220, "#" * 256],
    "server_config": [
        'pool = "/p"\nlisten = "shm:x"\n', 'listen="shm:x"\nsize="1G"\nno-direct = true\n',
        'size="64M"\nlisten="shm:x"\ndomain="adr"\nclients=16\nsocket-mode="0660"\nfence="kill"\n'
        'fence-us=5\nnuma=0\ndram="1M"\nsecret-file="/s"\njson-stats="/j"\n',
        '[server]\nlisten = shm:x\n', 'listen = ["a", "b"]\n', 'unknown = 1\n', 'help = true\n',
        'size="1G"\nlisten="shm:x"\nhuge=1\nquiet="yes"\n# text\n;text\n', 'clients=99999\n',
        'numa=-5\nlisten="shm:x"\npool="p"\n', '[[a.b]]\n"x" = \'y\'\n', '= 1\n', '[]\n', '"""\n',
        'config = "other"\nlisten="shm:x"\npool="p"\n'],
    "fs_volume_file": [
        "server = tcp://a:1/pool?x=y\n\n  server=shm:/run/b  \r\nsecret-file = /a secret\npatience\t=\t2.5",
        "# nothing\n", "server b\n", "server =\n", "servers = a\n", "server = a\npatience = nan\n",
        "server = a\npatience = 1e9\n", "server = a\npatience = 0x1p3\n", "server = a = b\n", "= a\n",
        "server = a\0b\n", "server = #\n#server = c\n", "server = a\npatience = 0.1\npatience = 30\n"],
}

# Steps of service_fuzz.cpp for client 0: what, kind - 1, flags, key, object, bytes and lsn in the
# short form of its number(), name.
SERVICE = {
    "log": [(9, 0, 1, 0, 1, 2, 0, 0), (9, 1, 0, 1, 0, 0, 0, 0), (9, 2, 0, 2, 0, 0, 129, 0),
            (9, 3, 0, 2, 0, 0, 129, 0), (9, 6, 0, 0, 0, 0, 0, 0), (9, 4, 0, 2, 0, 0, 0, 0)],
    "region": [(9, 0, 3, 0, 2, 1, 0, 1), (9, 0, 3, 0, 2, 1, 0, 1), (9, 5, 0, 0, 0, 0, 0, 1)],
    "takeover": [(9, 0, 1, 0, 1, 1, 0, 2), (9, 1, 0, 1, 0, 0, 0, 0), (10, 0, 0, 0, 1, 0, 0, 2),
                 (10, 1, 4, 1, 0, 0, 0, 0), (9, 2, 0, 2, 0, 0, 0, 0), (0,)],
    "locks": [(9, 0, 1, 0, 4, 130, 0, 3), (9, 7, 0, 0, 0, 0, 195, 0), (3, 1, 128, 194, 4), (0,)],
    "full": [(9, 0, 1, 0, 2, 40, 0, name) for name in range(6)],
    "again": [(9, 0, 1, 0, 1, 2, 0, 0), (9, 1, 128, 1, 0, 0, 0, 0, 200, 0, 0, 0, 0, 0, 0),
              (9, 1, 128, 1, 0, 0, 0, 0, 200, 255, 0, 0, 0, 3, 0, 0, 0, 8, 0, 0, 0, 0, 0),
              (9, 1, 128, 1, 0, 0, 0, 0, 200, 255, 0, 0, 0, 4, 0, 0, 0, 8, 0, 0, 0, 0, 0),
              (9, 2, 0, 3, 0, 0, 129, 0)],
    "copy": [(9, 0, 129, 0, 1, 2, 138, 0, 199, 0, 1, 3, 2, 1, 99),
             (9, 1, 128, 1, 0, 0, 0, 0, 199, 255, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0, 0, 0),
             (9, 3, 0, 1, 0, 0, 100, 0), (9, 2, 0, 2, 0, 0, 100, 0), (10, 0, 129, 0, 1, 2, 138, 0, 199, 0, 1, 3, 1, 1, 99)],
    "repair": [(9, 0, 1, 0, 1, 2, 0, 0), (9, 1, 16, 1, 0, 195, 0, 0), (9, 2, 16, 2, 0, 128, 130, 0),
               (9, 4, 0, 2, 0, 0, 0, 0), (9, 1, 20, 1, 0, 0, 0, 0), (9, 2, 16, 2, 0, 4, 5, 0)],
}

# Packets of sock_fuzz.cpp: descriptors, their kind, room, length / 2, bytes.
SOCK = {"accept": [(3, 0, 1, 192)], "many": [(9, 1, 1, 4), (7,)], "long": [(0, 0, 8, 9), (1, 2, 1, 3)]}

# Steps of shm_accept_fuzz.cpp, see step() there.
SHM_ACCEPT = {
    "served": [(15, 2, 8), (18, 0, 1, 0, 0, 1, 0, 0, 0, 1), (9,), (0,)],
    "ring": [(15, 2, 8), (18, 0, 1, 0, 1, 1, 0, 0, 0, 1), (9,), (12, 0, 0, 1, 0, 0, 0, 1, 128), (9,)],
    "garbage": [(6, 1, 20, 0), (7, 1, 128, 3), (16, 1, 9), (7, 4, 40, 2)],
    "half": [(3, 2, 8, 1, 0, 0, 5), (1,), (4, 1, 8, 1, 12, 0, 9), (18, 1)],
}

# Answers of stream_answer_fuzz.cpp: kind, value, request, and how many bytes follow.
ANSWERS = {
    "all": (3, 255, [(3, 64, 0, 64), (3, 8, 2, 8), (1, 0, 3, 0)]),
    "pieces": (0, 4, [(3, 10, 0, 10), (3, 54, 0, 54), (1, 0, 1, 0)]),
    "failed": (2, 20, [(2, -116, 0, 0), (2, -5, 1, 0), (1, 0, 2, 0)]),
    "reply": (1, 50, [(4, 320, 0, 320)]),
    "far": (1, 50, [(1, 0, 1 << 40, 0)]),
    "long": (5, 255, [(3, 65, 0, 65)]),
}

# Steps of stream_session_fuzz.cpp, see step() there.
STREAM_SESSION = {
    "served": [(9, 63), (0, 1, 0, 1, 1, 0, 0, 1), (12, 7), (3, 132, 1, 0, 8, 24, 9, 1, 1)],
    "half": [(12, 63), (3, 132, 0, 0, 200, 0, 0, 1, 0, 100), (6,), (0,)],
    "deaf": [(12, 63), (1, 0, 0, 0, 255, 1, 1), (12, 1, 0, 0, 0, 255, 1, 1)] * 3,
    "changed": [(13, 63), (3, 0, 1, 2, 3, 4, 5, 0, 2, 0, 0, 9, 16, 0, 255), (4, 60)],
    "door": [(0, 5, 0, 1, 8, 0, 2), (24, 5, 1, 1), (1, 1, 1, 0, 3, 20, 0, 255)],
    "held": [(9, 63, 0, 1, 0, 2, 1, 0, 0, 1), (21, 1, 0, 0, 1, 1), (6,), (21, 1, 0, 0, 255, 1), (12, 7), (0,)],
    "held_changed": [(9, 63, 0, 1, 0, 2, 1, 0, 0, 1), (21, 1, 0, 0, 255, 0, 1, 8, 0, 4), (21, 1, 9, 0, 255, 1)],
}

# Edits of pool_fuzz.cpp: which checksums to repair, then place, offset there, what, its bytes.
POOL_EDITS = {
    "same": [(0,)], "super": [(1,), (0, 24, 63, 255)], "dirent": [(2,), (1, 16, 7, 0, 16)],
    "dirent_kind": [(2,), (1, 8, 0, 2)], "head": [(4,), (2, 32, 64, 65), (10, 40, 64, 63)],
    "turn": [(4,), (10, 8, 247)], "claim": [(0,), (6, 0, 255)], "frame": [(8,), (4, 0, 8, 0)],
    "frame_len": [(8,), (5, 0, 3, 1, 0, 0, 0)], "copied": [(15,), (4, 3, 135, 2, 128)],
    "wiped": [(0,), (2, 0, 199), (10, 0, 199)],
}


def mutated(seed, data):
    """One input: some bytes changed, dropped or doubled."""
    rng = random.Random(seed)
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(out))
        kind = rng.randrange(4)
        if kind == 0:
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            out[at] = rng.choice([0, 1, 0x7f, 0x80, 0xff])
        elif kind == 2:
            out[at:at + 8] = struct.pack("<Q", rng.choice([0, 1, 63, 64, (1 << 64) - 1, 1 << 63]))
        else:
            del out[at:at + rng.randint(1, 16)]
    return bytes(out)


def heads(turns):
    """Head slots one behind another."""
    return b"".join(bytes(make.head(turn).data) for turn in turns)


def fs_rows():
    """Rows of the golden volume of fs: of each file, of a short and a long name; pointers, a stream."""
    inodes = bytes(make_fs.inodes().data)
    names = bytes(make_fs.names().data)
    maps = bytes(make_fs.maps().data)
    seeds = {f"inode{i}": ("inode", inodes[232 * i + 8:232 * i + 232]) for i in range(8)}
    seeds["name"] = "name", names[104 + 8:104 + 104]
    seeds["name_long"] = "name", names[8:104] + bytes(make_fs.long_names().data)[8:]
    seeds["pointer"] = "pointer", maps[0x290:0x2a0] + bytes([1, 9])
    seeds["pointer_unwritten"] = "pointer", maps[0x88:0x98] + bytes([1, 9])
    seeds["xattrs"] = "xattrs", make_fs.xattr_stream()
    seeds["sizes"] = "sizes", b"rpmfs inodes=64 slabs=1"
    return {name: bytes([FS_ROWS.index(kind)]) + data for name, (kind, data) in seeds.items()}


def inputs():
    """Every input: target -> name -> bytes."""
    block = {name: bytes(entry[1].data) for name, entry in make.golden().items()}
    lsn = {"frame_line": 1280, "frame_media": 1536, "frame_pad": 65344}
    found = {
        "message": {name: bytes([MESSAGES.index(kind)]) + data for name, kind, data in [
            ("hello", "hello", block["hello"]), ("accept", "accept", block["accept"]),
            ("accept_refused", "accept", block["accept_refused"]), ("call", "call", block["call"]),
            ("reply", "reply", block["reply"]), ("request", "request", block["request"]),
            ("request_call", "request", block["request_call"]),
            ("net_hello", "net_hello", block["net_hello"]),
            ("challenge", "challenge", block["challenge"]), ("auth", "auth", block["auth"]),
            ("grant", "grant", block["message_reply"][-40:]),
            *[(f"answer{i}", "answer", block["answers"][16 * i:16 * i + 16]) for i in range(4)],
            *[(name, "send_message", block[name]) for name in sorted(block) if name.startswith("message_")]]},
        "media": {name: bytes([MEDIA.index(kind)]) + data for name, kind, data in [
            ("super", "superblock", POOL + block["super"]),
            ("dirent", "directory_entry", POOL + block["dirent"]),
            ("head_same", "head_slots", heads((7, 7, 7, 7))),
            ("head_pairs", "head_slots", heads((8, 7, 8, 7))),
            ("head_torn", "head_slots", heads((6, 7, 0, 7))),
            ("head_single", "head_slots", bytes(128) + heads((7,)) + bytes(256)),
            *[(name, "segment", block[name]) for name in ("segment", "segment_lz4", "segment_zstd")],
            ("decision", "decision", block["decision"]),
            ("start", "start_counter", block["start"]),
            *[(name, "frame", struct.pack("<Q", lsn[name]) + block[name]) for name in lsn]]},
        "steps": {"whole": struct.pack("<H", 200) + bytes(8) + block["steps"],
                  "denied": struct.pack("<H", 200) + b"\4" + bytes(7) + block["steps"],
                  "watch": struct.pack("<H", 24) + bytes(8) + block["watch"],
                  "watch_ends": struct.pack("<H", 24) + bytes(8) + block["watch"][:16] + bytes(8) + block["watch"][24:],
                  "watch_second": struct.pack("<H", 32) + bytes(8) + block["watch"][32:] + block["watch"][:32],
                  "sum": struct.pack("<H", 16) + bytes(8) + block["sum"],
                  "sums": struct.pack("<H", 24) + bytes(8) + block["sum"] * 2,
                  "sums_of_too_much": struct.pack("<H", 24) + bytes(8) + block["sum"] + block["sum"][:16]
                                      + struct.pack("<Q", (1 << 20) - 5999) + block["sum"][24:],
                  "compare": struct.pack("<H", 16) + bytes(8) + block["compare"],
                  "compares": struct.pack("<H", 24) + bytes(8) + block["compare"] * 2,
                  "compares_of_too_much": struct.pack("<H", 24) + bytes(8) + block["compare"] + block["sum"][:16]
                                          + struct.pack("<Q", (1 << 20) - 2 * 6000 + 1) + block["sum"][24:],
                  "carry": struct.pack("<H", 8) + bytes(8) + block["carry"],
                  "carries": struct.pack("<H", 200) + bytes(8) + block["carry"] * 2 + block["steps"],
                  "ends": struct.pack("<H", 200) + b"\0\0\0\7" + bytes(4) + block["steps"]},
        "stream_answer": {
            name: bytes([posted, packet]) + b"".join(
                struct.pack("<IiQ", *answer[:3]) + bytes(answer[3]) for answer in answers)
            for name, (posted, packet, answers) in ANSWERS.items()},
    }
    found["fs_rows"] = fs_rows()
    for target, seeds in found.items():
        for name, data in list(seeds.items()):
            seeds[f"{name}_cut"] = data[:len(data) * 2 // 3]
            for i in range(4):
                seeds[f"{name}_mutant{i}"] = mutated(f"{target}{name}{i}", data)
        seeds["zeros"] = bytes(len(data))
        seeds["empty"] = b""
    for target, seeds in (("service", SERVICE), ("sock", SOCK), ("shm_accept", SHM_ACCEPT),
                          ("pool", POOL_EDITS), ("stream_session", STREAM_SESSION)):
        found[target] = {name: bytes(b for step in steps for b in step)
                         for name, steps in seeds.items()}
    found["sock"]["accept"] += block["accept"]
    found["sock"]["long"] += bytes(100)
    for target, texts in TEXTS.items():
        found[target] = {f"text{i:02}": text.encode() for i, text in enumerate(texts)}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--check", action="store_true", help="compare only")
    args = parser.parse_args()
    wrong = 0
    for target, seeds in inputs().items():
        if not args.check:
            (args.folder / target).mkdir(parents=True, exist_ok=True)
        for name, data in seeds.items():
            path = args.folder / target / name
            if not args.check:
                path.write_bytes(data)
            elif not path.exists() or path.read_bytes() != data:
                print(f"{path} is not what {sys.argv[0]} makes: run it without --check")
                wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
