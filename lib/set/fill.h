/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fill.h: make the log of a member equal to that of the best member, byte by byte, before it is
 * sealed.
 *
 * Invariants
 *   frames that both members have are not written again
 *   two frames of one LSN and epoch are the same, so equal headers mean equal records; frames in
 *     front of a valid frame are compared too, because a damaged one may lie there
 *   until the seal the head says which of the bytes are old: a writer that dies in the middle
 *     leaves a log that ends where the member's own ended, or earlier than the copy does
 *
 * Tests: tests/unit/set/fill_test.cpp
 */
#ifndef RPMI_SET_FILL_H
#define RPMI_SET_FILL_H

#include "log/member.h"

/*
 * Copy to @log what it lacks of [its new first LSN, @tail_lsn) of @best, both claimed by this
 * client and not sealed, of the same capacity; first trim it as @best is trimmed. A log that is
 * trimmed further than @best stays so. @filled: out, bytes copied. The bytes are visible then, not
 * durable. RPM_E_CORRUPT: @best has no valid records up to @tail_lsn any more; RPM_E_EXISTS: the
 * capacities differ; RPM_E_FENCED, RPM_E_LOST: of either.
 */
int rpmi_fill(struct rpm_log *log, struct rpm_log *best, uint64_t tail_lsn, uint64_t *filled);

#endif
