/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tier.c: open and close a tier, and what it has of each log.
 *
 * Invariant: what stored() says survives a loss of power when it returns, and each of its files has
 *   the header and the length that its name and header say. Where a segment has its name before it
 *   was read back, this process has read it whole.
 *
 * Tests: tests/unit/tier/tier_test.cpp
 */
#include "tier/tier.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/opts.h"
#include "copy/copier.h"
#include "tier/s3_library.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int rpmi_tier_oldest(struct rpm_tier *tier, uint64_t log_id, uint64_t *lsn)
{
    int err;

    tier->names.log_id = log_id;
    err = rpmi_names_list(&tier->names, tier->store, 0);
    if (err == 0 && tier->names.count == 0)
        err = rpmi_fail(RPM_E_NOENT, "no segment in '%s' is of log %016" PRIx64, tier->cold.where,
                        log_id);
    if (err == 0)
        *lsn = tier->names.name[0].first_lsn;
    return err;
}

void rpmi_tier_proven(struct rpm_tier *tier, const struct rpmi_segment_name *name)
{
    if (tier->store->named_early)
        tier->proven[tier->provings++ % RPMI_PROVEN_MAX] = *name;
}

static bool is_proven(const struct rpm_tier *tier, const struct rpmi_segment_name *name)
{
    uint64_t count = tier->provings < RPMI_PROVEN_MAX ? tier->provings : RPMI_PROVEN_MAX;

    for (uint64_t i = 0; i < count; i++)
        if (memcmp(&tier->proven[i], name, sizeof(*name)) == 0)
            return true;
    return false;
}

/* A segment whose records are to be trimmed: open it, and read it whole if it must be. */
static int rely_on(struct rpm_tier *tier, const struct rpmi_segment_name *name,
                   struct rpmi_segment *segment)
{
    unsigned char *raw;
    int err;

    if (!tier->store->named_early || is_proven(tier, name))
        return rpmi_segment_open(tier, name, segment);
    err = rpmi_segment_load(tier, name, segment, &raw);
    if (err != 0)
        return err;
    rpmi_free(raw);
    rpmi_tier_proven(tier, name);
    return 0;
}

int rpmi_tier_stored(struct rpm_tier *tier, uint64_t log_id, uint64_t from_lsn, uint64_t limit_lsn,
                     struct rpmi_stored *stored)
{
    const struct rpmi_segment_name *name;
    struct rpmi_segment segment;
    uint64_t lsn = from_lsn;
    int err;

    tier->names.log_id = log_id;
    err = rpmi_names_list(&tier->names, tier->store, from_lsn);
    if (err != 0)
        return err;
    /* Each turn goes on behind the end of a segment. */
    while ((name = rpmi_names_find(&tier->names, lsn, limit_lsn)) != NULL) {
        RPM_ASSERT(name->end_lsn > lsn);
        err = rely_on(tier, name, &segment);
        if (err != 0)
            return err;
        lsn = name->end_lsn;
    }
    if (lsn == from_lsn)
        return rpmi_fail(RPM_E_NOENT, "no segment in '%s' has LSN %" PRIu64, tier->cold.where,
                         from_lsn);
    err = tier->store->ops->settle(tier->store, log_id);
    if (err != 0)
        return err;
    *stored = (struct rpmi_stored){ .end_lsn = segment.end_lsn,
                                    .last_lsn = segment.last_lsn,
                                    .last_sum = segment.last_sum };
    return 0;
}

static const struct rpmi_cold_ops COLD_OPS = {
    .oldest = rpmi_tier_oldest,
    .stored = rpmi_tier_stored,
    .seek = rpmi_cursor_seek,
    .next = rpmi_cursor_next,
    .drop = rpmi_cursor_drop,
};

static int opts_read(const struct rpm_tier_opts *opts, struct rpm_tier_opts *ours)
{
    int err;

    *ours = rpm_tier_opts_init();
    err = rpmi_opts_in(ours, sizeof(*ours), opts);
    if (err != 0)
        return err;
    if (ours->segment_span == 0)
        ours->segment_span = RPMI_SEGMENT_SPAN_DEFAULT;
    if (ours->segment_span < RPMI_SEGMENT_SPAN_MIN || ours->segment_span > RPMI_SEGMENT_SPAN_MAX ||
        (ours->segment_span & (ours->segment_span - 1)) != 0)
        return rpmi_fail(RPM_E_INVAL,
                         "segment_span is %" PRIu64 "; expected is a power of two from %u to %u",
                         ours->segment_span, RPMI_SEGMENT_SPAN_MIN, RPMI_SEGMENT_SPAN_MAX);
    return ours->engine != NULL ? rpmi_copier_check(ours->engine, &ours->engine) : 0;
}

static int open_store(const char *where, struct rpmi_store **store)
{
    if (strncmp(where, RPMI_S3_SCHEME "//", strlen(RPMI_S3_SCHEME "//")) == 0)
        return rpmi_s3_library_open(where, store);
    return rpmi_folder_open(where, store);
}

