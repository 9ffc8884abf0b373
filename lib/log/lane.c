/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lane.c: blocking appends over a link that offers a short way (struct rpmi_lane). What an append
 * costs there is the drain at its end, so everything else must fit beside it: no ops are built, no
 * entry is kept for a completion that nobody will wait for.
 *
 * Stores reach memory in the order they were made, those past the caches slowly: any other store
 * waits behind them, and the next append behind it. So what an append keeps track of stays in
 * registers until its last frame is under way.
 *
 * The sum of a large payload is worked out while it drains: the payload is stored first, piece by
 * piece, and the line with the header, which holds the sum, last. Until the drain the order does
 * not matter, a frame certifies itself.
 *
 * Invariant: all or nothing is decided before the first store; after that nothing can fail.
 *
 * Tests: tests/unit/log/lane_test.cpp against the ordinary way, tests/kill/ over shm: direct
 */
#include "log/log.h"

#include "base/assert.h"

#define PIECE_BYTES 4096u
#define PIECES_FROM (2 * PIECE_BYTES)
#define FIRST_BYTES 40u /* of a payload, in the first line */

/* A run of records on its way. */
struct run {
    uint64_t lsn; /* of the next frame */
    uint64_t position;
    uint64_t written;
};

__attribute__((cold, noinline)) static void put_pad(struct rpm_log *log, uint64_t lsn,
                                                    uint64_t position, uint64_t bytes)
{
    struct rpmi_frame frame = {
        .lsn = lsn,
        .len = (uint32_t)(bytes - RPMI_FRAME_HEADER_BYTES),
        .epoch = log->epoch,
        .flags = RPMI_FRAME_PAD,
        .lag = rpmi_log_lag(log, lsn),
    };
    uint64_t head[3];

    rpmi_frame_put(head, &frame, log->log_id, NULL);
    log->lane->frame(log->conn->link, RPMI_LOG_HEADER_BYTES + position, head, NULL, 0,
                     rpmi_align_up(RPMI_FRAME_HEADER_BYTES, log->plan.pad_unit));
}

/* The payload behind the frame's first line. Returns its sum, of all of it. */
static uint64_t put_pieces(struct rpm_log *log, uint64_t offset, const struct rpm_slice *record,
                           uint64_t written)
{
    const unsigned char *payload = record->data;
    uint64_t behind = record->len - FIRST_BYTES;
    struct rpmi_sum_stream stream;

    rpmi_sum_begin(&stream);
    for (uint64_t at = 0; at < behind; at += PIECE_BYTES) {
        bool last = behind - at <= PIECE_BYTES;

        log->lane->body(log->conn->link, offset + at, payload + FIRST_BYTES + at,
                        last ? behind - at : PIECE_BYTES,
                        last ? written - RPMI_LINE_BYTES - at : PIECE_BYTES);
        /* Whole blocks of the sum: a part of one would wait in memory, behind all these stores. */
        rpmi_sum_more(&stream, payload + at, last ? record->len - at : PIECE_BYTES);
    }
    return rpmi_sum_end(&stream);
}

__attribute__((noinline)) static void put_large(struct rpm_log *log, struct rpmi_frame frame,
                                                uint64_t position, const struct rpm_slice *record,
                                                uint64_t written)
{
    uint64_t offset = RPMI_LOG_HEADER_BYTES + position;
    uint64_t sum = put_pieces(log, offset + RPMI_LINE_BYTES, record, written);
    uint64_t head[3];

    rpmi_frame_put_with(head, &frame, log->log_id, sum);
    log->lane->frame(log->conn->link, offset, head, record->data, FIRST_BYTES, RPMI_LINE_BYTES);
}

__attribute__((noinline)) static void put_record(struct rpm_log *log, struct run *run,
                                                 const struct rpm_slice *record, uint64_t *lsn)
{
    struct rpmi_frame frame;
    struct rpmi_place place;
    uint64_t position;
    uint64_t written;
    uint64_t head[3];

    rpmi_ring_place_at(log, run->lsn, run->position, record->len, &place);
    if (RPMI_UNLIKELY(place.pad != 0)) {
        put_pad(log, run->lsn, run->position, place.pad);
        run->position += place.pad;
        if (run->position == log->capacity)
            run->position = 0;
    }
    if (lsn != NULL)
        *lsn = place.lsn;
    frame.lsn = place.lsn;
    frame.len = (uint32_t)record->len;
    frame.epoch = log->epoch;
    frame.flags = place.flags;
    frame.lag = rpmi_log_lag(log, place.lsn);
    written = rpmi_ring_written(log, &place, record->len);
    position = run->position;
    run->lsn = place.lsn + place.stride;
    run->position += place.stride;
    if (run->position == log->capacity)
        run->position = 0;
    run->written += written;
    if (RPMI_UNLIKELY(record->len >= PIECES_FROM)) {
        put_large(log, frame, position, record, written);
    } else {
        rpmi_frame_put(head, &frame, log->log_id, record->data);
        log->lane->frame(log->conn->link, RPMI_LOG_HEADER_BYTES + position, head, record->data,
                         record->len, written);
    }
}

