/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * archive.c: copy a log's records into segments.
 *
 * Invariants
 *   a record is added only after a reader at RPM_DURABLE has returned it: it stays in the log until
 *     it is trimmed, so a segment never has a record that the log lost
 *   the segments of one archiver follow each other without a gap
 *   where a segment ends follows from the LSNs of its records alone
 *
 * Tests: tests/unit/tier/archive_test.cpp
 */
#include "tier/tier.h"

#include <librpm/decision.h>

#include "base/assert.h"
#include "base/canary.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/sum.h"
#include "log/log.h"

#include <inttypes.h>
#include <string.h>

#define SPANS_LEAST 4u /* a log has room for so many segments */

struct rpm_archiver {
    struct rpm_tier *tier;
    struct rpm_log *log;
    struct rpm_reader *reader;
    struct rpmi_packer packer;
    struct rpmi_segment segment; /* being filled: its records so far */
    unsigned char *raw;          /* their frames; room for a span and a record */
    unsigned char *file;         /* header and stored bytes of the segment that is stored */
    uint64_t room;               /* of raw, and of file behind the header */
    uint64_t span;               /* of LSNs of a segment */
    uint64_t limit_lsn;          /* a segment that reaches it is full */
    bool full;                   /* the segment is to be stored */
    uint64_t stored_lsn;
    struct rpmi_stored last; /* the newest segment that may be relied on; end_lsn 0: none */
};

static void begin_segment(struct rpm_archiver *archiver, uint64_t first_lsn)
{
    struct rpmi_segment *segment = &archiver->segment;

    *segment = (struct rpmi_segment){ .log_id = archiver->log->log_id, .first_lsn = first_lsn };
    memcpy(segment->log, archiver->log->name, sizeof(segment->log));
    archiver->full = false;
}

/* Where to go on: behind what is stored from the head on, or at the head. */
static int find_start(struct rpm_archiver *archiver, uint64_t *lsn)
{
    struct rpm_log *log = archiver->log;
    struct rpmi_stored stored;
    int err = rpmi_log_readable(log);

    if (err == 0)
        err = rpmi_log_head(log);
    if (err != 0)
        return err;
    *lsn = log->head.trim_lsn;
    archiver->last = (struct rpmi_stored){ .end_lsn = 0 };
    err = rpmi_cold_stored(log, archiver->tier, UINT64_MAX, &stored);
    if (err == 0) {
        *lsn = stored.end_lsn;
        archiver->last = stored;
    }
    return err == RPM_E_NOENT ? 0 : err;
}

static int start(struct rpm_archiver *archiver)
{
    struct rpm_reader_opts opts = rpm_reader_opts_init();
    uint64_t lsn;
    int err = find_start(archiver, &lsn);

    if (err != 0)
        return err;
    opts.from_lsn = lsn;
    opts.level = RPMI_CANARY(STORE_VISIBLE) ? RPM_VISIBLE : RPM_DURABLE;
    opts.engine = archiver->tier->engine;
    err = rpm_reader_open(archiver->log, &opts, &archiver->reader);
    if (err == 0) {
        archiver->stored_lsn = lsn;
        begin_segment(archiver, lsn);
    }
    return err;
}

int rpm_archiver_open(struct rpm_tier *tier, struct rpm_log *log, struct rpm_archiver **archiver)
{
    rpmi_begin();

    struct rpm_archiver *fresh;
    int err;

    RPM_ASSERT(tier != NULL && log != NULL && archiver != NULL);
    fresh = rpmi_alloc(sizeof(*fresh), 8);
    if (fresh == NULL)
        return RPM_E_NOMEM;
    fresh->tier = tier;
    fresh->log = log;
    /* A writer waits for room, and the archiver for a full segment: never both for each other. */
    fresh->span = tier->span;
    while (fresh->span > log->capacity / SPANS_LEAST)
        fresh->span /= 2;
    fresh->room = fresh->span + RPMI_FRAME_HEADER_BYTES + RPMI_RECORD_MAX + RPMI_SEGMENT_ALIGN;
    RPM_ASSERT(fresh->room <= RPMI_SEGMENT_RAW_MAX);
    fresh->raw = rpmi_alloc_unset(fresh->room, 8);
    fresh->file = rpmi_alloc_unset(RPMI_SEGMENT_HEADER_BYTES + fresh->room, 8);
    err = fresh->raw == NULL || fresh->file == NULL ? RPM_E_NOMEM
                                                    : rpmi_packer_open(&fresh->packer, tier->codec);
    if (err == 0)
        err = start(fresh);
    if (err != 0)
        rpm_archiver_close(&fresh);
    else
        *archiver = fresh;
    return err;
}

