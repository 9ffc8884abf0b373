/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read.c: the reader: records in order, from any record on, to the tail, where follow.c waits. Each
 * record is checked in a copy of its bytes, so that a writer cannot change bytes after the check.
 *
 * Invariants
 *   next_lsn is the start of a frame, or the tail
 *   a record is returned only if it is valid, and at the reader's level
 *   "no more" is returned only after reading a head that has not passed next_lsn
 *   after a resume no byte read before is returned, and records returned before must still be there
 *
 * Tests: tests/unit/log/read_test.cpp, tests/conform/resume_test.cpp
 */
#include "log/reader.h"

#include "base/assert.h"
#include "base/err.h"

#include <inttypes.h>

#define FOLLOW_READS 16u    /* empty reads at the tail, between two notices to the writer */
#define CHECK_NS 100000000u /* wait at the tail before checking behind it; then doubled */

/* Read at least @need bytes from next_lsn on again. Unless @fresh is set, they may have been copied
 * ahead, and be older than this call, and fewer; it is set if they are not. */
static int fetch(struct rpm_reader *reader, uint64_t need, bool *fresh)
{
    struct rpm_log *log = reader->log;
    uint64_t position = reader->next_lsn % log->capacity;
    uint64_t len;
    int err;

    RPM_ASSERT(need <= log->capacity - position);
    if (reader->grows && reader->ahead < reader->buffer_bytes)
        reader->ahead *= 2;
    reader->grows = false;
    len = reader->ahead > need ? reader->ahead : need;
    if (!*fresh && rpmi_read_ahead_take(reader))
        return 0;
    if (len > reader->buffer_bytes)
        len = need > reader->buffer_bytes ? need : reader->buffer_bytes;
    if (len > log->capacity - position)
        len = log->capacity - position;
    reader->have = 0;
    err = rpmi_read_ahead_fetch(reader, len);
    if (err != 0)
        return err;
    RPM_ASSERT(len >= need && len <= log->capacity);
    *fresh = true;
    rpmi_reader_filled(reader, len);
    reader->read_ahead.wanted = reader->ahead >= reader->buffer_bytes;
    return 0;
}

/* Check the frame in the buffer at next_lsn. @missing: bytes to fetch before it can be checked. */
static enum rpmi_verdict judge(const struct rpm_reader *reader, struct rpmi_frame *frame,
                               uint64_t *missing)
{
    uint64_t room = reader->log->capacity - reader->next_lsn % reader->log->capacity;
    const unsigned char *at = rpmi_reader_buffered(reader, RPMI_LINE_BYTES);
    enum rpmi_verdict verdict;
    uint64_t total;

    *missing = RPMI_LINE_BYTES;
    if (at == NULL)
        return RPMI_FRAME_BLANK;
    *missing = 0;
    verdict = rpmi_frame_get(at, reader->next_lsn, room, frame);
    if (verdict != RPMI_FRAME_VALID)
        return verdict;
    if ((frame->flags & RPMI_FRAME_PAD) != 0)
        return rpmi_frame_check(frame, reader->log->log_id, NULL);
    total = RPMI_FRAME_HEADER_BYTES + frame->len;
    if (rpmi_reader_buffered(reader, total) == NULL) {
        *missing = total;
        return RPMI_FRAME_BLANK;
    }
    return rpmi_frame_check(frame, reader->log->log_id, at + RPMI_FRAME_HEADER_BYTES);
}

/* Records in the buffer may not be durable yet: make them durable before one is returned. */
static int persist_buffered(struct rpm_reader *reader, uint64_t end_lsn)
{
    struct rpmi_range ranges[2];
    uint64_t from =
        reader->persist_from < reader->next_lsn ? reader->persist_from : reader->next_lsn;
    uint64_t to = reader->lsn + reader->have;
    uint32_t n;
    int err;

    if (reader->persist_plan.seal_kind == 0 || end_lsn <= reader->persisted_lsn)
        return 0;
    if (to - from > reader->log->capacity)
        from = to - reader->log->capacity;
    n = rpmi_ring_ranges(reader->log, from, to, ranges);
    err = rpmi_conn_persist(reader->log->conn, &reader->persist_plan, reader->log->read_key, ranges,
                            n);
    if (err != 0)
        return err;
    RPM_ASSERT(to >= reader->next_lsn + RPMI_LINE_BYTES); /* at least the header that was judged */
    reader->persisted_lsn = to;
    reader->persist_from = UINT64_MAX;
    return 0;
}

/* Do the bytes at next_lsn show that a writer sealed or trimmed after the reader read the head? */
static bool head_is_stale(const struct rpm_reader *reader, enum rpmi_verdict verdict,
                          const struct rpmi_frame *frame)
{
    const unsigned char *at = rpmi_reader_buffered(reader, RPMI_LINE_BYTES);

    if (verdict == RPMI_FRAME_VALID)
        return frame->epoch > reader->head.epoch;
    if (verdict == RPMI_FRAME_BROKEN || at == NULL)
        return true;
    /* A writer has trimmed and reused the bytes at next_lsn. */
    return rpmi_load64(at) > reader->next_lsn && rpmi_is_aligned(rpmi_load64(at), 64);
}

