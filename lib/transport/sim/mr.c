/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mr.c: staging memory: blocks that ops may refer to.
 *
 * Invariant: the bytes staged, in whole lines, never exceed the staging memory that the link was
 * opened with.
 *
 * Tests: tests/unit/transport/sim/mr_test.cpp
 */
#include "base/bytes.h"
#include "base/mem.h"
#include "transport/sim/sim.h"

_Static_assert(sizeof(struct rpmi_staged) == RPMI_LINE_BYTES, "the user's bytes start a line");

void *rpmi_sim_stage(struct rpmi_link *link, uint64_t bytes)
{
    struct rpmi_sim_link *ours = rpmi_sim_link_of(link);
    struct rpmi_staged *block;

    RPM_ASSERT(ours->staged_bytes <= ours->staging_bytes);
    if (bytes > ours->staging_bytes - ours->staged_bytes)
        return NULL;
    bytes = rpmi_align_up(bytes, RPMI_LINE_BYTES); /* both sides of the test are whole lines */
    /* Not zeroed: over other transports, too, it may have bytes of a log that was closed. */
    block = rpmi_alloc_unset(sizeof(*block) + bytes, RPMI_LINE_BYTES);
    if (block == NULL)
        return NULL;
    *block = (struct rpmi_staged){ .bytes = bytes, .next = ours->staged };
    ours->staged = block;
    ours->staged_bytes += bytes;
    return block + 1;
}

void rpmi_sim_unstage(struct rpmi_link *link, void *ptr)
{
    struct rpmi_sim_link *ours = rpmi_sim_link_of(link);

    for (struct rpmi_staged **at = &ours->staged; *at != NULL; at = &(*at)->next) {
        struct rpmi_staged *block = *at;

        if ((void *)(block + 1) != ptr)
            continue;
        *at = block->next;
        RPM_ASSERT(ours->staged_bytes >= block->bytes);
        ours->staged_bytes -= block->bytes;
        rpmi_free(block);
        return;
    }
    RPM_ASSERT(ptr == NULL); /* never staged here */
}

void rpmi_sim_unstage_all(struct rpmi_sim_link *ours)
{
    while (ours->staged != NULL)
        rpmi_sim_unstage(&ours->link, ours->staged + 1);
}

bool rpmi_sim_is_staged(const struct rpmi_sim_link *ours, const void *ptr, uint64_t bytes)
{
    uintptr_t from = (uintptr_t)ptr;

    for (const struct rpmi_staged *block = ours->staged; block != NULL; block = block->next) {
        uintptr_t base = (uintptr_t)(block + 1);

        if (from >= base && rpmi_in_bounds(from - base, bytes, block->bytes))
            return true;
    }
    return false;
}