/* Add the record that the reader returned last. */
static void add(struct rpm_archiver *archiver, const struct rpm_record *record)
{
    struct rpmi_segment *segment = &archiver->segment;
    const struct rpmi_frame *frame = rpmi_reader_frame(archiver->reader);

    if (segment->records == 0) {
        segment->first_epoch = frame->epoch;
        archiver->limit_lsn = rpmi_align_down(frame->lsn, archiver->span) + archiver->span;
    }
    RPM_ASSERT(segment->raw_bytes + rpmi_segment_frame_bytes(frame) <= archiver->room);
    rpmi_segment_frame_put(archiver->raw + segment->raw_bytes, frame, record->data);
    segment->raw_bytes += rpmi_segment_frame_bytes(frame);
    segment->records++;
    segment->last_lsn = frame->lsn;
    segment->last_sum = frame->sum;
    segment->last_epoch = frame->epoch;
    segment->end_lsn = record->next_lsn;
    archiver->full = record->next_lsn >= archiver->limit_lsn;
}

/* There is a segment of this name: is it whole, and does it have the same records? */
static int check_same(const struct rpm_archiver *archiver, const struct rpmi_segment_name *name)
{
    struct rpmi_segment found;
    unsigned char *raw;
    int err = rpmi_segment_load(archiver->tier, name, &found, &raw);

    if (err != 0)
        return err;
    if (found.raw_bytes != archiver->segment.raw_bytes ||
        memcmp(raw, archiver->raw, found.raw_bytes) != 0)
        err = rpmi_fail(RPM_E_CORRUPT,
                        "'%s' has a segment of log '%s' from LSN %" PRIu64 " to %" PRIu64
                        " with other records than the log: move it to another folder",
                        archiver->tier->cold.where, archiver->log->name, name->first_lsn,
                        name->end_lsn);
    rpmi_free(raw);
    return err;
}

static struct rpmi_stored stored_of(const struct rpmi_segment *segment)
{
    return (struct rpmi_stored){ .end_lsn = segment->end_lsn,
                                 .last_lsn = segment->last_lsn,
                                 .last_sum = segment->last_sum };
}

static int store_segment(struct rpm_archiver *archiver)
{
    struct rpmi_segment *segment = &archiver->segment;
    struct rpmi_store *store = archiver->tier->store;
    struct rpmi_segment_name name = { segment->log_id, segment->first_lsn, segment->end_lsn };
    unsigned char *stored = archiver->file + RPMI_SEGMENT_HEADER_BYTES;
    int err = rpmi_packer_pack(&archiver->packer, archiver->raw, segment, stored);

    RPM_ASSERT(segment->end_lsn - segment->first_lsn <= RPMI_SEGMENT_LSNS_MAX);
    if (err != 0)
        return err;
    segment->stored_sum = rpmi_sum(stored, segment->stored_bytes);
    rpmi_segment_put(archiver->file, segment);
    err = store->ops->put(store, &name, archiver->file,
                          RPMI_SEGMENT_HEADER_BYTES + segment->stored_bytes);
    if (err == RPM_E_EXISTS)
        err = check_same(archiver, &name);
    if (err != 0)
        return err;
    rpmi_tier_proven(archiver->tier, &name);
    archiver->last = stored_of(segment);
    archiver->stored_lsn = segment->end_lsn;
    begin_segment(archiver, segment->end_lsn);
    return 0;
}

/* Another archiver has stored the records that this one was to read next, and a writer has trimmed
 * them: go on behind what is stored. RPM_E_TRIMMED: they are in no segment. */
