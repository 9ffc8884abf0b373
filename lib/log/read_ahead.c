/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read_ahead.c: a reader whose bytes are copied by a copy engine (copy/copier.h). With one that
 * overlaps, the next bytes are under way while the reader returns records of the last ones: there
 * are two buffers, which are exchanged. The part of a frame that is at the end of one is copied in
 * front of the rest in the other, where RPMI_AHEAD_FRONT bytes are kept for it.
 *
 * Bytes that were copied ahead are never taken for the tail: they may be older than the call, so
 * the reader reads them again before it returns no record.
 *
 * Invariants
 *   an engine that fails or is late costs time: the same bytes are then read over the link
 *   while a copy is outstanding its buffer is not used
 *
 * Tests: tests/unit/log/read_ahead_test.cpp
 */
#include "log/reader.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"

static int map(struct rpm_reader *reader)
{
    struct rpm_log *log = reader->log;

    return rpmi_copier_map(reader->read_ahead.copier, log->read_key,
                           RPMI_LOG_HEADER_BYTES + log->capacity);
}

int rpmi_read_ahead_use(struct rpm_reader *reader, struct rpmi_copier *copier)
{
    struct rpmi_read_ahead *ahead = &reader->read_ahead;

    RPM_ASSERT(ahead->copier == NULL);
    RPM_ASSERT(reader->buffer_room >= RPMI_AHEAD_FRONT + reader->buffer_bytes);
    ahead->copier = copier;
    copier->ops->caps(copier, &ahead->caps);
    ahead->buffer = rpmi_alloc_unset(reader->buffer_room, sizeof(uint64_t));
    return ahead->buffer == NULL ? RPM_E_NOMEM : map(reader);
}

int rpmi_read_ahead_open(struct rpm_reader *reader, const char *engine)
{
    struct rpmi_copier *copier;
    int err = rpmi_copier_open(engine, reader->log->conn, &copier);

    return err != 0 ? err : rpmi_read_ahead_use(reader, copier);
}

static void count_copied(struct rpm_reader *reader, uint64_t bytes)
{
    reader->log->conn->link->stats.copied_bytes += bytes;
}

static void count_fallback(struct rpm_reader *reader)
{
    reader->log->conn->link->stats.copy_fallbacks++;
}

/* Is a copy still outstanding? One whose bytes were dropped may have ended meanwhile. */
static bool is_busy(struct rpmi_copier *copier)
{
    int status;

    if (copier->busy && copier->ops->poll(copier, &status) == 1)
        copier->busy = false;
    return copier->busy;
}

static void exchange(struct rpm_reader *reader)
{
    unsigned char *copied = reader->read_ahead.buffer;

    RPM_ASSERT(!reader->read_ahead.copier->busy);
    reader->read_ahead.buffer = reader->buffer;
    reader->buffer = copied;
}

/* The copier never writes to the buffer of the reader, so that one that does not end in time does
 * no harm. */
static bool copy(struct rpm_reader *reader, uint64_t offset, uint64_t len)
{
    struct rpmi_read_ahead *ahead = &reader->read_ahead;

    if (ahead->copier->busy && !ahead->copier->late)
        (void)rpmi_copier_finish(ahead->copier); /* its bytes were dropped */
    if (is_busy(ahead->copier) || map(reader) != 0 ||
        rpmi_copier_read(ahead->copier, offset, ahead->buffer, len) != 0)
        return false;
    exchange(reader);
    count_copied(reader, len);
    return true;
}

int rpmi_read_ahead_fetch(struct rpm_reader *reader, uint64_t len)
{
    struct rpm_log *log = reader->log;
    uint64_t offset = RPMI_LOG_HEADER_BYTES + reader->next_lsn % log->capacity;

    RPM_ASSERT(len <= reader->buffer_room); /* nothing is written behind either buffer */
    RPM_ASSERT(reader->have == 0);          /* the exchange would leave other bytes there */
    if (reader->read_ahead.copier != NULL) {
        if (copy(reader, offset, len))
            return 0;
        count_fallback(reader);
    }
    return rpmi_conn_read(log->conn, log->read_key, offset, reader->buffer, len);
}

