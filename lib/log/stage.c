/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stage.c: payloads on their way, in memory that the transport can send from. A ring: taken in
 * the order of appends, free again in the order of their completions.
 *
 * Invariant: stage_head <= stage_tail <= stage_head + stage_bytes; a piece never wraps.
 *
 * Tests: tests/unit/log/stage_test.cpp
 */
#include "log/log.h"

#include "base/assert.h"

unsigned char *rpmi_stage_take(struct rpm_log *log, uint64_t len)
{
    uint64_t need = rpmi_align_up(len, RPMI_LINE_BYTES);
    uint64_t at = log->stage_tail % log->stage_bytes;
    uint64_t skip = at + need > log->stage_bytes ? log->stage_bytes - at : 0;

    RPM_ASSERT(need * 2 <= log->stage_bytes);
    if (log->stage_tail + skip + need - log->stage_head > log->stage_bytes)
        return NULL;
    log->stage_tail += skip + need;
    return log->stage + (at + skip) % log->stage_bytes;
}