int rpm_tier_open(const char *where, const struct rpm_tier_opts *opts, struct rpm_tier **tier)
{
    rpmi_begin();

    const struct rpmi_codec *codec;
    struct rpm_tier_opts ours;
    struct rpm_tier *fresh;
    int err;

    RPM_ASSERT(where != NULL && tier != NULL);
    err = opts_read(opts, &ours);
    if (err == 0)
        err = rpmi_codec_find(ours.codec, &codec);
    if (err != 0)
        return err;
    fresh = rpmi_alloc(sizeof(*fresh), 8);
    if (fresh == NULL)
        return RPM_E_NOMEM;
    fresh->cold.ops = &COLD_OPS;
    fresh->span = ours.segment_span;
    fresh->engine = ours.engine;
    fresh->codec = codec;
    (void)snprintf(fresh->cold.where, sizeof(fresh->cold.where), "%s", where);
    err = open_store(where, &fresh->store);
    if (err == 0 && fresh->store->named_early) {
        fresh->proven = rpmi_alloc(RPMI_PROVEN_MAX * sizeof(*fresh->proven), 8);
        if (fresh->proven == NULL) {
            fresh->store->ops->close(fresh->store);
            err = RPM_E_NOMEM;
        }
    }
    if (err != 0) {
        rpmi_free(fresh);
        return err;
    }
    *tier = fresh;
    return 0;
}

void rpm_tier_close(struct rpm_tier **tier)
{
    RPM_ASSERT(tier != NULL);
    if (*tier == NULL)
        return;
    rpmi_names_drop(&(*tier)->names);
    (*tier)->store->ops->close((*tier)->store);
    rpmi_free((*tier)->proven);
    rpmi_free(*tier);
    *tier = NULL;
}

/* The log of a given place in the order of ids: the smallest id above the one before. */
struct next_log {
    uint64_t above;
    bool any; /* above counts */
    uint64_t least;
    bool found;
};

static int note_log(void *context, uint64_t log_id)
{
    struct next_log *next = context;

    if ((!next->any || log_id > next->above) && (!next->found || log_id < next->least)) {
        next->least = log_id;
        next->found = true;
    }
    return 0;
}

static int add_segment(struct rpm_tier *tier, uint32_t i, struct rpm_tier_log *log)
{
    struct rpmi_segment segment;
    int err = rpmi_segment_open(tier, &tier->names.name[i], &segment);

    if (err == RPM_E_NOENT) /* it was dropped since the list */
        return 0;
    if (err != 0)
        return err;
    if (log->segments > 0 && segment.first_lsn > log->end_lsn)
        log->gaps++;
    if (segment.end_lsn > log->end_lsn)
        log->end_lsn = segment.end_lsn;
    if (log->segments++ == 0)
        log->first_lsn = segment.first_lsn;
    log->records += segment.records;
    log->raw_bytes += segment.raw_bytes;
    log->stored_bytes += RPMI_SEGMENT_HEADER_BYTES + segment.stored_bytes;
    memcpy(log->name, segment.log, sizeof(log->name));
    return 0;
}

/* The log with the least id above next->above, if there is one, and its segments. */
static int next_entry(struct rpm_tier *tier, struct next_log *next, struct rpm_tier_log *log)
{
    int err;

    *log = rpm_tier_log_init();
    next->found = false;
    err = tier->store->ops->logs(tier->store, note_log, next);
    if (err != 0 || !next->found)
        return err;
    next->above = next->least;
    next->any = true;
    tier->names.log_id = log->log_id = next->least;
    err = rpmi_names_list(&tier->names, tier->store, 0);
    for (uint32_t i = 0; err == 0 && i < tier->names.count; i++)
        err = add_segment(tier, i, log);
    return err;
}

int rpm_tier_entry(struct rpm_tier *tier, uint32_t index, struct rpm_tier_log *log)
{
    rpmi_begin();

    struct rpm_tier_log ours;
    struct next_log next = { .any = false };
    uint32_t passed = 0;
    int err;

    RPM_ASSERT(tier != NULL && log != NULL);
    do {
        err = next_entry(tier, &next, &ours);
        if (err != 0 || !next.found)
            return err;
        passed += ours.segments > 0; /* else it is a folder without segments */
    } while (passed <= index);
    err = rpmi_opts_out(log, &ours, sizeof(ours));
    return err != 0 ? err : 1;
}

int rpm_tier_drop(struct rpm_tier *tier, uint64_t log_id, uint64_t lsn)
{
    rpmi_begin();

    int dropped = 0;
    int err;

    RPM_ASSERT(tier != NULL);
    tier->names.log_id = log_id;
    err = rpmi_names_list(&tier->names, tier->store, 0);
    for (uint32_t i = 0; err == 0 && i < tier->names.count; i++) {
        if (tier->names.name[i].end_lsn > lsn)
            continue;
        err = tier->store->ops->remove(tier->store, &tier->names.name[i]);
        if (err == RPM_E_NOENT) /* another program was faster */
            err = 0;
        else if (err == 0)
            dropped++;
    }
    return err != 0 ? err : dropped;
}
