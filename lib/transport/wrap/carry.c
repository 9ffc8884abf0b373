/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * carry.c: have a declared agent carry records, or write them without it.
 *
 * Tests: tests/unit/transport/wrap/carry_test.cpp, tests/crash/agent_test.cpp
 */
#include "transport/wrap/carry.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/canary.h"
#include "base/diag.h"
#include "base/err.h"
#include "wire/carry.h"

#include <stdio.h>
#include <string.h>

int rpmi_carry_set_name(struct rpmi_agent_address *address, const char *name)
{
    size_t len = strlen(name);

    if (len == 0 || len > RPM_NAME_MAX)
        return rpmi_fail(RPM_E_INVAL,
                         "carry=%.40s: an agent's name has 1 to %d bytes (rpm-server --agent)",
                         name, RPM_NAME_MAX);
    memcpy(address->carry, name, len + 1);
    return 0;
}

static int call_with_name(struct rpmi_link *link, uint32_t kind, uint32_t key, const char *name,
                          uint64_t deadline_ns)
{
    struct rpmi_call call = { .kind = kind, .key = key };
    struct rpmi_reply reply;
    int err;

    (void)snprintf(call.name, sizeof(call.name), "%s", name);
    err = link->ops->call(link, &call, &reply, deadline_ns);
    if (err == 0 && reply.status != 0)
        err = rpmi_fail(reply.status, "%s", reply.text);
    return err;
}

static int ask_server(struct rpmi_link *link, uint32_t kind, const char *name, uint64_t timeout_us)
{
    if ((link->flags & RPMI_LINK_CARRY) == 0)
        return rpmi_fail(RPM_E_NOCAP,
                         "the server knows no agents that carry records ('%s'): it is of an older "
                         "version, or this is its agent's address",
                         name);
    return call_with_name(link, kind, 0, name, link->ops->now_ns(link) + timeout_us * 1000);
}

int rpmi_carry_enrol(struct rpmi_link *link, const char *name, uint64_t timeout_us)
{
    return ask_server(link, RPMI_CALL_AGENT, name, timeout_us);
}

int rpmi_carry_ask(struct rpmi_link *link, const char *name, uint64_t timeout_us)
{
    return ask_server(link, RPMI_CALL_DELEGATE, name, timeout_us);
}

void rpmi_carry_delegate(struct rpmi_order *order, uint32_t key, uint64_t deadline_ns)
{
    struct rpmi_claimed *claim = rpmi_agent_claim(&order->agent, key);
    int err;

    if (claim == NULL || order->agent.lied)
        return;
    err = call_with_name(order->wrap.inner, RPMI_CALL_DELEGATE, key, order->agent.address.carry,
                         deadline_ns);
    rpmi_wrap_sync_stats(&order->wrap);
    claim->delegated = err == 0;
    if (err != 0)
        rpmi_diag(RPM_DIAG_NOTICE, "the agent %s carries no records: %s", order->agent.address.url,
                  rpm_last_error());
}

/* An agent that lied is given no record any more, and may store none that it has. */
static void withdraw(struct rpmi_order *order, struct rpmi_claimed *claim, uint32_t key)
{
    uint64_t deadline_ns = rpmi_wrap_now_ns(&order->wrap.link) + rpmi_order_give_up_ns(order);

    claim->delegated = false;
    if (call_with_name(order->wrap.inner, RPMI_CALL_UNDELEGATE, key, "", deadline_ns) != 0)
        rpmi_diag(RPM_DIAG_NOTICE, "cannot withdraw a log from the agent %s: %s",
                  order->agent.address.url, rpm_last_error());
}

/* Which of @writes, WRITEs in the order of their offsets, begins the piece behind the first @from,
 * and how many of them are in it. False: the piece is not covered from its beginning. */
static bool covers(const struct rpmi_op *ops, uint32_t writes, uint32_t from,
                   const struct rpmi_op *piece, uint32_t *n)
{
    *n = 0;
    if (from == writes || ops[from].offset != piece->offset)
        return false;
    while (from + *n < writes &&
           rpmi_in_bounds(ops[from + *n].offset - piece->offset, ops[from + *n].len, piece->len))
        (*n)++;
    return *n > 0;
}

