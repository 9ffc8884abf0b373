// SPDX-License-Identifier: BSD-3-Clause
// media_fuzz.cpp: structures of a pool's media: a frame, the head slots of a log, the superblock, a
// directory entry, a start counter; and a segment, and a decision. A structure with a checksum is
// tested as it is and with its checksum repaired.
//
// Input: the structure's place in the table at the end, then its bytes; a frame's after its LSN,
// the superblock's and the entry's after the size of the pool (8 bytes each).
extern "C" {
#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/sum.h"
#include "tier/codec.h"
#include "wire/decision.h"
#include "wire/frame.h"
#include "wire/head.h"
#include "wire/segment.h"
#include "wire/start.h"
#include "wire/super.h"
}
#include "fuzz.h"

static const uint64_t LOG_ID = 0xfedcba9876543210ull;

static void frame(const uint8_t *data, size_t size)
{
    rpmi_frame found;
    uint8_t header[RPMI_FRAME_HEADER_BYTES];

    if (size < 8)
        return;
    uint64_t lsn = rpmi_align_down(rpmi_load64(data), RPMI_LINE_BYTES);
    size_t room = size - 8;
    auto ring = fuzz_copy(data + 8, room, room);

    if (rpmi_frame_get(ring.get(), lsn, room, &found) != RPMI_FRAME_VALID)
        return;
    const uint8_t *payload = ring.get() + RPMI_FRAME_HEADER_BYTES;
    bool pad = (found.flags & RPMI_FRAME_PAD) != 0;
    uint64_t stride = rpmi_frame_stride(found.len, found.flags);

    FUZZ_CHECK(found.lsn == lsn);
    FUZZ_CHECK(stride <= room && stride % RPMI_LINE_BYTES == 0 && stride > 0);
    FUZZ_CHECK(found.len + RPMI_FRAME_HEADER_BYTES <= stride);
    rpmi_frame_put(header, &found, LOG_ID, pad ? nullptr : payload);
    FUZZ_CHECK(memcmp(header, ring.get(), 16) == 0);
    bool same = memcmp(header + 16, ring.get() + 16, 8) == 0;
    FUZZ_CHECK(same == (rpmi_frame_check(&found, LOG_ID, payload) == RPMI_FRAME_VALID));

    // Repairs the checksum, so that mutations reach the checks behind it, and judges again.
    memcpy(ring.get(), header, sizeof(header));
    FUZZ_CHECK(rpmi_frame_get(ring.get(), lsn, room, &found) == RPMI_FRAME_VALID);
    FUZZ_CHECK(rpmi_frame_check(&found, LOG_ID, payload) == RPMI_FRAME_VALID);
    FUZZ_CHECK(rpmi_frame_check(&found, LOG_ID + 1, payload) == RPMI_FRAME_BROKEN);
}

// Encoding what was decoded gives the same bytes.
static void check_slot(const uint8_t *slot)
{
    rpmi_head head;
    uint8_t again[RPMI_HEAD_BYTES];
    int err = rpmi_head_get(slot, &head);

    FUZZ_CHECK(err == 0 || err == RPM_E_TORN);
    if (err != 0)
        return;
    rpmi_head_put(again, &head);
    FUZZ_CHECK(memcmp(again, slot, sizeof(again)) == 0);
}

static void check_slots(const uint8_t *slots)
{
    rpmi_head head;
    rpmi_head one;
    uint32_t lacking = 99;
    unsigned whole = 0;
    int err = rpmi_head_pick(slots, &head, &lacking);

    for (unsigned i = 0; i < RPMI_HEAD_SLOTS; i++)
        check_slot(slots + i * RPMI_HEAD_SLOT_STRIDE);
    FUZZ_CHECK(err == 0 || err == RPM_E_CORRUPT);
    if (err != 0)
        return;
    // Each slot of the turn's parity holds the picked head, unless @lacking names it; any other
    // slot that is valid and of its own parity has a lower turn.
    FUZZ_CHECK(lacking < 1u << RPMI_HEAD_SLOTS);
    for (unsigned i = 0; i < RPMI_HEAD_SLOTS; i++) {
        bool own = i % 2 == head.turn % 2;

        FUZZ_CHECK(own || (lacking & 1u << i) == 0);
        err = rpmi_head_get(slots + i * RPMI_HEAD_SLOT_STRIDE, &one);
        if (own && (lacking & 1u << i) == 0) {
            FUZZ_CHECK(err == 0 && one.turn == head.turn && one.epoch == head.epoch &&
                       one.trim_lsn == head.trim_lsn && one.base_lsn == head.base_lsn);
            whole++;
        } else if (err == 0 && one.turn % 2 == i % 2) {
            FUZZ_CHECK(one.turn < head.turn && one.log_id == head.log_id);
        }
    }
    FUZZ_CHECK(whole > 0);
}

