/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * order.h: a link to a server with an agent beside it, on which ORDER brings records to their
 * level: by a certificate of the server that the agent is asked for, or by the server at once,
 * whichever is measured to be faster (order_choose.c).
 *
 * Tests: tests/unit/transport/wrap/order_test.cpp
 */
#ifndef RPMI_WRAP_ORDER_H
#define RPMI_WRAP_ORDER_H

#include "transport/transport.h"
#include "transport/wrap/agent.h"

/* How long an ORDER waits for an agent of which nothing has been measured; then a PERSIST does it.
 * Never more than half of the connection's timeout. */
#define RPMI_ORDER_NS 10000000ull
#define RPMI_ORDER_LEAST_NS 1000000ull /* that it waits, however fast the agent has been */
#define RPMI_ORDER_DIAL_NS                                                                         \
    20000000ull /* that a post may block to dial an agent that was away, or
                                          longer if dialling it has taken longer before */

/*
 * Put @inner, to a server, and the agent at @address behind one link. It owns @inner from then on;
 * on failure the caller does. RPM_E_NOCAP (@inner completes on post, or carries no messages),
 * RPM_E_NOMEM, those of rpmi_agent_open(). Blocks for up to @timeout_us.
 */
int rpmi_order_open(struct rpmi_link *inner, const struct rpmi_agent_address *address,
                    uint64_t timeout_us, struct rpmi_link **outer);

#endif