static uint64_t image_bytes(const struct rpmi_op *first, uint32_t n)
{
    return first[n - 1].offset + first[n - 1].len - first->offset;
}

/* Are all bytes of the records in these WRITEs, and is there room for them in the next list? */
static bool fits(const struct rpmi_order *order, const struct rpmi_op *ops, uint32_t writes,
                 uint32_t pieces)
{
    const struct rpmi_op *piece = &ops[writes];
    uint64_t bytes = order->agent.carried_bytes;
    uint32_t from = 0;

    for (uint32_t i = 0; i < writes; i++)
        if (ops[i].kind != RPMI_OP_WRITE || (ops[i].flags & RPMI_OP_SIGNALED) != 0 ||
            ops[i].key != piece->key)
            return false;
    for (uint32_t i = 0; i < pieces; i++) {
        uint32_t n;

        if (!covers(ops, writes, from, &piece[i], &n))
            return false;
        bytes += RPMI_CARRY_HEAD_BYTES + rpmi_align_up(image_bytes(&ops[from], n), 8);
        from += n;
    }
    return from == writes && bytes <= RPMI_CARRIED_BYTES &&
           order->agent.carried_steps + pieces <= RPMI_CARRIED_MAX &&
           order->carry_used + writes <= RPMI_CARRY_WRITES;
}

/* The bytes that @n WRITEs store, with zeros where they leave a gap. */
static void put_image(unsigned char *to, const struct rpmi_op *first, uint32_t n)
{
    memset(to, 0, image_bytes(first, n));
    for (uint32_t i = 0; i < n; i++) {
        unsigned char *at = to + (first[i].offset - first->offset);

        RPM_ASSERT(first[i].head_bytes + first[i].body_bytes <= first[i].len);
        if (first[i].head_bytes > 0)
            memcpy(at, first[i].head, first[i].head_bytes);
        if (first[i].body_bytes > 0)
            memcpy(at + first[i].head_bytes, first[i].body, first[i].body_bytes);
    }
}

/* Encode a CARRY for each piece behind those of the next list. False: there is no memory. */
static bool encode(struct rpmi_agent *agent, const struct rpmi_claimed *claim,
                   const struct rpmi_op *ops, uint32_t writes, uint32_t pieces)
{
    uint32_t at = agent->carried_bytes;
    uint32_t from = 0;

    for (uint32_t i = 0; i < pieces; i++) {
        const struct rpmi_op *piece = &ops[writes + i];
        unsigned char *image = agent->carried + at + RPMI_CARRY_HEAD_BYTES;
        struct rpmi_step step = { .kind = RPMI_STEP_CARRY,
                                  .offset = piece->expect,
                                  .log_id = claim->log_id,
                                  .epoch = claim->epoch,
                                  .data = image };
        uint32_t bytes;
        uint32_t n;
        bool whole = covers(ops, writes, from, piece, &n);

        RPM_ASSERT(whole);
        put_image(image, &ops[from], n);
        step.len = (uint16_t)image_bytes(&ops[from], n);
        if (rpmi_carry_put(agent->carried + at, &step, claim->certificate_key, &bytes) != 0)
            return false;
        at += bytes;
        from += n;
    }
    RPM_ASSERT(at <= RPMI_CARRIED_BYTES);
    agent->carried_bytes = at;
    agent->carried_steps += pieces;
    return true;
}

static struct rpmi_carried_write *write_at(struct rpmi_order *order, uint32_t i)
{
    return &order->carry[(order->carry_first + i) % RPMI_CARRY_WRITES];
}

static void keep(struct rpmi_order *order, const struct rpmi_op *ops, uint32_t writes)
{
    for (uint32_t i = 0; i < writes; i++) {
        struct rpmi_carried_write *kept = write_at(order, order->carry_used++);

        kept->op = ops[i];
        if (ops[i].head_bytes > 0)
            memcpy(kept->head, ops[i].head, ops[i].head_bytes);
        kept->op.head = kept->head;
    }
    RPM_ASSERT(order->carry_used <= RPMI_CARRY_WRITES);
}

