/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reader.c: read a log from its segments alone.
 *
 * Tests: tests/unit/tier/reader_test.cpp
 */
#include "tier/tier.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"

struct rpm_tier_reader {
    struct rpmi_cold_cursor *cursor;
};

int rpm_tier_reader_open(struct rpm_tier *tier, uint64_t log_id, uint64_t from_lsn,
                         struct rpm_tier_reader **reader)
{
    rpmi_begin();

    struct rpm_tier_reader *fresh;
    int err = 0;

    RPM_ASSERT(tier != NULL && reader != NULL);
    if (from_lsn == 0)
        err = rpmi_tier_oldest(tier, log_id, &from_lsn);
    if (err != 0)
        return err;
    fresh = rpmi_alloc(sizeof(*fresh), 8);
    if (fresh == NULL)
        return RPM_E_NOMEM;
    err = rpmi_cursor_seek(tier, log_id, from_lsn, &fresh->cursor);
    if (err != 0) {
        rpmi_free(fresh);
        return err;
    }
    *reader = fresh;
    return 0;
}

int rpm_tier_reader_next(struct rpm_tier_reader *reader, struct rpm_record *record)
{
    rpmi_begin();

    struct rpmi_frame frame;
    const void *payload;
    uint64_t end_lsn;
    int found;

    RPM_ASSERT(reader != NULL && record != NULL);
    found = rpmi_cursor_next(reader->cursor, &frame, &payload, &end_lsn);
    if (found == 1)
        *record = rpmi_record_of(&frame, payload);
    return found;
}

void rpm_tier_reader_close(struct rpm_tier_reader **reader)
{
    RPM_ASSERT(reader != NULL);
    if (*reader == NULL)
        return;
    rpmi_cursor_drop((*reader)->cursor);
    rpmi_free(*reader);
    *reader = NULL;
}
