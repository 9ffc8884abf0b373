/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cursor.c: the records of a log in its segments, in order, from one segment to the next.
 *
 * Invariant: the records returned follow each other without a gap.
 *
 * Tests: tests/unit/tier/cursor_test.cpp
 */
#include "tier/tier.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"

#include <inttypes.h>

struct rpmi_cold_cursor {
    struct rpm_tier *tier;
    struct rpmi_names names;
    struct rpmi_segment segment;
    struct rpmi_segment_walk walk;
    unsigned char *raw; /* of the segment; NULL: none is loaded */
    uint64_t pass_lsn;  /* records before it are passed first; 0: none */
};

/* Load the segment that has @lsn. 1; 0: there is none; else the cursor stays where it is. Segments
 * may have been added since the last list. */
static int load(struct rpmi_cold_cursor *cursor, uint64_t lsn)
{
    const struct rpmi_segment_name *name = rpmi_names_find(&cursor->names, lsn, UINT64_MAX);
    struct rpmi_segment segment;
    unsigned char *raw;
    int err;

    if (name == NULL) {
        err = rpmi_names_list(&cursor->names, cursor->tier->store, lsn);
        if (err != 0)
            return err;
        name = rpmi_names_find(&cursor->names, lsn, UINT64_MAX);
    }
    if (name == NULL)
        return 0;
    err = rpmi_segment_load(cursor->tier, name, &segment, &raw);
    if (err != 0)
        return err;
    rpmi_free(cursor->raw);
    cursor->raw = raw;
    cursor->segment = segment;
    rpmi_segment_walk_begin(&cursor->walk, &cursor->segment, cursor->raw);
    return 1;
}

/* Pass the records before @lsn, where a record begins, or the pad frame in front of one. */
static int pass(struct rpmi_cold_cursor *cursor, uint64_t lsn)
{
    struct rpmi_frame frame;
    const void *payload;

    while (cursor->walk.lsn != lsn) {
        struct rpmi_segment_walk before = cursor->walk;
        int found = rpmi_segment_walk_next(&cursor->walk, &frame, &payload);

        if (found == 1 && frame.lsn < lsn)
            continue;
        cursor->walk = before; /* so that the next call finds the same */
        if (found < 0)
            return found;
        if (found == 1 && frame.lsn == lsn)
            return 0;
        return rpmi_fail(RPM_E_RANGE,
                         "no record of log '%s' starts at %" PRIu64
                         "; read from an LSN that an append or a reader returned",
                         cursor->segment.log, lsn);
    }
    return 0;
}

int rpmi_cursor_seek(struct rpm_tier *tier, uint64_t log_id, uint64_t lsn,
                     struct rpmi_cold_cursor **cursor)
{
    struct rpmi_cold_cursor *fresh = rpmi_alloc(sizeof(*fresh), 8);
    int err;

    if (fresh == NULL)
        return RPM_E_NOMEM;
    fresh->tier = tier;
    fresh->names.log_id = log_id;
    err = load(fresh, lsn);
    if (err == 1)
        err = pass(fresh, lsn);
    else if (err == 0)
        err = rpmi_fail(RPM_E_NOENT, "no segment in '%s' has LSN %" PRIu64, tier->cold.where, lsn);
    if (err != 0) {
        rpmi_cursor_drop(fresh);
        return err;
    }
    *cursor = fresh;
    return 0;
}

int rpmi_cursor_next(struct rpmi_cold_cursor *cursor, struct rpmi_frame *frame,
                     const void **payload, uint64_t *end_lsn)
{
    int found = cursor->pass_lsn != 0 ? pass(cursor, cursor->pass_lsn) : 0;

    if (found != 0)
        return found;
    cursor->pass_lsn = 0;
    found = rpmi_segment_walk_next(&cursor->walk, frame, payload);
    if (found != 0)
        return found;
    *end_lsn = cursor->segment.end_lsn;
    found = load(cursor, *end_lsn);
    if (found != 1)
        return found;
    cursor->pass_lsn = *end_lsn;
    found = pass(cursor, cursor->pass_lsn);
    if (found != 0)
        return found;
    cursor->pass_lsn = 0;
    found = rpmi_segment_walk_next(&cursor->walk, frame, payload);
    RPM_ASSERT(found != 0); /* the segment has LSNs behind @end_lsn, so a record */
    return found;
}

void rpmi_cursor_drop(struct rpmi_cold_cursor *cursor)
{
    if (cursor == NULL)
        return;
    rpmi_names_drop(&cursor->names);
    rpmi_free(cursor->raw);
    rpmi_free(cursor);
}
