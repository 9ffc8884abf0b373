/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * faulty_agent.h: an agent of a world that answers some of its lists wrongly or not at all.
 *
 * Tests: tests/unit/transport/wrap/faulty_agent_test.cpp
 */
#ifndef RPMI_FAULTY_AGENT_H
#define RPMI_FAULTY_AGENT_H

#include "transport/transport.h"

/* Put it in front of @inner, the link to an agent, which it owns on 0. @ppm: of the lists, how many
 * in a million get a wrong answer or none. RPM_E_NOMEM. */
int rpmi_faulty_agent_open(struct rpmi_link *inner, uint32_t ppm, uint64_t seed,
                           struct rpmi_link **outer);

/* The link to the server's machine, be there a faulty agent in front of it or not. */
struct rpmi_link *rpmi_faulty_agent_inner(struct rpmi_link *link);

#endif