/* The part of the buffer that stays in front of the copy. UINT64_MAX: the copy is of no use. */
static uint64_t kept_bytes(const struct rpm_reader *reader)
{
    const struct rpmi_read_ahead *ahead = &reader->read_ahead;
    uint64_t kept;

    if (reader->next_lsn >= ahead->lsn)
        return reader->next_lsn < ahead->lsn + ahead->len ? 0 : UINT64_MAX;
    kept = ahead->lsn - reader->next_lsn;
    if (kept > RPMI_AHEAD_FRONT || rpmi_reader_buffered(reader, kept) == NULL)
        return UINT64_MAX;
    return kept;
}

/* Wait for the copy. */
static bool has_ended(struct rpm_reader *reader)
{
    struct rpmi_read_ahead *ahead = &reader->read_ahead;

    RPM_ASSERT(ahead->copier->busy); /* the copy that take() is about */
    if (rpmi_copier_finish(ahead->copier) == 0)
        return true;
    count_fallback(reader);
    return false;
}

bool rpmi_read_ahead_take(struct rpm_reader *reader)
{
    struct rpmi_read_ahead *ahead = &reader->read_ahead;
    uint64_t len = ahead->len;
    uint64_t kept;

    if (len == 0)
        return false;
    kept = kept_bytes(reader);
    ahead->len = 0;
    if (kept == UINT64_MAX || ahead->generation != reader->log->conn->generation ||
        !has_ended(reader))
        return false;
    if (kept > 0)
        memcpy(ahead->buffer + RPMI_AHEAD_FRONT - kept, rpmi_reader_buffered(reader, kept), kept);
    RPM_ASSERT(RPMI_AHEAD_FRONT + len <= reader->buffer_room);
    exchange(reader);
    reader->front = RPMI_AHEAD_FRONT - kept;
    reader->lsn = ahead->lsn - kept;
    reader->have = kept + len;
    reader->persisted_lsn = reader->next_lsn;
    RPM_ASSERT(rpmi_reader_buffered(reader, 1) != NULL); /* else the reader would take them again */
    ahead->wanted = true;
    count_copied(reader, len);
    return true;
}

void rpmi_read_ahead_begin(struct rpm_reader *reader)
{
    struct rpmi_read_ahead *ahead = &reader->read_ahead;
    struct rpm_log *log = reader->log;
    uint64_t lsn = reader->lsn + reader->have;
    uint64_t len = log->capacity - lsn % log->capacity;

    ahead->len = 0;
    if (ahead->copier == NULL || !ahead->caps.overlaps || is_busy(ahead->copier) ||
        !rpmi_is_aligned(lsn, RPMI_LINE_BYTES) || map(reader) != 0)
        return;
    if (len > reader->buffer_bytes)
        len = reader->buffer_bytes;
    if (len > ahead->caps.bytes_max)
        len = ahead->caps.bytes_max;
    if (rpmi_copier_begin(ahead->copier, RPMI_LOG_HEADER_BYTES + lsn % log->capacity,
                          ahead->buffer + RPMI_AHEAD_FRONT, len) != 0) {
        count_fallback(reader); /* the reader will read these bytes when it needs them */
        return;
    }
    ahead->lsn = lsn;
    ahead->len = len;
    ahead->generation = log->conn->generation;
}

void rpmi_read_ahead_drop(struct rpm_reader *reader)
{
    reader->read_ahead.len = 0;
}

void rpmi_read_ahead_close(struct rpm_reader *reader)
{
    rpmi_copier_close(reader->read_ahead.copier); /* no copy is outstanding any more */
    rpmi_free(reader->read_ahead.buffer);
}