static int catch_up(struct rpm_archiver *archiver)
{
    struct rpm_log *log = archiver->log;
    struct rpmi_stored stored;
    int found =
        rpmi_tier_stored(archiver->tier, log->log_id, archiver->stored_lsn, UINT64_MAX, &stored);

    if (found == RPM_E_NOENT || (found == 0 && stored.end_lsn < log->head.trim_lsn))
        return rpmi_fail(RPM_E_TRIMMED,
                         "log '%s' was trimmed to LSN %" PRIu64 ", and no segment in '%s' has its "
                         "records from %" PRIu64 " on",
                         log->name, log->head.trim_lsn, archiver->tier->cold.where,
                         archiver->stored_lsn);
    if (found != 0)
        return found;
    rpm_reader_close(&archiver->reader);
    return start(archiver);
}

/* The next record, as rpm_reader_next(). */
static int next_record(struct rpm_archiver *archiver, struct rpm_record *record)
{
    int found = archiver->reader == NULL ? start(archiver) : 0;

    if (found == 0)
        found = rpm_reader_next(archiver->reader, record);
    if (found != RPM_E_TRIMMED)
        return found;
    found = catch_up(archiver);
    return found != 0 ? found : rpm_reader_next(archiver->reader, record);
}

int rpm_archiver_turn(struct rpm_archiver *archiver, int tail)
{
    rpmi_begin();

    struct rpm_record record;
    int err;

    RPM_ASSERT(archiver != NULL);
    while (!archiver->full) {
        int found = next_record(archiver, &record);

        if (found < 0 || (found == 0 && (tail == 0 || archiver->segment.records == 0)))
            return found;
        if (found == 0)
            break;
        add(archiver, &record);
    }
    archiver->full = true; /* so that a call after an error stores it, and adds nothing */
    err = store_segment(archiver);
    return err != 0 ? err : 1;
}

int rpm_archiver_drop(struct rpm_archiver *archiver, uint64_t keep_bytes)
{
    rpmi_begin();

    uint64_t lsn;
    int err;

    RPM_ASSERT(archiver != NULL);
    if (archiver->stored_lsn < keep_bytes)
        return 0;
    err = rpmi_log_readable(archiver->log);
    if (err == 0)
        err = rpmi_log_head(archiver->log);
    if (err != 0)
        return err;
    /* The writer needs the segments of what it has not trimmed. */
    lsn = archiver->stored_lsn - keep_bytes;
    if (lsn > archiver->log->head.trim_lsn)
        lsn = archiver->log->head.trim_lsn;
    return rpm_tier_drop(archiver->tier, archiver->log->log_id, lsn);
}

int rpm_archiver_decide(struct rpm_archiver *archiver, struct rpm_decision *decision)
{
    rpmi_begin();

    struct rpm_decision ours = rpm_decision_init();
    struct rpmi_stored last;
    struct rpm_log *log;
    int err;

    RPM_ASSERT(archiver != NULL && decision != NULL);
    log = archiver->log;
    last = archiver->last;
    if (RPMI_CANARY(STAGED_EARLY) && archiver->segment.records > 0)
        last = stored_of(&archiver->segment);
    err = rpmi_log_readable(log);
    if (err == 0)
        err = rpmi_log_head(log);
    /* A head is never inside a record, so behind last_lsn there is none that was stored. */
    if (err != 0 || last.end_lsn == 0 || log->head.trim_lsn > last.last_lsn)
        return err;
    ours.log_id = log->log_id;
    ours.head_lsn = log->head.trim_lsn;
    ours.epoch = log->head.epoch;
    ours.trim_lsn = last.end_lsn;
    ours.last_lsn = last.last_lsn;
    ours.last_sum = last.last_sum;
    err = rpmi_opts_out(decision, &ours, sizeof(ours));
    return err != 0 ? err : 1;
}

uint64_t rpm_archiver_lsn(const struct rpm_archiver *archiver)
{
    RPM_ASSERT(archiver != NULL);
    return archiver->stored_lsn;
}

void rpm_archiver_close(struct rpm_archiver **archiver)
{
    RPM_ASSERT(archiver != NULL);
    if (*archiver == NULL)
        return;
    rpm_reader_close(&(*archiver)->reader);
    rpmi_packer_close(&(*archiver)->packer);
    rpmi_free((*archiver)->raw);
    rpmi_free((*archiver)->file);
    rpmi_free(*archiver);
    *archiver = NULL;
}
