/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * client.c: threads of client machines, each with so many operations under way; a new one is posted
 * when one ends. There are enough client machines: only the server's NIC is a bottleneck.
 *
 * One small request goes out with its doorbell. A chain of two, or a payload too large for that, is
 * fetched by the NIC from the client's cache: a PCIe round trip on that side.
 *
 * Tests: tests/unit/sim/cost/client_test.cpp
 */
#include "sim/cost/play.h"
#include "sim/cost/rig.h"

#define PART_BYTES                                                                                 \
    24u /* of a call's part but the first: as an item of the published port's log                  \
         */

static uint64_t message_bytes(const struct rpmi_rig *rig, uint32_t slot, enum rpmi_message message)
{
    if (message == RPMI_MESSAGE_WRITE)
        return rig->slot[slot].work->written;
    return message == RPMI_MESSAGE_CALL ? rpmi_rig_client_call_bytes(rig, slot) : 0;
}

/* A message leaves the client; the server's port takes messages as they come. */
static void send(struct rpmi_rig *rig, uint32_t slot, uint64_t at_ps, enum rpmi_message message)
{
    const struct rpmi_params *params = rig->params;

    if (rig->play != NULL && rpmi_machine_has_port(rig->play))
        rpmi_rig_at(rig, at_ps, RPMI_RIG_LEAVE, message, 0, slot);
    else
        rpmi_rig_at(rig, at_ps + params->nic_latency + params->network_latency, RPMI_RIG_ARRIVE,
                    message, 0, slot);
}

/* Of machines that have a port of their own: it takes messages as they come. */
void rpmi_rig_client_leave(struct rpmi_rig *rig, uint32_t slot, enum rpmi_message message)
{
    const struct rpmi_params *params = rig->params;
    uint64_t at_ps = rpmi_machine_leave(rig, slot, message_bytes(rig, slot, message));

    rpmi_rig_at(rig, at_ps + params->nic_latency + params->network_latency, RPMI_RIG_ARRIVE,
                message, 0, slot);
}

static uint64_t fetch_ps(const struct rpmi_rig *rig, bool chain, uint64_t bytes)
{
    const struct rpmi_params *params = rig->params;

    return chain || bytes > params->nic_inline ? params->pcie_read + params->llc_latency : 0;
}

/* What a call's parts bring with them. */
static uint64_t payload_of(const struct rpmi_slot_op *op)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; op->write && i < op->works; i++)
        bytes += op->work[i].op == RPM_LOAD_READ ? 0 : op->work[i].bytes;
    return bytes;
}

uint64_t rpmi_rig_client_call_bytes(const struct rpmi_rig *rig, uint32_t slot)
{
    const struct rpmi_slot_op *op = &rig->slot[slot];

    return payload_of(op) + RPMI_LINE_BYTES + (op->works - 1) * PART_BYTES;
}

static void post_call(struct rpmi_rig *rig, uint32_t slot, uint64_t at_ps)
{
    uint64_t bytes = rpmi_rig_client_call_bytes(rig, slot);

    send(rig, slot, at_ps + fetch_ps(rig, false, bytes), RPMI_MESSAGE_CALL);
}

/* The thread posts. */
static uint64_t pass(struct rpmi_rig *rig, uint32_t slot, uint64_t busy_ps)
{
    return rig->play != NULL
               ? rpmi_machine_post(rig, slot, busy_ps)
               : rpmi_wire_pass(&rig->thread[rig->slot[slot].thread], rig->now_ps, busy_ps);
}

/* A one-sided write. */
static bool writes(const struct rpmi_slot_op *op)
{
    return op->write && op->work->by == RPM_BY_NIC && op->work->op != RPM_LOAD_CAS;
}

uint64_t rpmi_rig_client_post_ps(const struct rpmi_rig *rig, uint32_t slot)
{
    const struct rpmi_slot_op *op = &rig->slot[slot];
    bool chain = writes(op) && op->work->persist == RPM_PERSIST_CHAIN;

    return (chain ? 2 : 1) * rig->params->nic_post;
}

