/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * earliest.h: of several servers, the one whose next event is due first. A tournament: each node
 * has the winner of the two below it.
 *
 * Invariant: of two servers with events at the same time the one with the lower number is first.
 *
 * Tests: tests/unit/sim/perf/earliest_test.cpp
 */
#ifndef RPMI_SIM_PERF_EARLIEST_H
#define RPMI_SIM_PERF_EARLIEST_H

#include <stdint.h>

struct rpmi_earliest {
    uint64_t *due_ps; /* of each server; UINT64_MAX: it has no event */
    uint32_t *winner; /* of each node; the root is node 1, and servers follow the nodes */
    uint32_t leaves;  /* a power of two */
};

/* For servers 0 to @servers - 1, none of which has an event. RPM_E_NOMEM: nothing to close. */
int rpmi_earliest_open(struct rpmi_earliest *earliest, uint32_t servers);
void rpmi_earliest_close(struct rpmi_earliest *earliest);

void rpmi_earliest_set(struct rpmi_earliest *earliest, uint32_t server, uint64_t due_ps);

static inline uint32_t rpmi_earliest_server(const struct rpmi_earliest *earliest)
{
    return earliest->winner[1];
}

#endif
