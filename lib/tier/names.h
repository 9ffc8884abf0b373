/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.h: the segments of one log, sorted by their LSNs: which one has an LSN, and how far they
 * follow each other without a gap.
 *
 * Invariant: name[best[i]] ends behind all of name[0..i].
 *
 * Tests: tests/unit/tier/names_test.cpp
 */
#ifndef RPMI_NAMES_H
#define RPMI_NAMES_H

#include "tier/store.h"

struct rpmi_names {
    uint64_t log_id;
    struct rpmi_segment_name *name; /* by first_lsn */
    uint32_t *best;
    uint32_t count;
    uint32_t room;
};

/* List the segments of names->log_id that may have @lsn or a later one, and perhaps earlier ones;
 * what was listed before is dropped. RPM_E_NOMEM, those of the store. */
int rpmi_names_list(struct rpmi_names *names, struct rpmi_store *store, uint64_t lsn);
void rpmi_names_drop(struct rpmi_names *names);

/* The segment that has @lsn and, of those that end at @limit_lsn at most, reaches farthest; NULL:
 * none. Valid until the next list or drop. */
const struct rpmi_segment_name *rpmi_names_find(const struct rpmi_names *names, uint64_t lsn,
                                                uint64_t limit_lsn);

#endif