uint32_t rpmi_carry_post(struct rpmi_order *order, const struct rpmi_op *ops, uint32_t writes,
                         uint32_t n)
{
    struct rpmi_claimed *claim = rpmi_agent_claim(&order->agent, ops[writes].key);
    uint64_t now_ns = rpmi_wrap_now_ns(&order->wrap.link);
    struct rpmi_order_entry *entry;
    uint32_t pieces;

    RPM_ASSERT(writes < n);
    if (ops[writes].kind != RPMI_OP_CARRY || claim == NULL || !claim->delegated)
        return 0;
    if (order->agent.lied) {
        withdraw(order, claim, ops[writes].key);
        return 0;
    }
    pieces = rpmi_order_pieces(&ops[writes], n - writes);
    if (writes == 0 || order->agent.link == NULL || rpmi_order_is_away(order, now_ns) ||
        !fits(order, ops, writes, pieces) || !encode(&order->agent, claim, ops, writes, pieces))
        return 0;
    keep(order, ops, writes);
    entry = &order->pending[rpmi_order_expect(order, &ops[writes + pieces - 1])];
    rpmi_order_set(entry, &ops[writes], pieces, now_ns);
    entry->patience_ns =
        rpmi_order_patience_ns(order, rpmi_select_class(rpmi_order_bytes(&ops[writes], pieces)));
    entry->written = entry->carried = true;
    entry->writes = writes;
    order->wrap.inner->stats.carried++;
    rpmi_wrap_sync_stats(&order->wrap);
    return writes + pieces;
}

void rpmi_carry_hand(struct rpmi_order *order)
{
    for (uint32_t i = 0; i < order->used; i++) {
        struct rpmi_order_entry *entry = rpmi_order_entry(order, i);
        struct rpmi_claimed *claim = rpmi_agent_claim(&order->agent, entry->piece[0].key);

        if (RPMI_CANARY(CARRY_STAGED) && entry->carried && !entry->handed && claim != NULL &&
            claim->certified_lsn < entry->end_lsn)
            claim->certified_lsn = entry->end_lsn;
        entry->handed = entry->handed || entry->carried;
    }
}

bool rpmi_carry_failed(const struct rpmi_order *order, const struct rpmi_order_entry *entry)
{
    return entry->carried && entry->handed && order->agent.asks == 0;
}

/* The bytes of the next list, if no entry waits for the agent to get them. */
static void drop_unused(struct rpmi_order *order)
{
    for (uint32_t i = 0; i < order->used; i++)
        if (rpmi_order_entry(order, i)->carried && !rpmi_order_entry(order, i)->handed)
            return;
    order->agent.carried_steps = order->agent.carried_bytes = 0;
}

/* Where the WRITEs of @entry begin in the ring. */
static uint32_t first_write(struct rpmi_order *order, const struct rpmi_order_entry *entry)
{
    uint32_t before = 0;

    for (uint32_t i = 0; rpmi_order_entry(order, i) != entry; i++)
        before += rpmi_order_entry(order, i)->writes;
    RPM_ASSERT(before + entry->writes <= order->carry_used);
    return before;
}

bool rpmi_carry_write(struct rpmi_order *order, struct rpmi_order_entry *entry)
{
    uint32_t first = first_write(order, entry);

    RPM_ASSERT(entry->carried && entry->rewritten <= entry->writes);
    if (!entry->handed) {
        entry->handed = true;
        drop_unused(order);
    }
    for (; entry->rewritten < entry->writes; entry->rewritten++) {
        if (rpmi_wrap_post(&order->wrap.link, &write_at(order, first + entry->rewritten)->op, 1) !=
            1)
            return false;
        order->unsignaled++;
    }
    return true;
}

void rpmi_carry_release(struct rpmi_order *order, const struct rpmi_order_entry *entry)
{
    RPM_ASSERT(entry->writes <= order->carry_used);
    order->carry_first = (order->carry_first + entry->writes) % RPMI_CARRY_WRITES;
    order->carry_used -= entry->writes;
}