static void head_slots(const uint8_t *data, size_t size)
{
    // The last slot ends the block: a sanitizer detects a read beyond it.
    auto slots =
        fuzz_copy(nullptr, 0, (RPMI_HEAD_SLOTS - 1) * RPMI_HEAD_SLOT_STRIDE + RPMI_HEAD_BYTES);

    for (unsigned i = 0; i < RPMI_HEAD_SLOTS && size > 0; i++) {
        size_t len = size < RPMI_HEAD_BYTES ? size : RPMI_HEAD_BYTES;

        memcpy(slots.get() + i * RPMI_HEAD_SLOT_STRIDE, data, len);
        data += len;
        size -= len;
    }
    check_slots(slots.get());
    for (unsigned i = 0; i < RPMI_HEAD_SLOTS; i++) {
        uint8_t *slot = slots.get() + i * RPMI_HEAD_SLOT_STRIDE;

        rpmi_store64(slot + 120, rpmi_sum(slot, 120));
    }
    check_slots(slots.get());
}

// Checks a structure of @bytes behind the size of its pool, then once more with its checksum, at
// @sum_at over @summed bytes from its second word on, repaired.
static void check_repaired(const uint8_t *data, size_t size, size_t bytes, size_t sum_at,
                           size_t summed, void (*check)(const uint8_t *, uint64_t))
{
    if (size < 8)
        return;
    uint64_t pool_bytes = rpmi_load64(data);
    auto block = fuzz_copy(data + 8, size - 8, bytes);

    check(block.get(), pool_bytes);
    rpmi_store64(block.get() + sum_at, rpmi_sum(block.get() + 8, summed));
    check(block.get(), pool_bytes);
}

static void check_super(const uint8_t *block, uint64_t pool_bytes)
{
    rpmi_super super;
    auto again = fuzz_copy(nullptr, 0, RPMI_SUPER_BYTES);
    int err = rpmi_super_get(block, pool_bytes, &super);

    FUZZ_CHECK(err == 0 || err == RPM_E_FOREIGN || err == RPM_E_VERSION || err == RPM_E_CORRUPT ||
               err == RPM_E_NOENT);
    if (err != 0)
        return;
    FUZZ_CHECK(super.pool_bytes <= pool_bytes);
    FUZZ_CHECK(rpmi_in_bounds(super.dir_offset, uint64_t{ super.entries } * RPMI_DIRENT_BYTES,
                              super.data_offset));
    FUZZ_CHECK(super.data_offset <= super.pool_bytes);
    rpmi_store64(again.get(), rpmi_super_put(again.get(), &super));
    FUZZ_CHECK(memcmp(again.get(), block, RPMI_SUPER_BYTES) == 0);
}

static void superblock(const uint8_t *data, size_t size)
{
    check_repaired(data, size, RPMI_SUPER_BYTES, 2040, 2032, check_super);
}

static void check_dirent(const uint8_t *slot, uint64_t pool_bytes)
{
    rpmi_dirent entry;
    auto again = fuzz_copy(nullptr, 0, RPMI_DIRENT_BYTES);
    int used = rpmi_dirent_get(slot, pool_bytes, &entry);

    FUZZ_CHECK(used == 0 || used == RPMI_DIRENT_USED || used == RPMI_DIRENT_HALF ||
               used == RPM_E_CORRUPT);
    FUZZ_CHECK((used == 0) == (rpmi_load64(slot) == rpmi_dirent_free() &&
                               rpmi_load64(slot + RPMI_DIRENT_STATE_2) == rpmi_dirent_free()));
    if (used <= 0)
        return;
    FUZZ_CHECK(rpmi_in_bounds(entry.offset, entry.bytes, pool_bytes));
    FUZZ_CHECK(rpmi_name_check(entry.name) == 0);
    rpmi_dirent_put(again.get(), &entry);
    rpmi_store64(again.get(), rpmi_dirent_used());
    if (used == RPMI_DIRENT_USED)
        rpmi_store64(again.get() + RPMI_DIRENT_STATE_2, rpmi_dirent_used());
    FUZZ_CHECK(memcmp(again.get(), slot, RPMI_DIRENT_BYTES) == 0);
}

static void directory_entry(const uint8_t *data, size_t size)
{
    check_repaired(data, size, RPMI_DIRENT_BYTES, 248, 232, check_dirent);
}

