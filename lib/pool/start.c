/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * start.c: add 1 to the pool's start counter, durably, before the server accepts a client.
 *
 * Invariant: each start has a higher number than every start that a client has seen, also after a
 * power cut and after damage to one copy of the counter.
 *
 * Format: FORMAT.md, section 2.   Tests: tests/unit/pool/start_test.cpp, tests/crash/
 */
#include "pool/state.h"

#include "base/diag.h"
#include "base/err.h"
#include "wire/start.h"

static uint64_t copy_offset(uint32_t copy)
{
    RPM_ASSERT(copy < RPMI_START_COPIES);
    return RPMI_START_AT + (uint64_t)copy * RPMI_START_STRIDE;
}

/* The higher of the copies that are whole. RPM_E_CORRUPT: none is. */
static int last_start(const struct rpmi_service *service, struct rpmi_start_count *last)
{
    uint32_t whole = 0;

    RPM_ASSERT(service->opts.pool->bytes >= RPMI_POOL_BYTES_MIN);
    last->starts = 0;
    for (uint32_t copy = 0; copy < RPMI_START_COPIES; copy++) {
        unsigned char word[RPMI_START_BYTES];
        struct rpmi_start_count found;

        rpmi_mem_load(service->opts.pool, copy_offset(copy), word, sizeof(word));
        if (rpmi_start_get(word, &found) != 0) {
            rpmi_diag(RPM_DIAG_WARNING, "copy %u of the pool's start counter is damaged: %s", copy,
                      rpm_last_error());
            continue;
        }
        whole++;
        last->starts = found.starts > last->starts ? found.starts : last->starts;
    }
    if (whole == 0)
        return rpmi_fail(RPM_E_CORRUPT, "both copies of the pool's start counter are damaged; "
                                        "restore the pool from a backup");
    return 0;
}

int rpmi_count_start(struct rpmi_service *service)
{
    struct rpmi_start_count start;
    unsigned char word[RPMI_START_BYTES];
    int err = last_start(service, &start);

    RPM_ASSERT(service->starts == 0); /* a service counts once */
    if (err != 0)
        return err;
    if (start.starts == UINT32_MAX)
        return rpmi_fail(RPM_E_LIMIT,
                         "servers have opened this pool %u times, the maximum; copy its logs to a "
                         "new pool",
                         start.starts);
    start.starts++;
    RPM_ASSERT(start.starts != 0); /* which means unknown to clients */
    rpmi_start_put(word, &start);
    for (uint32_t copy = 0; copy < RPMI_START_COPIES; copy++)
        rpmi_mem_store(service->opts.pool, copy_offset(copy), word, sizeof(word));
    service->starts = start.starts;
    return rpmi_mem_persist(service->opts.pool, copy_offset(0),
                            copy_offset(RPMI_START_COPIES - 1) + sizeof(word) - copy_offset(0));
}
