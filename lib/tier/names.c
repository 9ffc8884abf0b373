/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.c: the segments of one log, sorted.
 *
 * Invariant: see names.h.
 *
 * Tests: tests/unit/tier/names_test.cpp
 */
#include "tier/names.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 64u

/* Twice the room for names; their order by @best is made later. */
static int grow(struct rpmi_names *names)
{
    uint32_t room = names->room == 0 ? ROOM_FIRST : names->room * 2;
    struct rpmi_segment_name *larger = rpmi_alloc_unset(room * sizeof(*larger), 8);

    if (larger == NULL)
        return RPM_E_NOMEM;
    if (names->count > 0)
        memcpy(larger, names->name, names->count * sizeof(*larger));
    rpmi_free(names->name);
    names->name = larger;
    names->room = room;
    return 0;
}

static int add(void *context, const struct rpmi_segment_name *name)
{
    struct rpmi_names *names = context;
    int err = names->count < names->room ? 0 : grow(names);

    if (err == 0)
        names->name[names->count++] = *name;
    return err;
}

static int by_lsn(const void *one, const void *two)
{
    const struct rpmi_segment_name *a = one;
    const struct rpmi_segment_name *b = two;

    if (a->first_lsn != b->first_lsn)
        return a->first_lsn < b->first_lsn ? -1 : 1;
    return (a->end_lsn > b->end_lsn) - (a->end_lsn < b->end_lsn);
}

int rpmi_names_list(struct rpmi_names *names, struct rpmi_store *store, uint64_t lsn)
{
    uint64_t from_lsn = lsn < RPMI_SEGMENT_LSNS_MAX ? 0 : lsn - RPMI_SEGMENT_LSNS_MAX;
    int err;

    names->count = 0;
    err = store->ops->segments(store, names->log_id, from_lsn, add, names);
    if (err != 0 || names->count == 0) {
        names->count = 0;
        return err;
    }
    qsort(names->name, names->count, sizeof(*names->name), by_lsn);
    rpmi_free(names->best);
    names->best = rpmi_alloc_unset(names->count * sizeof(*names->best), 8);
    if (names->best == NULL) {
        names->count = 0;
        return RPM_E_NOMEM;
    }
    names->best[0] = 0;
    for (uint32_t i = 1; i < names->count; i++) {
        uint32_t best = names->best[i - 1];

        names->best[i] = names->name[i].end_lsn > names->name[best].end_lsn ? i : best;
    }
    return 0;
}

void rpmi_names_drop(struct rpmi_names *names)
{
    rpmi_free(names->name);
    rpmi_free(names->best);
    *names = (struct rpmi_names){ .log_id = names->log_id };
}

const struct rpmi_segment_name *rpmi_names_find(const struct rpmi_names *names, uint64_t lsn,
                                                uint64_t limit_lsn)
{
    const struct rpmi_segment_name *found = NULL;
    uint32_t from = 0;
    uint32_t to = names->count; /* name[to] begins behind lsn */

    while (from < to) {
        uint32_t middle = from + (to - from) / 2;

        if (names->name[middle].first_lsn <= lsn)
            from = middle + 1;
        else
            to = middle;
    }
    /* All before the best one of a place end before that one does. */
    while (to > 0 && names->name[names->best[to - 1]].end_lsn > lsn) {
        const struct rpmi_segment_name *each = &names->name[--to];

        if (each->end_lsn > lsn && each->end_lsn <= limit_lsn &&
            (found == NULL || each->end_lsn > found->end_lsn))
            found = each;
        if (found == &names->name[names->best[to]])
            break;
    }
    return found;
}
