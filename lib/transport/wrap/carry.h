/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * carry.h: records that a declared agent carries: instead of posting the WRITEs in front of a
 * CARRY, the link sends their bytes to the agent, as CARRY steps (wire/carry.h) in the list that
 * asks for the certificate. One message of the agent then has the records of many writers stored,
 * made durable and certified.
 *
 * The link keeps the WRITEs. If the answer of the list does not certify the records, or does not
 * come in time, it posts them, the same bytes, and a PERSIST. The agent may store the same bytes
 * later; the server takes them only while the claim lasts, and not where the log was trimmed.
 *
 * Invariants
 *   an entry's bytes are sent to the agent in the list that first asks for it, and in no other
 *   the carried WRITEs of all entries are in one ring, in the order of the entries
 *
 * Tests: tests/unit/transport/wrap/carry_test.cpp, tests/crash/agent_test.cpp
 */
#ifndef RPMI_WRAP_CARRY_H
#define RPMI_WRAP_CARRY_H

#include "transport/wrap/order_link.h"

/* The agent's name, as the server declares it. RPM_E_INVAL: it has no or too many bytes. */
int rpmi_carry_set_name(struct rpmi_agent_address *address, const char *name);

/* Tell the server of @link that this client is its declared agent @name. RPM_E_NOCAP (the server
 * knows no agents), RPM_E_DENIED (it declares none of this name), and those of a call. */
int rpmi_carry_enrol(struct rpmi_link *link, const char *name, uint64_t timeout_us);

/* Does the server of @link declare the agent @name? The errors of rpmi_carry_enrol(). */
int rpmi_carry_ask(struct rpmi_link *link, const char *name, uint64_t timeout_us);

/* A log was sealed by its write key: let the agent carry its records. If the server refuses, it
 * carries none of this claim. */
void rpmi_carry_delegate(struct rpmi_order *order, uint32_t key, uint64_t deadline_ns);

/* Have the agent carry the first @writes of @n ops, WRITEs with a CARRY behind them. How many ops
 * that are, with the CARRY; 0: it does not, post them otherwise. Blocks for a call if the agent has
 * lied. */
uint32_t rpmi_carry_post(struct rpmi_order *order, const struct rpmi_op *ops, uint32_t writes,
                         uint32_t n);

/* A list was sent to the agent: with the bytes of all entries that it is to carry. */
void rpmi_carry_hand(struct rpmi_order *order);

/* Was the agent given the records of @entry, and is there no answer to come any more? */
bool rpmi_carry_failed(const struct rpmi_order *order, const struct rpmi_order_entry *entry);

/* Post the WRITEs of @entry, without the agent. False: the queue is full, try again. */
bool rpmi_carry_write(struct rpmi_order *order, struct rpmi_order_entry *entry);

/* The oldest entry leaves. */
void rpmi_carry_release(struct rpmi_order *order, const struct rpmi_order_entry *entry);

#endif