/* No valid frame is at next_lsn. A writer may have trimmed the log behind next_lsn and reused the
 * space, so before this counts as the tail the reader must read a head whose trim_lsn is not behind
 * next_lsn. It does not read the head again while the bytes there do not change. */
static bool may_be_trimmed(struct rpm_reader *reader)
{
    const unsigned char *at = rpmi_reader_buffered(reader, RPMI_LINE_BYTES);

    if (at == NULL)
        return true;
    if (reader->idle_reads++ < RPMI_IDLE_READS_MAX &&
        memcmp(at, reader->idle_line, RPMI_LINE_BYTES) == 0)
        return false;
    reader->idle_reads = 0;
    memcpy(reader->idle_line, at, RPMI_LINE_BYTES);
    return true;
}

/* Should the reader search for frames behind the tail? The search takes longer than reading a
 * record and slows a writer that stores there. So the reader searches when it first reaches the
 * tail, then only after it has waited there for recheck_ns without a record. */
static bool is_check_due(struct rpm_reader *reader)
{
    struct rpmi_link *link = reader->log->conn->link;
    uint64_t now_ns = link->ops->now_ns(link);
    bool first = reader->waiting_at == RPM_LSN_NONE;

    if (reader->waiting_at == reader->next_lsn) {
        if (now_ns - reader->waiting_since_ns < reader->recheck_ns)
            return false;
        reader->recheck_ns *= 2;
        return true;
    }
    reader->waiting_at = reader->next_lsn;
    reader->waiting_since_ns = now_ns;
    reader->recheck_ns = CHECK_NS;
    return first;
}

/* Does a frame behind the tail show that a record is missing there? */
static int check_behind(struct rpm_reader *reader)
{
    struct rpmi_end end = { .longest = reader->longest, .prior_epoch = reader->prior_epoch };
    int err = rpmi_reader_refresh(reader);

    end.lsn = reader->next_lsn;
    if (err != 0)
        return err;
    err = rpmi_log_check_end(reader->log, &end);
    reader->misses_record = err == RPM_E_CORRUPT;
    return err;
}

/* No valid frame is at next_lsn. Report RPM_E_CORRUPT if a frame there or behind it proves that the
 * head is old or that a record is missing. */
static int check_tail(struct rpm_reader *reader, enum rpmi_verdict verdict,
                      struct rpmi_frame *frame)
{
    const unsigned char *at = rpmi_reader_buffered(reader, RPMI_LINE_BYTES);
    uint64_t stored = at != NULL ? rpmi_load64(at) : 0;
    int err = 0;

    if (verdict == RPMI_FRAME_BLANK && stored > reader->next_lsn && stored < RPMI_HEAD_LIMIT &&
        (stored - reader->next_lsn) % reader->log->capacity == 0)
        err = rpmi_log_judge(reader->log, stored, frame, &verdict);
    if (err == 0 && verdict == RPMI_FRAME_VALID)
        err = rpmi_log_check_head(reader->log, &reader->head, frame);
    if (err == 0 && is_check_due(reader))
        err = check_behind(reader);
    if (err != 0) { /* so that the next call reports it again */
        reader->idle_reads = RPMI_IDLE_READS_MAX;
        reader->waiting_at = RPM_LSN_NONE;
    }
    return err;
}

/* 1: a valid frame at next_lsn, 0: the tail. */
static int find_frame(struct rpm_reader *reader, struct rpmi_frame *frame)
{
    bool fresh = false;
    bool refreshed = false;

    /* Each turn fetches more bytes, fetches them again, or refreshes the head once. */
    for (uint32_t turn = 0; turn < 8; turn++) {
        uint64_t missing;
        enum rpmi_verdict verdict = judge(reader, frame, &missing);
        int err;

        if (missing == 0 && verdict == RPMI_FRAME_VALID &&
            rpmi_epoch_belongs(&reader->head, frame, reader->prior_epoch))
            return 1;
        if (missing != 0 || !fresh) {
            err = fetch(reader, missing != 0 ? missing : RPMI_LINE_BYTES, &fresh);
        } else if (!refreshed &&
                   (head_is_stale(reader, verdict, frame) || may_be_trimmed(reader))) {
            uint64_t turn_seen = reader->head.turn;

            refreshed = true;
            err = rpmi_reader_refresh(reader);
            fresh = turn_seen == reader->head.turn;
        } else {
            return check_tail(reader, verdict, frame);
        }
        if (err != 0) {
            reader->idle_reads = RPMI_IDLE_READS_MAX; /* so that the next call reports it again */
            return err;
        }
    }
    return 0;
}

/* Count a read that found no record. After several, tell a direct writer that a reader follows: it
 * then prefetches no lines behind the tail, which the reader's CPU would take back. */
