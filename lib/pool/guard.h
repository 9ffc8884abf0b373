/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * guard.h: the line in a log's header through which a direct writer, whose mapping nobody can take
 * away, is shut out. It lives in the pool, so that it outlasts the server process.
 *
 * The claim word holds the epoch that may write. A direct writer brackets its stores:
 *   busy = 1; check claim == my epoch; store, fence; busy = 0
 * A claimer raises the claim word, orders that against every writer (membarrier), and then waits
 * until busy is 0 or its holder is dead. After that no older writer can add anything.
 *
 * Format: FORMAT.md, section 4.   Tests: tests/conform/fence_test.cpp, tests/kill/
 */
#ifndef RPMI_GUARD_H
#define RPMI_GUARD_H

#include "base/limits.h"
#include "wire/head.h"

#include <stdint.h>

/* At RPMI_GUARD_OFFSET of the log's header; claim and busy on lines of their own. */
struct rpmi_guard {
    uint64_t claim; /* epoch allowed to write; raised by the far end only, durably */
    uint64_t fill[7];
    uint64_t busy; /* 1 while a direct writer is between check and fence; volatile */
    uint64_t fill_busy[7];
};

_Static_assert(sizeof(struct rpmi_guard) == 2 * RPMI_LINE_BYTES, "two lines");
_Static_assert(RPMI_GUARD_OFFSET + sizeof(struct rpmi_guard) <= RPMI_LOG_HEADER_BYTES, "fits");
_Static_assert(RPMI_HEAD_SLOTS * RPMI_HEAD_SLOT_STRIDE <= RPMI_GUARD_OFFSET, "no overlap");

#endif
