/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * order.h: a link to a server with an agent beside it: ORDER, which asks for a certificate by way
 * of the agent, takes the place of a PERSIST message to the server.
 *
 * Tests: tests/unit/transport/wrap/order_test.cpp
 */
#ifndef RPMI_WRAP_ORDER_H
#define RPMI_WRAP_ORDER_H

#include "transport/transport.h"
#include "transport/wrap/agent.h"

/* An ORDER that is not fulfilled by then, or after half of the connection's timeout, is done by a
 * PERSIST. Besides, a post may block for 20 ms to dial an agent that was away. */
#define RPMI_ORDER_NS 10000000ull

/*
 * Put @inner, to a server, and the agent at @address behind one link. It owns @inner from then on;
 * on failure the caller does. RPM_E_NOCAP (@inner completes on post, or carries no messages),
 * RPM_E_NOMEM, those of rpmi_agent_open(). Blocks for up to @timeout_us.
 */
int rpmi_order_open(struct rpmi_link *inner, const struct rpmi_agent_address *address,
                    uint64_t timeout_us, struct rpmi_link **outer);

#endif
