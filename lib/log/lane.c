/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lane.c: blocking appends over a link that offers a short way (struct rpmi_lane). What an append
 * costs there is the drain at its end, so everything else must fit beside it: no ops are built, no
 * entry is kept for a completion that nobody will wait for.
 *
 * A large payload is summed and stored piece by piece: the sum of one piece is worked out while the
 * stores of the one before drain. Its header, which holds the sum, goes last; until the drain the
 * order does not matter, a frame certifies itself.
 *
 * Invariant: all or nothing is decided before the first store; after that nothing can fail.
 *
 * Tests: tests/conform/log_test.cpp and tests/kill/ over shm: direct, tests/tools/
 */
#include "log/log.h"

#include "base/assert.h"

#define PIECE_BYTES 4096u
#define PIECES_FROM (2u * PIECE_BYTES)

static void put_pad(struct rpm_log *log, uint64_t bytes)
{
    struct rpmi_frame frame = {
        .lsn = log->tail_lsn,
        .len = (uint32_t)(bytes - RPMI_FRAME_HEADER_BYTES),
        .epoch = log->epoch,
        .flags = RPMI_FRAME_PAD,
    };
    struct rpmi_put put = {
        .offset = RPMI_LOG_HEADER_BYTES + log->position,
        .len = rpmi_align_up(RPMI_FRAME_HEADER_BYTES, log->plan.pad_unit),
        .headed = true,
    };

    rpmi_frame_put(put.head, &frame, log->log_id, NULL);
    log->lane->put(log->conn->link, &put);
    log->tail_lsn += bytes;
    log->position = log->position + bytes == log->capacity ? 0 : log->position + bytes;
}

/* Payload behind the frame's first line, then that line. */
static void put_pieces(struct rpm_log *log, const struct rpmi_frame *frame,
                       const unsigned char *payload, uint64_t written)
{
    const uint64_t first = RPMI_LINE_BYTES - RPMI_FRAME_HEADER_BYTES;
    uint64_t offset = RPMI_LOG_HEADER_BYTES + log->position;
    struct rpmi_sum_stream stream;
    struct rpmi_put put;
    uint64_t end;
    uint64_t n;

    rpmi_sum_begin(&stream);
    for (uint64_t at = 0; at < frame->len; at += PIECE_BYTES) {
        /* Whole blocks of the sum: a part of one would wait in memory, behind all these stores. */
        n = frame->len - at < PIECE_BYTES ? frame->len - at : PIECE_BYTES;
        rpmi_sum_more(&stream, payload + at, n);
        end = at + first + PIECE_BYTES < frame->len ? at + first + PIECE_BYTES : frame->len;
        if (end <= at + first)
            break;
        put = (struct rpmi_put){
            .offset = offset + RPMI_LINE_BYTES + at,
            .len = end == frame->len ? written - RPMI_LINE_BYTES - at : PIECE_BYTES,
            .body = payload + at + first,
            .body_bytes = end - at - first,
        };
        log->lane->put(log->conn->link, &put);
    }
    put = (struct rpmi_put){
        .offset = offset,
        .len = RPMI_LINE_BYTES,
        .body = payload,
        .body_bytes = first,
        .headed = true,
    };
    rpmi_frame_put_with(put.head, frame, log->log_id, rpmi_sum_end(&stream));
    log->lane->put(log->conn->link, &put);
}

static uint64_t put_record(struct rpm_log *log, const struct rpm_slice *record, bool alone)
{
    struct rpmi_frame frame;
    struct rpmi_place place;
    uint64_t written;

    rpmi_ring_place_at(log, log->tail_lsn, log->position, record->len, &place);
    if (RPMI_UNLIKELY(place.pad != 0))
        put_pad(log, place.pad);
    RPM_ASSERT(log->tail_lsn == place.lsn);
    frame.lsn = place.lsn;
    frame.len = (uint32_t)record->len;
    frame.epoch = log->epoch;
    frame.flags = place.flags;
    written = rpmi_ring_written(log, &place, record->len);
    if (record->len >= PIECES_FROM) {
        put_pieces(log, &frame, record->data, written);
    } else {
        struct rpmi_put put;

        put.offset = RPMI_LOG_HEADER_BYTES + log->position;
        put.len = written;
        put.body = record->data;
        put.body_bytes = record->len;
        put.headed = true;
        put.alone = alone;
        rpmi_frame_put(put.head, &frame, log->log_id, record->data);
        log->lane->put(log->conn->link, &put);
    }
    log->tail_lsn += place.stride;
    log->position += place.stride;
    if (log->position == log->capacity)
        log->position = 0;
    log->conn->payload_bytes += record->len;
    log->conn->link->stats.write_bytes += written;
    return place.lsn;
}

/* Will these go in for certain? A cautious estimate of their room will do: the ordinary way is
 * exact. */
static bool will_do(const struct rpm_log *log, const struct rpm_slice *records, uint32_t n)
{
    uint64_t bytes = 0;

    if (log->dead != 0 || log->write_key == 0 || log->reserved != 0 || log->pending != 0 ||
        log->reaped != log->submitted || log->sealed_lsn != log->tail_lsn)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (records[i].len == 0 || records[i].len > log->record_max)
            return false;
        bytes += 2 * (records[i].len + 2 * RPMI_XPLINE_BYTES);
    }
    return log->tail_lsn + bytes - log->free_lsn <= log->capacity;
}

bool rpmi_log_lane(struct rpm_log *log, const struct rpm_slice *records, uint32_t n, uint64_t *lsns)
{
    struct rpmi_link *link = log->conn->link;

    if (!will_do(log, records, n) || log->link_generation != log->conn->generation ||
        log->lane->enter(link, log->write_key, RPMI_LOG_HEADER_BYTES + log->capacity) != 0)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t lsn = put_record(log, &records[i], n == 1);

        if (lsns != NULL)
            lsns[i] = lsn;
    }
    log->lane->leave(link);
    log->submitted += n;
    log->completed += n;
    log->reaped += n;
    log->sealed_lsn = log->tail_lsn;
    log->acked_lsn = log->tail_lsn;
    link->stats.writes += n;
    link->stats.flushes++;
    return true;
}
