/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decisions.h: the decisions of an agent (wire/decision.h), in a region of volatile memory of its
 * front.
 *
 * Invariant: a number is used once, for one line, in the life of the region.
 *
 * Threads: one, beside the front's.   Tests: tests/unit/agent/decisions_test.cpp
 */
#ifndef RPMI_AGENT_DECISIONS_H
#define RPMI_AGENT_DECISIONS_H

#include "serve/serve.h"
#include "wire/decision.h"

#include <stdbool.h>
#include <stdint.h>

struct rpmi_decisions {
    struct rpm_server *front;
    unsigned char *base; /* of the region, which clients of the front read meanwhile */
    bool on_demand;      /* write a line only after a writer has asked for one of its set */
    uint64_t number;     /* of the last decision */
    uint64_t staged;     /* atomic, relaxed */
    uint64_t answered[RPMI_DECISION_SETS]; /* value of the set's word when a line was written */
    struct rpmi_decision line[RPMI_DECISION_SETS][RPMI_DECISION_WAYS]; /* number 0: none */
};

/* Make the region, as a client of the front that stays, so that no other client can remove it.
 * Before the front's loops run. RPM_E_NOSPACE, RPM_E_LIMIT. */
int rpmi_decisions_open(struct rpmi_decisions *decisions, struct rpm_server *front);

/* Write the line of a log; its number is set here. True: it was written. False: the same is there,
 * or no writer has asked. A set that is full gives up its oldest line. */
bool rpmi_decisions_stage(struct rpmi_decisions *decisions, const struct rpmi_decision *wanted);

#endif
