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
#include "sim/cost/rig.h"

/* A message leaves the client; the server's port takes messages as they come. */
static void send(struct rpmi_rig *rig, uint32_t slot, uint64_t at_ps, enum rpmi_message message)
{
    const struct rpmi_params *params = rig->params;

    rpmi_rig_at(rig, at_ps + params->nic_latency + params->network_latency, RPMI_RIG_ARRIVE,
                message, 0, slot);
}

static uint64_t fetch_ps(const struct rpmi_rig *rig, bool chain, uint64_t bytes)
{
    const struct rpmi_params *params = rig->params;

    return chain || bytes > params->nic_inline ? params->pcie_read + params->llc_latency : 0;
}

uint64_t rpmi_rig_client_call_bytes(const struct rpmi_rig *rig, uint32_t slot)
{
    return (rig->slot[slot].write ? rig->load.bytes : 0) + RPMI_LINE_BYTES;
}

static void post_call(struct rpmi_rig *rig, uint32_t slot, uint64_t at_ps)
{
    uint64_t bytes = rpmi_rig_client_call_bytes(rig, slot);

    send(rig, slot, at_ps + fetch_ps(rig, false, bytes), RPMI_MESSAGE_CALL);
}

static void post(struct rpmi_rig *rig, uint32_t slot)
{
    const struct rpm_load *load = &rig->load;
    struct rpmi_slot_op *op = &rig->slot[slot];
    bool writes = op->write && load->by == RPM_BY_NIC && load->op != RPM_LOAD_CAS;
    bool chain = writes && load->persist == RPM_PERSIST_CHAIN;
    uint64_t busy_ps = (chain ? 2 : 1) * rig->params->nic_post;
    uint64_t at_ps = rpmi_wire_pass(&rig->thread[op->thread], rig->now_ps, busy_ps);

    if (load->by == RPM_BY_CALL) {
        post_call(rig, slot, at_ps);
    } else if (writes) {
        at_ps += fetch_ps(rig, chain, rpmi_load_written(load));
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
    op->flushing = false;
    op->write = rpmi_load_writes(rig);
    post(rig, slot);
}

void rpmi_rig_client_arrive(struct rpmi_rig *rig, uint32_t slot, enum rpmi_message message)
{
    const struct rpmi_params *params = rig->params;
    uint64_t bytes = message == RPMI_MESSAGE_WRITE  ? rpmi_load_written(&rig->load)
                     : message == RPMI_MESSAGE_CALL ? rpmi_rig_client_call_bytes(rig, slot)
                                                    : 0;
    uint64_t at_ps =
        rpmi_wire_pass(&rig->wire_in, rig->now_ps, rpmi_rate_ps(bytes, params->network_rate));

    at_ps = rpmi_wire_pass(&rig->nic_in, at_ps, params->nic_message);
    rpmi_rig_at(rig, at_ps + params->nic_latency, RPMI_RIG_MESSAGE, message, 0, slot);
}

void rpmi_rig_client_done(struct rpmi_rig *rig, uint32_t slot)
{
    struct rpmi_slot_op *op = &rig->slot[slot];
    bool waits = rig->load.persist == RPM_PERSIST_WAIT && op->write && !op->flushing &&
                 rig->load.by == RPM_BY_NIC && rig->load.op != RPM_LOAD_CAS;

    if (waits) { /* the second round trip */
        uint64_t at_ps =
            rpmi_wire_pass(&rig->thread[op->thread], rig->now_ps, rig->params->nic_post);

        op->flushing = true;
        send(rig, slot, at_ps, RPMI_MESSAGE_READ);
        return;
    }
    rpmi_rig_finish(rig, op->start_ps, rig->now_ps);
    rpmi_rig_client_post(rig, slot);
}

void rpmi_rig_client_reply(struct rpmi_rig *rig, uint32_t slot, uint64_t in_ps)
{
    uint64_t bytes = rig->slot[slot].write ? RPMI_LINE_BYTES / 4 : rig->load.bytes;

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