// The frames behind the header are walked, as many of them as there are.
static void walk_segment(rpmi_segment segment, const uint8_t *data, size_t size)
{
    rpmi_segment_walk walk;
    rpmi_frame frame;
    const void *payload;
    uint64_t lsn = segment.first_lsn;
    int found;

    segment.raw_bytes = rpmi_align_down(size, RPMI_SEGMENT_ALIGN);
    auto raw = fuzz_copy(data, size, segment.raw_bytes);
    rpmi_segment_walk_begin(&walk, &segment, raw.get());
    while ((found = rpmi_segment_walk_next(&walk, &frame, &payload)) == 1) {
        const uint8_t *at = static_cast<const uint8_t *>(payload);

        FUZZ_CHECK(at >= raw.get() + RPMI_FRAME_HEADER_BYTES);
        FUZZ_CHECK(at + frame.len <= raw.get() + segment.raw_bytes);
        FUZZ_CHECK(frame.lsn >= lsn && frame.lsn < segment.end_lsn);
        FUZZ_CHECK(rpmi_frame_check(&frame, segment.log_id, payload) == RPMI_FRAME_VALID);
        lsn = frame.lsn + RPMI_LINE_BYTES;
    }
    FUZZ_CHECK(found == RPM_E_CORRUPT || (found == 0 && walk.records == segment.records));
}

// What is stored behind the header is uncompressed, as exactly raw_bytes or not at all.
static void unpack_segment(rpmi_segment segment, const uint8_t *data, size_t size)
{
    if (segment.raw_bytes > 1u << 20) // so that an input takes no time for memory
        return;
    auto stored = fuzz_copy(data, size, size);
    auto raw = fuzz_copy(nullptr, 0, segment.raw_bytes);
    segment.stored_bytes = size;
    int err = rpmi_codec_unpack(&segment, stored.get(), raw.get());

    FUZZ_CHECK(err == 0 || err == RPM_E_CORRUPT || err == RPM_E_NOCAP);
    if (err == 0)
        walk_segment(segment, raw.get(), segment.raw_bytes);
}

static void check_segment(const uint8_t *header, const uint8_t *data, size_t size)
{
    rpmi_segment segment;
    uint8_t again[RPMI_SEGMENT_HEADER_BYTES];
    int err = rpmi_segment_get(header, &segment);

    FUZZ_CHECK(err == 0 || err == RPM_E_FOREIGN || err == RPM_E_VERSION || err == RPM_E_CORRUPT);
    if (err != 0)
        return;
    FUZZ_CHECK(segment.raw_bytes <= RPMI_SEGMENT_RAW_MAX);
    FUZZ_CHECK(segment.stored_bytes <= segment.raw_bytes);
    rpmi_segment_put(again, &segment);
    FUZZ_CHECK(memcmp(again, header, sizeof(again)) == 0);
    if (segment.codec == RPMI_SEGMENT_PLAIN)
        walk_segment(segment, data, size);
    else
        unpack_segment(segment, data, size);
}

static void segment(const uint8_t *data, size_t size)
{
    auto header = fuzz_copy(data, size, RPMI_SEGMENT_HEADER_BYTES);
    size_t used = size < RPMI_SEGMENT_HEADER_BYTES ? size : RPMI_SEGMENT_HEADER_BYTES;

    check_segment(header.get(), data + used, size - used);
    rpmi_store64(header.get() + 248, rpmi_sum(header.get(), 248));
    check_segment(header.get(), data + used, size - used);
}

static void check_decision(const uint8_t *line)
{
    rpmi_decision found;
    uint8_t again[RPMI_DECISION_BYTES];
    int err = rpmi_decision_get(line, &found);

    FUZZ_CHECK(err == 0 || err == RPM_E_NOENT || err == RPM_E_VERSION || err == RPM_E_CORRUPT);
    if (err != 0)
        return;
    FUZZ_CHECK(found.head_lsn < found.trim_lsn && found.number > 0);
    rpmi_decision_put(again, &found);
    FUZZ_CHECK(memcmp(again, line, sizeof(again)) == 0);
}

static void decision(const uint8_t *data, size_t size)
{
    auto line = fuzz_copy(data, size, RPMI_DECISION_BYTES);

    check_decision(line.get());
    rpmi_store64(line.get() + 56, rpmi_sum(line.get(), 56));
    check_decision(line.get());
}

// Every other word than a counter with its inverse is refused.
static void start_counter(const uint8_t *data, size_t size)
{
    auto word = fuzz_copy(data, size, RPMI_START_BYTES);
    uint8_t again[RPMI_START_BYTES];
    rpmi_start_count start;
    int err = rpmi_start_get(word.get(), &start);

    FUZZ_CHECK(err == 0 || err == RPM_E_TORN);
    if (err != 0)
        rpmi_store32(word.get() + 4, ~rpmi_load32(word.get()));
    FUZZ_CHECK(rpmi_start_get(word.get(), &start) == 0);
    rpmi_start_put(again, &start);
    FUZZ_CHECK(memcmp(again, word.get(), sizeof(again)) == 0);
}

// make_corpus.py has the same order in MEDIA.
static void (*const decoders[])(const uint8_t *,
                                size_t) = { frame,   head_slots, superblock,   directory_entry,
                                            segment, decision,   start_counter };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    decoders[data[0] % std::size(decoders)](data + 1, size - 1);
    return 0;
}
