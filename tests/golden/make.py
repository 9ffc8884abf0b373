#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the golden files from FORMAT.md, without any code of the library.

Run by hand when the format changes, which also changes a version number:

    tests/golden/make.py tests/golden

With --check nothing is written; the exit code is 1 if a file differs.
"""
import hashlib
import hmac
import struct
import sys

from block import Block, main, xxh3


def superblock():
    b = Block(2048)
    b.raw(0, b"RPMPOOL\n", "magic")
    b.u32(8, 4, "version")
    b.u64(16, 0x0123456789abcdef, "pool id")
    b.u64(24, 1 << 20, "pool bytes")
    b.u64(32, 4096, "directory offset")
    b.u64(40, 36864, "data offset")
    b.u32(48, 128, "entries")
    b.u32(52, 256, "bytes of an entry")
    b.u64(2040, xxh3(b.data[8:2040]), "checksum of bytes 8 to 2039")
    return b


def start():
    b = Block(8)
    b.u32(0, 7, "starts")
    b.u32(4, ~7, "inverted")
    return b


def dirent():
    b = Block(256)
    b.raw(0, b"RPMETRY\x01", "state: in use")
    b.u32(8, 1, "kind: log")
    b.u64(16, 36864, "offset")
    b.u64(24, 69632, "bytes: header and ring")
    b.u64(32, 0xfedcba9876543210, "log id")
    b.text(40, "orders/2024.log", "name")
    b.raw(240, b"RPMETRY\x01", "state again")
    b.u64(248, xxh3(b.data[8:240]), "checksum of bytes 8 to 239")
    return b


def head(turn=7):
    b = Block(128)
    b.raw(0, b"LOGHEAD\x03", "magic and version")
    b.u64(8, turn, "turn")
    b.u64(16, 0xfedcba9876543210, "log id")
    b.u64(24, 65536, "capacity of the ring")
    b.u64(32, 640, "trim LSN")
    b.u64(40, 1280, "base LSN")
    b.u32(48, 3, "epoch")
    b.u32(52, 1, "flags: durable")
    b.u64(56, 0x1122334455667788, "run that sealed")
    b.u64(64, 0x99aabbccddeeff01, "boot of its machine")
    b.raw(72, bytes([3, 2, 1]), "copies, acks, member")
    b.u64(80, 0x2468ace013579bdf, "hash of the list of members")
    b.u64(120, xxh3(b.data[0:120]), "checksum of bytes 0 to 119")
    return b


def frame(lsn, lag, flags, epoch, payload, pad=0):
    unit = 256 if flags & 2 else 64
    length = pad if pad else len(payload)
    stride = (24 + length + unit - 1) // unit * unit
    tag = lag << 4 | 4 | flags
    word = length | tag << 24 | epoch << 32
    inner = 0 if pad else xxh3(payload)
    log_id = 0xfedcba9876543210
    b = Block(stride)
    b.u64(0, lsn, "LSN")
    b.raw(8, struct.pack("<I", length)[:3], "length")
    b.raw(11, bytes([tag]), f"tag: lag {lag}, version 1, flags {flags}")
    b.u32(12, epoch, "epoch")
    b.u64(16, xxh3(struct.pack("<QQQQ", inner, lsn, word, log_id)),
          "checksum, for log id fedcba9876543210")
    if payload:
        b.raw(24, payload, "payload")
    return b


def call():
    b = Block(128)
    b.u32(0, 1, "kind: OPEN")
    b.u32(4, 3, "flags: CREATE, EXCL")
    b.u32(8, 9, "key")
    b.u32(12, 2, "object: region")
    b.u64(16, 1 << 33, "bytes")
    b.u64(24, 1 << 44, "LSN")
    b.text(32, "accounts", "name")
    return b


def call_guarded():
    b = Block(128)
    b.u32(0, 1, "kind: OPEN")
    b.u32(4, 9, "flags: CREATE, GUARDED")
    b.u32(8, 9, "key: of the claim")
    b.u32(12, 3, "object: DRAM region")
    b.u64(16, 4096, "bytes")
    b.text(32, "words", "name")
    return b


def call_resume():
    b = Block(128)
    b.u32(0, 2, "kind: CLAIM")
    b.u32(4, 32, "flags: RESUME")
    b.u32(8, 9, "key")
    b.u64(24, 7, "LSN: the epoch that it was claimed with")
    return b


def call_claim():
    b = Block(128)
    b.u32(0, 2, "kind: CLAIM")
    b.u32(8, 9, "key")
    b.u32(104, 12, "epoch")
    b.u64(120, 0x0f1e2d3c4b5a6978, "token: of the claim with that epoch")
    return b


def call_create():
    b = Block(128)
    b.u32(0, 1, "kind: OPEN")
    b.u32(4, 1, "flags: CREATE")
    b.u32(12, 1, "object: log")
    b.u64(16, 65536, "bytes: capacity")
    b.u64(24, 640, "LSN: the first")
    b.text(32, "orders/2024.log", "name")
    b.u64(96, 0xfedcba9876543210, "id")
    b.u32(104, 12, "epoch")
    b.raw(108, bytes([3, 2, 1]), "copies, acks, member")
    b.u64(112, 0x2468ace013579bdf, "hash of the list of members")
    return b


def reply():
    b = Block(320)
    b.u32(0, -17, "status: EEXIST")
    b.u32(4, 1, "key")
    b.u32(8, 1, "object: log")
    b.u32(12, 2, "epoch")
    b.u32(16, 3, "writer")
    b.u32(20, 7, "flags: CREATE, RUN_LASTS, BOOT_LASTS")
    b.u64(24, 4 << 32, "bytes")
    b.u64(32, 5 << 32, "offset")
    b.u64(40, 6 << 32, "id")
    b.u64(48, 7 << 32, "value")
    b.u64(56, 10 << 32, "token")
    b.text(64, "accounts", "name")
    b.text(128, "the name is taken", "text")
    b.u64(288, 8 << 32, "certificate key")
    b.u64(296, 9 << 32, "certificate key")
    return b


def hello():
    b = Block(256)
    b.raw(0, b"RPMHELLO", "magic")
    b.u32(8, 3, "protocol version")
    b.u32(12, 2, "mode: ring")
    b.u32(16, 256, "depth")
    b.u64(24, 8 << 20, "staging bytes")
    b.text(32, "open sesame", "secret")
    return b


def accept():
    b = Block(384)
    b.raw(0, b"RPMWELCM", "magic")
    b.u32(8, 3, "protocol version")
    b.u32(12, 0, "status")
    b.u32(16, 1, "mode: direct")
    b.u32(20, 11, "client")
    b.u32(24, 12, "server epoch")
    b.u32(28, 256, "depth")
    b.u64(32, 8 << 20, "staging bytes")
    b.u64(40, 1 << 30, "pool bytes")
    b.u64(48, 1 << 20, "DRAM bytes")
    facts = [(3, "medium: tmpfs"), (2, "domain: ADR"), (1, "declared"), (0, "DDIO: unknown"),
             (1, "native flush: no"), (2, "atomic write: yes"), (1, "memory window: no"),
             (64, "granularity"), (256, "media line"), (0x102, "methods: WRITE, STORE"),
             (0, "memory node"), (-1, "port node: unknown"), (1, "modelled")]
    for i, (value, note) in enumerate(facts):
        b.u32(56 + 4 * i, value, note)
    b.u32(108, 0xfe, "steps: READ to SUM")
    b.u32(272, 7, "starts of the pool")
    return b


def accept_refused():
    b = Block(384)
    b.raw(0, b"RPMWELCM", "magic")
    b.u32(8, 3, "protocol version")
    b.u32(12, -13, "status: EACCES")
    b.text(112, "wrong secret", "text")
    return b


def proof(secret, parts):
    message = b"".join(struct.pack("<Q", len(part)) + bytes(part) for part in parts)
    return hmac.new(secret, message, hashlib.sha256).digest()


def net_hello():
    b = Block(40)
    b.raw(0, b"RPMOPEN\0", "magic")
    b.u32(8, 4, "version")
    b.raw(16, bytes(range(16)), "nonce")
    b.raw(32, bytes(255 - byte for byte in b"RPMOPEN\0"), "end")
    return b


def challenge(status=0):
    b = Block(32)
    b.raw(0, b"RPMCHAL\0", "magic")
    b.u32(8, 4, "version")
    b.u32(12, status, "status")
    b.raw(16, bytes(range(100, 116)), "nonce")
    return b


SECRET = b"open sesame"


def auth():
    b = Block(192)
    b.raw(0, b"RPMAUTH\0", "magic")
    b.u32(8, 4, "version")
    b.u32(12, 256, "depth")
    b.u64(16, 8 << 20, "staging bytes")
    b.text(24, "main", "pool")
    b.raw(160, proof(SECRET, [b"librpm client\0", net_hello().data, challenge().data,
                              b.data[:160]]), "proof")
    return b


def sealed(*beside):
    b = Block(416)
    b.raw(0, accept().data, "accept")
    b.raw(384, proof(SECRET, [b"librpm server\0", net_hello().data, challenge().data,
                              auth().data, b.data[:384], *beside]), "proof")
    return b


def request():
    b = Block(32)
    b.raw(0, b"\x06", "kind: COPY")
    b.raw(1, b"\xa4", "flags: durable, cached, last")
    b.raw(2, struct.pack("<H", 24), "head bytes")
    b.u32(4, 9, "key")
    b.u64(8, 1 << 44, "offset")
    b.u64(16, 256, "length")
    b.u32(24, 200, "body bytes")
    return b


def request_call():
    b = Block(32)
    b.raw(0, b"\x80", "kind: call")
    b.u32(24, 128, "body bytes")
    return b


def answers():
    b = Block(64)
    rows = [(1, 0, 1 << 40, "DONE"), (2, -116, 7, "FAIL: ESTALE"), (3, 4096, 8, "DATA"),
            (4, 320, 0, "REPLY")]
    for i, (kind, value, number, note) in enumerate(rows):
        b.raw(16 * i, bytes([kind]), "kind: " + note)
        b.u32(16 * i + 4, value, "value")
        b.u64(16 * i + 8, number, "request")
    return b


def steps():
    rows = [(1, 0, 100, 3, 5000, [], "READ"), (1, 1, 8, 3, 8, [7], "READ, must"),
            (2, 0x24, 5, 3, 1 << 44, [], "WRITE, durable, cached"),
            (3, 1, 8, 4, 16, [1 << 63, 2], "CAS, must"), (4, 0, 8, 4, 24, [9], "FAA"),
            (5, 0, 64, 0, 1 << 40, [6 << 32, (1 << 40) + 192, 3], "PROVE")]
    b = Block(16 + 24 + 24 + 32 + 24 + 40)
    at = 0
    for kind, flags, length, key, offset, words, note in rows:
        step_head(b, at, kind, note, length, key, offset, flags)
        at += 16
        names = {4: ["operand"], 5: ["log_id", "end_lsn", "epoch"]}.get(kind, ["expect", "operand"])
        for word, what in zip(words, names):
            b.u64(at, word, what)
            at += 8
        if kind == 2:
            b.raw(at, b"bytes\0\0\0", "bytes")
            at += 8
    return b


def answered(done, *results):
    """The answer to a list of steps: a word or bytes for each result."""
    sizes = [8 if isinstance(result, int) else (len(result) + 7) // 8 * 8 for result, _ in results]
    b = Block(8 + sum(sizes))
    b.u32(0, done, "done")
    for at, (result, note) in zip([8 + sum(sizes[:i]) for i in range(len(sizes))], results):
        if isinstance(result, int):
            b.u64(at, result, note)
        else:
            b.raw(at, result, note)
    return b


def steps_answer():
    return answered(3, (bytes(range(100)), "of the READ"), (7, "of the READ that must"),
                    (5, "of the CAS, which ended the list"), (0, "of the FAA"), (bytes(64), "of the PROVE"))


def step_head(b, at, kind, note, length, key, offset, flags=0):
    b.raw(at, bytes([kind, flags]), "kind and flags: " + note)
    b.raw(at + 2, struct.pack("<H", length), "len")
    b.u32(at + 4, key, "key")
    b.u64(at + 8, offset, "offset")


def watch():
    b = Block(32 + 16)
    step_head(b, 0, 6, "WATCH", 8, 3, 1 << 44)
    b.u64(16, 1 << 63, "expect")
    b.u64(24, 1000000, "wait_us")
    step_head(b, 32, 1, "READ", 3, 3, (1 << 44) + 8)
    return b


SUMMED = bytes(range(200)) * 30


def sum_steps():
    b = Block(32)
    step_head(b, 0, 7, "SUM", 8, 3, (1 << 44) + 1)
    b.u64(16, len(SUMMED), "range")
    b.u64(24, (5 << 32) + 7, "seed")
    return b


def compare_steps():
    b = Block(40)
    step_head(b, 0, 9, "COMPARE", 8, 3, (1 << 44) + 1)
    b.u64(16, len(SUMMED), "range")
    b.u64(24, (1 << 45) + 2, "other_offset")
    b.u32(32, 4, "other_key")
    return b


def certificate():
    b = Block(64)
    b.u32(4, 4, "level: durable")
    b.u64(8, 6 << 32, "log_id")
    b.u64(16, 1 << 40, "first_lsn")
    b.u64(24, (1 << 40) + 128, "end_lsn")
    b.u32(32, 3, "epoch")
    b.u32(36, 7, "server_epoch")
    key = "%016x%016x" % (8 << 32, 9 << 32)
    front = bytes(b.data[:48])
    role = b"certificate\0"
    text = struct.pack("<Q", len(role)) + role + struct.pack("<Q", len(front)) + front
    b.raw(48, hmac.new(key.encode(), text, hashlib.sha256).digest()[:16], "proof")
    return b


def carry():
    b = Block(48 + 8)
    b.raw(0, bytes([8, 0]), "kind and flags: CARRY")
    b.raw(2, struct.pack("<H", 5), "len")
    b.u64(8, 1 << 40, "lsn")
    b.u64(16, 6 << 32, "log_id")
    b.u32(24, 3, "epoch")
    b.raw(48, b"bytes\0\0\0", "bytes")
    key = "%016x%016x" % (8 << 32, 9 << 32)
    text = b"".join(struct.pack("<Q", len(part)) + part
                    for part in (b"carry\0", bytes(b.data[:32]), bytes(b.data[48:])))
    b.raw(32, hmac.new(key.encode(), text, hashlib.sha256).digest()[:16], "proof")
    return b


def certificate_refused():
    b = Block(64)
    b.u32(0, -116, "status: ESTALE")
    return b


def message(kind, size, note):
    b = Block(size)
    b.u32(0, kind, "kind: " + note)
    b.u32(4, size, "length")
    return b


def grant(b, at):
    b.u64(at, 0x7f0000001000, "grant: address")
    b.u64(at + 8, 69632, "grant: bytes")
    b.u64(at + 16, 4096, "grant: guarded bytes")
    b.u32(at + 24, 0x1234, "grant: read key")
    b.u32(at + 28, 0x5678, "grant: write key")
    b.u32(at + 32, 3, "grant: read, write")


def message_auth():
    b = message(1, 200, "auth")
    b.raw(8, auth().data, "auth")
    return b


def message_accept():
    b = message(2, 472, "accept")
    b.u32(424, 64, "messages")
    grant(b, 432)
    b.raw(8, sealed(b.data[424:472]).data, "sealed accept")
    return b


def message_call():
    b = message(3, 136, "call")
    b.raw(8, call().data, "call")
    return b


def message_reply():
    b = message(4, 368, "reply")
    b.raw(8, reply().data, "reply")
    grant(b, 328)
    return b


def message_rpc():
    b = message(5, 64, "RPC request")
    b.raw(8, b"\x06", "COPY")
    b.raw(9, b"\x24", "flags: durable, cached")
    b.u32(12, 9, "key")
    b.u64(16, 1 << 44, "offset")
    b.u64(24, 256, "length")
    b.u32(32, 24, "bytes that follow")
    b.raw(40, bytes(range(24)), "bytes")
    return b


def message_steps():
    b = message(5, 200, "RPC request")
    b.raw(8, b"\x0a", "STEPS")
    b.raw(9, b"\x04", "flags: durable")
    b.u64(24, 200, "length: of the answer")
    b.u32(32, 160, "bytes that follow")
    b.raw(40, steps().data, "list")
    return b


def message_result():
    b = message(8, 216, "result")
    b.u64(8, 1 << 40, "RPC requests done")
    b.raw(16, steps_answer().data, "answer")
    return b


def message_done():
    b = message(6, 24, "done")
    b.u64(8, 1 << 40, "RPC requests")
    b.u32(16, -116, "status of the last: ESTALE")
    return b


def message_fenced():
    b = message(7, 16, "fenced")
    b.u32(8, 9, "key")
    return b


def segment(codec, name, frames, parts=None):
    """@parts: what is stored behind the header, each with its note; without them the frames as they are."""
    raw = [bytes(f.data[:(24 + f.data[8] + 7) // 8 * 8]) for f in frames]
    parts = parts or [part for r in raw for part in ((r[:24], "header of a frame"), (r[24:], "payload"))]
    b = Block(256 + sum(len(data) for data, _ in parts))
    b.raw(0, b"RPMSEGM\x01", "magic and version")
    b.u64(8, 0xfedcba9876543210, "log id")
    b.raw(16, frames[0].data[:8], "first LSN")
    b.u64(24, int.from_bytes(frames[-1].data[:8], "little") + len(frames[-1].data), "end LSN")
    b.raw(32, frames[-1].data[:8], "LSN of the last record")
    b.raw(40, frames[-1].data[16:24], "its sum")
    b.raw(48, frames[0].data[12:16], "first epoch")
    b.raw(52, frames[-1].data[12:16], "last epoch")
    b.u32(56, len(frames), "records")
    b.u32(60, codec, "codec: " + name)
    b.u64(64, sum(map(len, raw)), "bytes of the frames")
    b.u64(72, len(b.data) - 256, "bytes stored")
    b.text(88, "orders/2024.log", "log")
    at = 256
    for data, note in parts:
        b.raw(at, data, note)
        at += len(data)
    b.u64(80, xxh3(b.data[256:]), "checksum of them")
    b.u64(248, xxh3(b.data[:248]), "checksum of bytes 0 to 247")
    return b


def segments():
    """As they are: two records, and a pad frame between them that is not there. By a codec: one record."""
    plain = [frame(1280, 1, 0, 3, b"first record"), frame(1408, 2, 0, 4, b"second")]
    same = frame(1280, 1, 0, 3, b"z" * 100)  # 24 bytes of header, 100 of payload, 4 zeros
    head = bytes(same.data[:24])
    return segment(0, "none", plain), segment(1, "LZ4", [same], [
        (b"\xff\x0a" + head + b"z", "25 literals: the header of a frame, the first byte of the payload"),
        (b"\x01\x00\x4c", "95 bytes from 1 before"),
        (b"\x80" + b"z" * 4 + bytes(4), "8 literals: its last bytes, and zeros")]), segment(2, "zstd", [same], [
            (b"\x28\xb5\x2f\xfd\x20\x80", "magic; a single segment; 128 bytes"),
            (b"\xc0\x00\x00" + head, "a block of 24 bytes as they are: the header of a frame"),
            (b"\x22\x03\x00z", "a block of one byte 100 times: the payload"),
            (b"\x23\x00\x00\x00", "the last block, of one byte 4 times")])


def decision():
    b = Block(64)
    b.u32(0, 1, "version")
    b.u32(4, 3, "epoch")
    b.u64(8, 0xfedcba9876543210, "log id")
    b.u64(16, 640, "LSN of the head")
    b.u64(24, 1472, "LSN to trim to")
    b.u64(32, 1408, "LSN of the last record")
    b.u64(40, 0x0123456789abcdef, "its sum")
    b.u64(48, 7, "number")
    b.u64(56, xxh3(b.data[:56]), "checksum of bytes 0 to 55")
    return b


def golden():
    """Every golden file: name -> (title, block)."""
    return {
        "super": ("FORMAT.md section 2: superblock", superblock()),
        "start": ("FORMAT.md section 2: start counter of a pool", start()),
        "dirent": ("FORMAT.md section 3: directory entry of a log", dirent()),
        "head": ("FORMAT.md section 4: one head slot", head()),
        "frame_line": ("FORMAT.md section 5: a record of 40 bytes fills one line",
                       frame(1280, 1, 0, 3, bytes(range(40)))),
        "frame_media": ("FORMAT.md section 5: a record of 300 bytes on whole media lines",
                        frame(1536, 0, 2, 3, bytes(i * 7 % 256 for i in range(300)))),
        "frame_pad": ("FORMAT.md section 5: a pad frame of 192 bytes",
                      frame(65344, 5, 1, 3, b"", pad=168)),
        "hello": ("FORMAT.md section 6: hello", hello()),
        "accept": ("FORMAT.md section 6: accept, granted", accept()),
        "accept_refused": ("FORMAT.md section 6: accept, refused", accept_refused()),
        "call": ("FORMAT.md section 7: call", call()),
        "call_guarded": ("FORMAT.md section 7: call, OPEN with a guard", call_guarded()),
        "call_resume": ("FORMAT.md section 7: call, CLAIM that resumes", call_resume()),
        "call_claim": ("FORMAT.md section 7: call, CLAIM of an epoch once more", call_claim()),
        "call_create": ("FORMAT.md section 7: call, OPEN that creates a copy of a set's log", call_create()),
        "reply": ("FORMAT.md section 7: reply", reply()),
        "net_hello": ("FORMAT.md section 9: hello", net_hello()),
        "challenge": ("FORMAT.md section 9: challenge", challenge()),
        "challenge_refused": ("FORMAT.md section 9: challenge, refused", challenge(-93)),
        "auth": ("FORMAT.md section 9: auth, secret 'open sesame'", auth()),
        "sealed": ("FORMAT.md section 9: sealed accept", sealed()),
        "request": ("FORMAT.md section 10: header of a request", request()),
        "message_steps": ("FORMAT.md section 11: an RPC request with a list", message_steps()),
        "message_result": ("FORMAT.md section 11: a result", message_result()),
        "watch": ("FORMAT.md section 12: a list that begins with a WATCH", watch()),
        "watch_answer": ("FORMAT.md section 12: the answer to it", answered(2, (7, "of the WATCH"), (bytes(range(3)), "of the READ"))),
        "sum": ("FORMAT.md section 12: a list of a SUM", sum_steps()),
        "sum_answer": ("FORMAT.md section 12: the answer to it", answered(1, (xxh3(SUMMED, (5 << 32) + 7), "of the SUM"))),
        "compare": ("FORMAT.md section 12: a list of a COMPARE", compare_steps()),
        "compare_answer": ("FORMAT.md section 12: the answer to it", answered(
            1, (4321, "of the COMPARE, of ranges of which byte 4321 differs"))),
        "steps": ("FORMAT.md section 12: a list of steps", steps()),
        "segment": ("FORMAT.md section 13: a segment of two records", segments()[0]),
        "segment_lz4": ("FORMAT.md section 13: a segment by LZ4", segments()[1]),
        "segment_zstd": ("FORMAT.md section 13: a segment by zstd", segments()[2]),
        "carry": ("FORMAT.md section 12: a list of a CARRY", carry()),
        "decision": ("FORMAT.md section 14: a decision", decision()),
        "certificate": ("FORMAT.md section 12: a certificate", certificate()),
        "certificate_refused": ("FORMAT.md section 12: a refusal", certificate_refused()),
        "steps_answer": ("FORMAT.md section 12: the answer to a list", steps_answer()),
        "request_call": ("FORMAT.md section 10: header of a call", request_call()),
        "answers": ("FORMAT.md section 10: four answers", answers()),
        "message_auth": ("FORMAT.md section 11: message of an auth", message_auth()),
        "message_accept": ("FORMAT.md section 11: message of an accept", message_accept()),
        "message_call": ("FORMAT.md section 11: message of a call", message_call()),
        "message_reply": ("FORMAT.md section 11: message of a reply", message_reply()),
        "message_rpc": ("FORMAT.md section 11: an RPC request", message_rpc()),
        "message_done": ("FORMAT.md section 11: a count of RPC requests", message_done()),
        "message_fenced": ("FORMAT.md section 11: a key whose memory another writer claimed",
                           message_fenced()),
    }


if __name__ == "__main__":
    sys.exit(main(golden(), __doc__))