/* The same for all of them, where each frame follows the one before. */
static inline void put_plain(struct rpm_log *log, struct run *run, const struct rpm_slice *records,
                             uint32_t n)
{
    struct rpmi_link *link = log->conn->link;
    struct rpmi_frame frame = {
        .lsn = run->lsn,
        .epoch = log->epoch,
        .lag = rpmi_frame_lag(0) & log->lag_mask,
    };
    uint64_t offset = RPMI_LOG_HEADER_BYTES + run->position;
    uint64_t log_id = log->log_id;
    uint64_t head[3];

    for (uint32_t i = 0; i < n; i++) {
        uint64_t stride = rpmi_frame_stride((uint32_t)records[i].len, 0);

        frame.len = (uint32_t)records[i].len;
        rpmi_frame_put(head, &frame, log_id, records[i].data);
        log->lane->frame(link, offset, head, records[i].data, records[i].len, stride);
        frame.lsn += stride;
        offset += stride;
        if (i + 1 < n)
            frame.lag = rpmi_frame_lag(frame.lsn - run->lsn) & log->lag_mask;
    }
    run->written = frame.lsn - run->lsn;
    run->position += run->written;
    run->lsn = frame.lsn;
    if (run->position == log->capacity)
        run->position = 0;
}

static void plain_lsns(const struct rpm_log *log, const struct rpm_slice *records, uint32_t n,
                       uint64_t *lsns)
{
    uint64_t lsn = log->tail_lsn;

    for (uint32_t i = 0; i < n; i++) {
        lsns[i] = lsn;
        lsn += rpmi_frame_stride((uint32_t)records[i].len, 0);
    }
}

/* What is asked for. */
struct batch {
    uint64_t payload;
    uint64_t strides; /* if every frame is a plain one */
    uint64_t most;    /* at least the longest, at most twice that */
};

/* Will these go in for certain? A cautious estimate of their room will do: the ordinary way is
 * exact. */
static inline bool will_do(const struct rpm_log *log, const struct rpm_slice *records, uint32_t n,
                           struct batch *batch)
{
    uint64_t payload = 0;
    uint64_t strides = 0;
    uint64_t most = 0;

    if (log->dead != 0 || log->write_key == 0 || log->reserved != 0 || log->pending != 0 ||
        log->reaped != log->submitted || log->sealed_lsn != log->tail_lsn ||
        log->link_generation != log->conn->generation)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (records[i].len - 1 >= log->record_max) /* 0 is too much, too */
            return false;
        payload += records[i].len;
        strides += rpmi_frame_stride((uint32_t)records[i].len, 0);
        most |= records[i].len;
    }
    *batch = (struct batch){ payload, strides, most };
    return log->tail_lsn + 2 * (strides + (uint64_t)n * 2 * RPMI_XPLINE_BYTES) - log->free_lsn <=
           log->capacity;
}

/* One after the other, none of them large, without a gap. */
static inline bool all_plain(const struct rpm_log *log, const struct batch *batch)
{
    return batch->most < PIECES_FROM && log->plan.pad_unit > 1 &&
           (batch->most + RPMI_FRAME_HEADER_BYTES <= RPMI_XPLINE_BYTES ||
            log->plan.large_unit != RPMI_XPLINE_BYTES) &&
           batch->strides <= log->capacity - log->position;
}

/* Inlined to the last: see above for why. */
__attribute__((flatten)) bool rpmi_log_lane(struct rpm_log *log, const struct rpm_slice *records,
                                            uint32_t n, uint64_t *lsns)
{
    struct rpmi_link *link = log->conn->link;
    struct run run = { .lsn = log->tail_lsn, .position = log->position };
    struct batch batch;

    if (!will_do(log, records, n, &batch) ||
        log->lane->enter(link, log->write_key, RPMI_LOG_HEADER_BYTES + log->capacity, n == 1,
                         (log->plan.write_flags & RPMI_OP_CACHED) != 0) != 0)
        return false;
    RPM_ASSERT_SLOW(log->acked_lsn == log->tail_lsn);
    if (RPMI_LIKELY(all_plain(log, &batch))) {
        if (lsns != NULL)
            plain_lsns(log, records, n, lsns);
        put_plain(log, &run, records, n);
    } else {
        for (uint32_t i = 0; i < n; i++)
            put_record(log, &run, &records[i], lsns == NULL ? NULL : &lsns[i]);
    }
    log->lane->leave(link);
    log->tail_lsn = run.lsn;
    log->position = run.position;
    log->submitted += n;
    log->completed += n;
    log->reaped += n;
    log->sealed_lsn = run.lsn;
    log->acked_lsn = run.lsn;
    log->conn->payload_bytes += batch.payload;
    link->stats.write_bytes += run.written;
    link->stats.writes += n;
    link->stats.flushes++;
    return true;
}
