/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * earliest.c: the tournament of earliest.h.
 *
 * Tests: tests/unit/sim/perf/earliest_test.cpp
 */
#include "sim/perf/earliest.h"

#include "base/assert.h"
#include "base/mem.h"

#include <librpm/error.h>
#include <string.h>

static uint32_t winner_of(const struct rpmi_earliest *earliest, uint32_t node)
{
    uint32_t left = earliest->winner[2 * node];
    uint32_t right = earliest->winner[2 * node + 1];

    return earliest->due_ps[right] < earliest->due_ps[left] ? right : left;
}

int rpmi_earliest_open(struct rpmi_earliest *earliest, uint32_t servers)
{
    uint32_t leaves = 2; /* so that the root is no server */

    RPM_ASSERT(servers > 0);
    while (leaves < servers)
        leaves *= 2;
    earliest->leaves = leaves;
    earliest->due_ps = rpmi_alloc(leaves * sizeof(*earliest->due_ps), 64);
    earliest->winner = rpmi_alloc(2ull * leaves * sizeof(*earliest->winner), 64);
    if (earliest->due_ps == NULL || earliest->winner == NULL) {
        rpmi_earliest_close(earliest);
        return RPM_E_NOMEM;
    }
    for (uint32_t i = 0; i < leaves; i++) {
        earliest->due_ps[i] = UINT64_MAX;
        earliest->winner[leaves + i] = i;
    }
    for (uint32_t node = leaves - 1; node > 0; node--)
        earliest->winner[node] = winner_of(earliest, node);
    return 0;
}

void rpmi_earliest_close(struct rpmi_earliest *earliest)
{
    rpmi_free(earliest->due_ps);
    rpmi_free(earliest->winner);
    memset(earliest, 0, sizeof(*earliest));
}

void rpmi_earliest_set(struct rpmi_earliest *earliest, uint32_t server, uint64_t due_ps)
{
    RPM_ASSERT(server < earliest->leaves);
    if (earliest->due_ps[server] == due_ps)
        return;
    earliest->due_ps[server] = due_ps;
    for (uint32_t node = (earliest->leaves + server) / 2; node > 0; node /= 2)
        earliest->winner[node] = winner_of(earliest, node);
}
