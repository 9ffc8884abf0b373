/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * guard.h: the guard, some lines in a log's header by which the server fences a direct writer: a
 * client process that has the pool mapped, so that no other process can stop its stores. The guard
 * is in the pool and outlives the server process.
 *
 * The claim word holds the epoch that may write. A direct writer stores in a guarded section:
 *   busy[slot] = 1; check claim == my epoch; store, fence; busy[slot] = 0
 * with slot = epoch % RPMI_GUARD_SLOTS. While it holds a claim it also holds a lock (OFD) on the
 * byte of the pool file at header offset + slot. Once it has the lock it asks the server whether
 * the claim still holds: a claim of the same epoch, by its token, leaves the claim word as it is.
 * For a new claim the server raises the claim word, orders that against every writer (membarrier),
 * and then waits for each slot until busy is 0, or until it can take the slot's lock, because then
 * its holder is dead. After that no older writer can append anything.
 *
 * Each epoch has its own busy word, so that a fenced writer that clears its word never clears the
 * word of the present writer. The server does not grant an epoch while a living process still holds
 * the lock of its slot.
 *
 * A region has no guard, and a removed log has none any more. So a direct client also holds a
 * shared lock for each object that it has open, on bytes behind the end of any file; while a
 * process holds such a lock, even a stopped client of a server that died, the server does not reuse
 * the object's space.
 *
 * Format: FORMAT.md, section 4.   Tests: tests/conform/fence_test.cpp, tests/kill/
 */
#ifndef RPMI_GUARD_H
#define RPMI_GUARD_H

#include "base/limits.h"
#include "wire/head.h"

#include <stdint.h>

#define RPMI_GUARD_SLOTS 64u
#define RPMI_COMMIT_OFFSET RPMI_LOG_GUARDED_BYTES /* the commit word: the log's writer stores it */
#define RPMI_LEASE_AT (1ull << 62) /* lock bytes of an object: its own in the pool, plus this */

/* At RPMI_GUARD_OFFSET of the log's header; claim on a line of its own. */
struct rpmi_guard {
    uint64_t claim; /* epoch allowed to write; raised by the server only, durably */
    /* Readers that wait at the tail increment this now and then. The writer, which reads this line
     * anyway, so learns that its lines are read as soon as they are written; volatile. */
    uint64_t followed;
    uint64_t since; /* epoch of the last claim that did not resume another; durable with claim */
    uint64_t token; /* of the claim; durable with it */
    uint64_t fill[4];
    uint64_t
        busy[RPMI_GUARD_SLOTS]; /* 1 while a direct writer is between check and fence; volatile */
};

_Static_assert(sizeof(struct rpmi_guard) == 9 * RPMI_LINE_BYTES, "nine lines");
_Static_assert(RPMI_GUARD_OFFSET + sizeof(struct rpmi_guard) <= RPMI_LOG_GUARDED_BYTES, "fits");
_Static_assert(RPMI_COMMIT_OFFSET + RPMI_LINE_BYTES == RPMI_LOG_HEADER_BYTES, "the last line");
_Static_assert(RPMI_HEAD_SLOTS *RPMI_HEAD_SLOT_STRIDE <= RPMI_GUARD_OFFSET, "no overlap");
_Static_assert(RPMI_GUARD_SLOTS <= RPMI_LOG_HEADER_BYTES, "lock bytes stay within the header");

#endif