static void note_tail(struct rpm_reader *reader)
{
    struct rpmi_link *link = reader->log->conn->link;

    if (++reader->tail_reads % FOLLOW_READS == 0 && link->fast_path != NULL)
        link->fast_path->follow(link, reader->log->read_key);
}

static void pace_reads(struct rpm_reader *reader, bool plenty)
{
    if (reader->read_ahead.wanted && plenty)
        rpmi_read_ahead_begin(reader);
    reader->read_ahead.wanted = false;
    /* At the tail read one line only: reading where the writer is about to write slows it. */
    if (!plenty)
        reader->ahead = RPMI_LINE_BYTES;
    reader->grows = plenty;
}

/* The log was resumed: the reader's state is stale, and the power may have failed meanwhile. */
static int restart(struct rpm_reader *reader)
{
    struct rpm_log *log = reader->log;
    enum rpmi_verdict verdict;
    struct rpmi_frame frame;
    int err;

    reader->have = 0;
    rpmi_read_ahead_drop(reader);
    reader->waiting_at = RPM_LSN_NONE;
    reader->idle_reads = RPMI_IDLE_READS_MAX;
    err = rpmi_reader_plan(reader, reader->persist_plan.level);
    if (err == 0)
        err = rpmi_reader_refresh(reader);
    if (err == 0 && reader->has_last && reader->last.lsn >= reader->head.trim_lsn) {
        err = rpmi_log_judge(log, reader->last.lsn, &frame, &verdict);
        if (err == 0 && (verdict != RPMI_FRAME_VALID || frame.sum != reader->last.sum ||
                         !rpmi_epoch_belongs(&reader->head, &frame, 0)))
            err = rpmi_fail(RPM_E_RANGE,
                            "log '%s' has lost the record at %" PRIu64 "; open a new reader",
                            log->name, reader->last.lsn);
    }
    if (err == 0)
        err = rpmi_reader_check_start(reader);
    if (err == RPM_E_TRIMMED && reader->tier != NULL)
        err = 0; /* what is in segments is not lost */
    if (err == 0)
        reader->generation = log->reader_generation;
    return err;
}

static void return_record(struct rpm_reader *reader, const struct rpmi_frame *frame,
                          struct rpm_record *record)
{
    RPM_ASSERT(rpmi_reader_buffered(reader, RPMI_FRAME_HEADER_BYTES + frame->len) != NULL);
    RPM_ASSERT(reader->persist_plan.seal_kind == 0 || /* else a power cut could take it back */
               reader->persisted_lsn >= frame->lsn + RPMI_FRAME_HEADER_BYTES + frame->len);
    *record = rpmi_record_of(frame, rpmi_reader_buffered(reader, RPMI_LINE_BYTES) +
                                        RPMI_FRAME_HEADER_BYTES);
    reader->last = *frame;
    reader->has_last = true;
    reader->next_lsn = record->next_lsn;
    reader->idle_reads = RPMI_IDLE_READS_MAX;
}

/* The record at next_lsn: 1; 0: the tail. */
static int next_in_log(struct rpm_reader *reader, struct rpm_record *record)
{
    struct rpmi_frame frame;
    uint64_t stride;
    int found;
    int err;

    for (;;) {
        found = find_frame(reader, &frame);
        if (found <= 0) {
            if (found == 0)
                note_tail(reader);
            pace_reads(reader, false);
            return found;
        }
        stride = rpmi_frame_stride(frame.len, frame.flags);
        err = persist_buffered(reader, reader->next_lsn + stride);
        if (err != 0)
            return err;
        reader->prior_epoch = frame.epoch;
        reader->longest = stride > reader->longest ? stride : reader->longest;
        if ((frame.flags & RPMI_FRAME_PAD) == 0)
            break;
        reader->next_lsn += stride;
        reader->idle_reads = RPMI_IDLE_READS_MAX;
    }
    return_record(reader, &frame, record);
    pace_reads(reader, true);
    return 1;
}

int rpm_reader_next(struct rpm_reader *reader, struct rpm_record *record)
{
    rpmi_begin();

    int found = 0;
    int err;

    RPM_ASSERT(reader != NULL && record != NULL);
    reader->misses_record = false;
    err = rpmi_log_readable(reader->log);
    if (err == 0 && RPMI_UNLIKELY(reader->generation != reader->log->reader_generation))
        err = restart(reader);
    if (err != 0)
        return err;
    if (RPMI_UNLIKELY(reader->cursor != NULL))
        found = rpmi_reader_cold_next(reader, record);
    if (found == 0)
        found = next_in_log(reader, record);
    if (RPMI_LIKELY(found >= 0) || reader->cursor != NULL)
        return found;
    err = rpmi_reader_fall(reader, found);
    return err != 0 ? err : rpmi_reader_cold_next(reader, record);
}

const struct rpmi_frame *rpmi_reader_frame(const struct rpm_reader *reader)
{
    RPM_ASSERT(reader->has_last);
    return &reader->last;
}
