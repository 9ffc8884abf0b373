/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read_open.c: open and close a reader: what it needs, and where it may begin, by the head as it is
 * now.
 *
 * Tests: tests/unit/log/read_open_test.cpp, tests/conform/resume_test.cpp
 */
#include "log/reader.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/opts.h"
#include "plan/refuse.h"

#include <inttypes.h>

#define BUFFER_DEFAULT (256u << 10)
#define BUFFER_MIN 4096u
#define START_TURNS_MAX 8u /* searches for the record to begin at, while the head changes */

static int opts_read(const struct rpm_reader_opts *opts, struct rpm_reader_opts *ours)
{
    int err;

    *ours = rpm_reader_opts_init();
    err = rpmi_opts_in(ours, sizeof(*ours), opts);
    if (err != 0)
        return err;
    if (ours->level == RPM_LEVEL_DEFAULT)
        ours->level = RPM_VISIBLE;
    if (ours->buffer_bytes == 0)
        ours->buffer_bytes = BUFFER_DEFAULT;
    err = rpmi_level_check(ours->level);
    if (err != 0)
        return err;
    if (ours->buffer_bytes < BUFFER_MIN || ours->buffer_bytes > 1u << 30)
        return rpmi_fail(RPM_E_INVAL, "buffer_bytes is %u, expected is %u to 1 GiB",
                         ours->buffer_bytes, BUFFER_MIN);
    return 0;
}

/* Did the trim remove only the pad frame at next_lsn, and no record still to be returned? */
static bool only_pad_trimmed(struct rpm_reader *reader)
{
    enum rpmi_verdict verdict;
    struct rpmi_frame frame;

    if (!rpmi_is_aligned(reader->next_lsn, RPMI_LINE_BYTES) ||
        rpmi_log_judge(reader->log, reader->next_lsn, &frame, &verdict) != 0 ||
        verdict != RPMI_FRAME_VALID || (frame.flags & RPMI_FRAME_PAD) == 0 ||
        rpmi_frame_end(&frame) != reader->head.trim_lsn)
        return false;
    reader->next_lsn = reader->head.trim_lsn;
    reader->have = 0;
    return true;
}

int rpmi_reader_refresh(struct rpm_reader *reader)
{
    int err = rpmi_log_readable(reader->log);

    if (err == 0)
        err = rpmi_log_head(reader->log);
    if (err != 0)
        return err;
    reader->head = reader->log->head;
    if (reader->next_lsn < reader->head.trim_lsn && !only_pad_trimmed(reader))
        return rpmi_fail(RPM_E_TRIMMED, "LSN %" PRIu64 " was trimmed; log '%s' begins at %" PRIu64,
                         reader->next_lsn, reader->log->name, reader->head.trim_lsn);
    return 0;
}

struct start {
    uint64_t lsn;
    bool found;
};

static void match_start(void *context, const struct rpmi_frame *frame)
{
    struct start *start = context;

    start->found = start->found || frame->lsn == start->lsn;
}

/* Does a frame start at next_lsn, or is it the tail? 1, 0 or an error. The writer may have appended
 * there between the first read and the walk: then the walk finds the frame. */
static int is_start(struct rpm_reader *reader)
{
    struct start start = { .lsn = reader->next_lsn };
    struct rpmi_scan_report report;
    enum rpmi_verdict verdict;
    struct rpmi_frame frame;
    int err;

    if (reader->next_lsn == reader->head.trim_lsn)
        return 1;
    if (!rpmi_is_aligned(reader->next_lsn, RPMI_LINE_BYTES) ||
        reader->next_lsn - reader->head.trim_lsn > reader->log->capacity)
        return 0;
    err = rpmi_log_judge(reader->log, reader->next_lsn, &frame, &verdict);
    if (err != 0)
        return err;
    if (verdict == RPMI_FRAME_VALID && rpmi_epoch_belongs(&reader->head, &frame, 0))
        return 1;
    err = rpmi_log_scan(reader->log, reader->head.trim_lsn, match_start, &start, &report);
    reader->misses_record = err == RPM_E_CORRUPT;
    return err != 0 ? err : start.found || report.end_lsn == reader->next_lsn;
}

/* A reader may begin only at a record's start or at the tail. If the head changed meanwhile, a trim
 * may have overtaken the walk: then from_lsn is trimmed, or the search is repeated. */
int rpmi_reader_check_start(struct rpm_reader *reader)
{
    uint64_t seen;
    uint32_t turn = 0;

    do {
        int err = is_start(reader);

        if (err != 0)
            return err < 0 ? err : 0;
        seen = reader->head.turn;
        err = rpmi_reader_refresh(reader);
        if (err != 0)
            return err;
    } while (reader->head.turn != seen && ++turn < START_TURNS_MAX);
    return rpmi_fail(RPM_E_RANGE,
                     "no record of log '%s' starts at %" PRIu64
                     "; read from an LSN that an append or a reader returned",
                     reader->log->name, reader->next_lsn);
}