void rpmi_rig_client_send(struct rpmi_rig *rig, uint32_t slot)
{
    const struct rpmi_slot_op *op = &rig->slot[slot];
    bool chain = writes(op) && op->work->persist == RPM_PERSIST_CHAIN;
    uint64_t at_ps = pass(rig, slot, rpmi_rig_client_post_ps(rig, slot));

    if (op->work->by == RPM_BY_CALL) {
        post_call(rig, slot, at_ps);
    } else if (writes(op) && !op->flushing) {
        at_ps += fetch_ps(rig, chain, op->work->written);
        send(rig, slot, at_ps, RPMI_MESSAGE_WRITE);
        if (chain)
            send(rig, slot, at_ps, RPMI_MESSAGE_READ);
    } else {
        send(rig, slot, at_ps, RPMI_MESSAGE_READ);
    }
}

void rpmi_rig_client_post(struct rpmi_rig *rig, uint32_t slot)
{
    struct rpmi_slot_op *op = &rig->slot[slot];

    op->start_ps = rig->now_ps;
    op->address = rpmi_load_address(rig, op->thread);
    op->write = rpmi_load_writes(rig);
    op->flushing = false;
    rpmi_rig_client_send(rig, slot);
}

void rpmi_rig_client_arrive(struct rpmi_rig *rig, uint32_t slot, enum rpmi_message message)
{
    const struct rpmi_params *params = rig->params;
    uint64_t bytes = message_bytes(rig, slot, message);
    uint64_t at_ps =
        rpmi_wire_pass(&rig->wire_in, rig->now_ps, rpmi_rate_ps(bytes, params->network_rate));

    at_ps = rpmi_wire_pass(&rig->nic_in, at_ps, params->nic_message);
    rpmi_rig_at(rig, at_ps + params->nic_latency, RPMI_RIG_MESSAGE, message, 0, slot);
}

void rpmi_rig_client_done(struct rpmi_rig *rig, uint32_t slot)
{
    struct rpmi_slot_op *op = &rig->slot[slot];

    if (rig->play != NULL)
        rpmi_machine_poll(rig, slot);
    if (writes(op) && op->work->persist == RPM_PERSIST_WAIT &&
        !op->flushing) { /* the second round trip */
        op->flushing = true;
        op->rings = true;
        if (rig->play != NULL)
            rpmi_machine_send(rig, slot);
        else
            rpmi_rig_client_send(rig, slot);
        return;
    }
    if (rig->play != NULL) {
        rpmi_play_done(rig, slot);
        return;
    }
    rpmi_rig_finish(rig, op->start_ps, rig->now_ps);
    rpmi_rig_client_post(rig, slot);
}

/* What its parts are to bring back; else a status. */
static uint64_t answer_bytes(const struct rpmi_slot_op *op)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < op->works; i++)
        if (op->works > 1 ? op->work[i].op != RPM_LOAD_WRITE : !op->write)
            bytes += op->work[i].bytes;
    return bytes != 0 ? bytes : RPMI_LINE_BYTES / 4;
}

void rpmi_rig_client_reply(struct rpmi_rig *rig, uint32_t slot, uint64_t in_ps)
{
    uint64_t bytes = answer_bytes(&rig->slot[slot]);

    rpmi_rig_nic_answer(rig, slot, in_ps + fetch_ps(rig, false, bytes) + rig->params->nic_latency,
                        bytes);
}

void rpmi_rig_client_start(struct rpmi_rig *rig)
{
    for (uint32_t i = 0; i < rig->slots; i++) {
        rig->slot[i].thread = i / rig->load.depth;
        rpmi_rig_at(rig, rpmi_rng_below(&rig->rng, 1000000), RPMI_RIG_POST, 0, 0, i);
    }
}
