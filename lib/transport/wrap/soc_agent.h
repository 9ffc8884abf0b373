/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * soc_agent.h: a writer's link to an agent that runs on the SoC of a modelled server. What the
 * writer sends arrives at the agent some time later. The SoC's copy engine, and not the server CPU,
 * stores the bytes that the agent carries in the server's memory; when the copies of a list have
 * completed, the agent asks the server for certificates of the records.
 *
 * Tests: tests/unit/transport/wrap/soc_agent_test.cpp
 */
#ifndef RPMI_SOC_AGENT_H
#define RPMI_SOC_AGENT_H

#include "transport/transport.h"
#include "wire/steps.h"

enum rpmi_soc_copy {
    RPMI_SOC_COPYING = 0,
    RPMI_SOC_COPIED = 1, /* the bytes may still be volatile, or on PCIe */
    RPMI_SOC_REFUSED = 2 /* in whole or in part */
};

/* What the device model does for it. */
struct rpmi_soc_engine {
    void *context;
    /* Copy the bytes of a CARRY, of which it keeps its own copy, as the agent that the server knows
     * as @client. A number for state(), or 0: it has no room now. */
    uint64_t (*copy)(void *context, uint32_t client, const struct rpmi_step *carry);
    enum rpmi_soc_copy (*state)(void *context, uint64_t id);
    /* How long what is sent now takes between writer and agent. */
    uint64_t (*travel_ns)(void *context);
    uint64_t (*below)(void *context, uint64_t bound); /* a random number */
};

/* Put an agent in front of @inner, which becomes its connection to the server, and which @outer
 * owns on 0. RPM_E_NOMEM. */
int rpmi_soc_open(struct rpmi_link *inner, const struct rpmi_soc_engine *engine,
                  struct rpmi_link **outer);

#endif