int rpmi_reader_plan(struct rpm_reader *reader, uint32_t level)
{
    struct rpm_conn *conn = reader->log->conn;
    struct rpm_request request =
        rpmi_conn_request(conn, RPM_REQUEST_APPEND, level, reader->log->method);

    return rpmi_plan_make_persist(&conn->link->facts, &request, &reader->persist_plan);
}

/* Allocate room for the largest record; pages that no record needs are never touched. */
static int make_buffer(struct rpm_reader *reader, uint64_t ahead, bool copies)
{
    uint64_t room = RPMI_FRAME_HEADER_BYTES + RPMI_RECORD_MAX;

    if (room < ahead)
        room = ahead;
    if (room > reader->log->capacity)
        room = reader->log->capacity;
    if (copies && room < RPMI_AHEAD_FRONT + ahead)
        room = RPMI_AHEAD_FRONT + ahead;
    reader->buffer_bytes = ahead;
    reader->buffer_room = room;
    reader->buffer = rpmi_alloc(room, sizeof(uint64_t));
    return reader->buffer == NULL ? RPM_E_NOMEM : 0;
}

/* Without @from_lsn a reader begins at the oldest record that the tier or the log has. */
static int find_oldest(struct rpm_reader *reader)
{
    uint64_t lsn = 0;
    int err = RPM_E_NOENT;

    reader->next_lsn = reader->head.trim_lsn;
    if (reader->tier != NULL)
        err = rpmi_cold_of(reader->tier)->ops->oldest(reader->tier, reader->log->log_id, &lsn);
    if (err == RPM_E_NOENT)
        return 0;
    if (err == 0 && lsn < reader->next_lsn)
        reader->next_lsn = lsn;
    return err;
}

static int start(struct rpm_reader *reader, uint64_t from_lsn)
{
    int err;

    /* 0: the head. Until refresh() has read it, next_lsn must not look as if it were trimmed. */
    reader->next_lsn = from_lsn == 0 ? RPM_LSN_NONE : from_lsn;
    err = rpmi_reader_refresh(reader);
    if (err == 0 && from_lsn == 0)
        err = find_oldest(reader);
    if (err == 0 && reader->next_lsn < reader->head.trim_lsn)
        err = RPM_E_TRIMMED;
    if (err == 0)
        err = rpmi_reader_check_start(reader);
    return err != 0 ? rpmi_reader_fall(reader, err) : 0;
}

int rpm_reader_open(struct rpm_log *log, const struct rpm_reader_opts *opts,
                    struct rpm_reader **reader)
{
    rpmi_begin();

    struct rpm_reader_opts ours;
    struct rpm_reader *fresh;
    int err;

    RPM_ASSERT(log != NULL && reader != NULL);
    err = opts_read(opts, &ours);
    if (err != 0)
        return err;
    fresh = rpmi_alloc(sizeof(*fresh), RPMI_LINE_BYTES);
    if (fresh == NULL)
        return RPM_E_NOMEM;
    fresh->log = log;
    fresh->tier = ours.tier;
    fresh->ahead = BUFFER_MIN;
    fresh->idle_reads = RPMI_IDLE_READS_MAX;
    fresh->waiting_at = RPM_LSN_NONE;
    fresh->generation = log->reader_generation;
    err = make_buffer(fresh, ours.buffer_bytes, ours.engine != NULL);
    if (err == 0)
        err = rpmi_reader_plan(fresh, ours.level);
    if (err == 0 && ours.engine != NULL)
        err = rpmi_read_ahead_open(fresh, ours.engine);
    if (err == 0)
        err = start(fresh, ours.from_lsn);
    if (err != 0) {
        rpm_reader_close(&fresh);
        return err;
    }
    fresh->persisted_lsn = fresh->next_lsn;
    /* After a power cut the log ends at the first record that was lost. So the first record is
     * durable only once all records before it are, also those that this reader skips. */
    fresh->persist_from = fresh->head.trim_lsn;
    *reader = fresh;
    return 0;
}

void rpm_reader_close(struct rpm_reader **reader)
{
    RPM_ASSERT(reader != NULL);
    if (*reader == NULL)
        return;
    rpmi_reader_cold_drop(*reader);
    rpmi_read_ahead_close(*reader);
    rpmi_free((*reader)->buffer);
    rpmi_free(*reader);
    *reader = NULL;
}
