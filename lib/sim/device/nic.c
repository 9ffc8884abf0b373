/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic.c: a server's NIC, the responder of queue pairs.
 *
 * Invariants
 *   a packet is accepted in sequence or not at all, and never twice
 *   access is checked twice: on receipt, when a refusal can still be reported, and when the bytes
 *     are handed to PCIe, so that a revoked key also stops waiting packets
 *   of one queue pair one READ, FLUSH or atomic is carried out at a time, oldest first
 *
 * Tests: tests/unit/sim/device/nic_test.cpp, order_test.cpp
 */
#include "base/bytes.h"
#include "sim/device/world.h"

#define LATE_ONE_IN 16u  /* one of so many packets is delayed; a coarse choice */
#define STUCK_ONE_IN 64u /* one of so many parts of a WRITE is delayed; a coarse choice */

static struct rpmi_responder *responder_of(struct rpmi_sim_client *client, uint32_t qp)
{
    RPM_ASSERT(qp < RPMI_SIM_QPS);
    return &client->responder[qp];
}

static bool serves(const struct rpmi_sim_client *client, uint32_t qp, uint32_t gen)
{
    const struct rpmi_responder *responder = &client->responder[qp];

    return client->machine->serving && responder->alive && responder->gen == gen;
}

static uint64_t draw_delay(struct rpmi_world *world, uint32_t one_in)
{
    const struct rpmi_delays *ns = &world->preset.ns;

    if (rpmi_rng_below(&world->rng, one_in) == 0)
        return rpmi_rng_below(&world->rng, ns->nic_slow);
    return rpmi_rng_below(&world->rng, ns->nic);
}

static void arm_issue(struct rpmi_sim_client *client, uint32_t qp, uint64_t in_ns)
{
    struct rpmi_responder *responder = responder_of(client, qp);

    if (responder->issuing || responder->received.head == NULL)
        return;
    responder->issuing = true;
    rpmi_world_push(client->world, RPMI_EV_ISSUE, client->index, responder->gen, in_ns, qp);
}

static void arm_read(struct rpmi_sim_client *client, uint32_t qp, uint64_t in_ns)
{
    rpmi_world_push(client->world, RPMI_EV_READ, client->index, responder_of(client, qp)->gen,
                    in_ns, qp);
}

static void drop_received(struct rpmi_responder *responder)
{
    struct rpmi_packet *packet;

    while ((packet = rpmi_packets_take(&responder->received)) != NULL)
        rpmi_packet_drop(packet);
    responder->cut = 0;
}

void rpmi_nic_ready(struct rpmi_sim_client *client, uint32_t qp, uint32_t gen)
{
    struct rpmi_responder *responder = responder_of(client, qp);

    RPM_ASSERT(responder->received.head == NULL);
    memset(responder, 0, sizeof(*responder));
    responder->alive = true;
    responder->gen = gen;
}

void rpmi_nic_reset(struct rpmi_sim_client *client, uint32_t qp)
{
    struct rpmi_responder *responder = responder_of(client, qp);

    responder->alive = false;
    responder->reads = 0;
    drop_received(responder);
}

/* The queue pair enters its error state: the op is refused, no further packet is accepted. */
static void refuse(struct rpmi_sim_client *client, uint32_t qp, uint64_t op, int status)
{
    struct rpmi_responder *responder = responder_of(client, qp);

    RPM_ASSERT(status < 0);
    responder->broken = true;
    rpmi_send_answer(client, responder->gen, op, status);
    drop_received(responder);
}

static bool touches_memory(uint32_t kind)
{
    return kind != RPMI_SIM_PERSIST && kind != RPMI_SIM_COPY && kind != RPMI_SIM_CALL &&
           kind != RPMI_SIM_STEPS;
}

void rpmi_nic_arrive(struct rpmi_packet *packet)
{
    struct rpmi_sim_client *client = packet->client;
    struct rpmi_responder *responder = responder_of(client, packet->qp);
    struct rpmi_sim_address address;
    int err;

    if (!serves(client, packet->qp, packet->gen) || responder->broken || responder->closed) {
        rpmi_packet_drop(packet);
        return;
    }
    if (packet->kind == RPMI_SIM_PROBE || packet->psn != responder->expected) {
        bool gap = packet->psn > responder->expected;

        if (!gap || !responder->nak_sent)
            rpmi_send_ack(client, responder->gen, packet->qp, responder->expected, gap);
        responder->nak_sent = responder->nak_sent || gap;
        rpmi_packet_drop(packet);
        return;
    }
    err = touches_memory(packet->kind) ? rpmi_packet_access(packet, &address) : 0;
    responder->expected++;
    responder->nak_sent = false;
    /* A packet that must be refused waits its turn: earlier packets are carried out first. */
    if (err != 0)
        responder->closed = true;
    else
        rpmi_send_ack(client, responder->gen, packet->qp, responder->expected, false);
    rpmi_packets_put(&responder->received, packet);
    arm_issue(client, packet->qp, draw_delay(client->world, LATE_ONE_IN));
}

/* Hand the next part of a WRITE to PCIe. */
static int issue_part(struct rpmi_packet *packet, uint32_t *cut)
{
    struct rpmi_tlp tlp = { .kind = RPMI_TLP_WRITE, .qp = packet->qp, .gen = packet->gen };
    uint64_t rest = packet->bytes - *cut;
    uint64_t room;
    struct rpmi_sim_address address;
    int err = rpmi_packet_access(packet, &address);

    if (err != 0)
        return err;
    tlp.offset = address.offset + *cut;
    room = RPMI_SIM_TLP_BYTES - tlp.offset % RPMI_SIM_TLP_BYTES;
    tlp.place = (uint8_t)address.place;
    tlp.from = *cut;
    tlp.bytes = (uint32_t)(rest < room ? rest : room);
    tlp.packet = packet;
    tlp.client = packet->client;
    packet->refs++;
    rpmi_pcie_push(packet->client->machine, &tlp);
    *cut += tlp.bytes;
    return 0;
}

/* Notify the server CPU; the notice follows the message's own data. Passes the packet on. */
static void issue_notice(struct rpmi_sim_client *client, uint32_t qp)
{
    struct rpmi_responder *responder = responder_of(client, qp);
    struct rpmi_tlp tlp = { .kind = RPMI_TLP_NOTICE, .qp = (uint8_t)qp, .gen = responder->gen };

    tlp.packet = rpmi_packets_take(&responder->received);
    tlp.client = client;
    responder->cut = 0;
    rpmi_pcie_push(client->machine, &tlp);
}

static uint64_t issue_write(struct rpmi_sim_client *client, uint32_t qp, struct rpmi_packet *packet)
{
    struct rpmi_responder *responder = responder_of(client, qp);

    if (responder->cut < packet->bytes) {
        int err = issue_part(packet, &responder->cut);

        if (err != 0 && responder->reads > 0)
            return client->world->preset.ns.read; /* earlier READs are answered first */
        if (err != 0) {
            refuse(client, qp, packet->op, err);
            return 0;
        }
        return draw_delay(client->world, STUCK_ONE_IN);
    }
    if (packet->kind == RPMI_SIM_WRITE_IMM && packet->last) {
        issue_notice(client, qp);
    } else {
        responder->cut = 0;
        rpmi_packet_drop(rpmi_packets_take(&responder->received));
    }
    return draw_delay(client->world, LATE_ONE_IN);
}

/* Set a READ, FLUSH or atomic aside, so that later packets are not held up. */
static void set_aside(struct rpmi_sim_client *client, uint32_t qp)
{
    struct rpmi_responder *responder = responder_of(client, qp);
    struct rpmi_packet *packet = rpmi_packets_take(&responder->received);
    uint32_t index = (responder->read_first + responder->reads) % RPMI_SIM_READS;

    responder->read[index] = (struct rpmi_read){
        .kind = packet->kind,
        .key = packet->key,
        .op = packet->op,
        .offset = packet->op_offset,
        .len = packet->op_len,
        .expect = packet->expect,
        .operand = packet->operand,
    };
    rpmi_packet_drop(packet);
    if (responder->reads++ == 0)
        arm_read(client, qp, draw_delay(client->world, LATE_ONE_IN / 2));
}

bool rpmi_nic_issue(struct rpmi_sim_client *client, uint32_t qp, uint32_t gen)
{
    struct rpmi_responder *responder = responder_of(client, qp);
    struct rpmi_packet *packet = responder->received.head;
    const struct rpmi_delays *ns = &client->world->preset.ns;
    uint64_t pause;

    if (!serves(client, qp, gen))
        return false;
    responder->issuing = false;
    if (packet == NULL)
        return false;
    if (rpmi_pcie_full(client->machine)) {
        arm_issue(client, qp, ns->nic);
        return false;
    }
    switch (packet->kind) {
    case RPMI_SIM_WRITE:
    case RPMI_SIM_WRITE_IMM:
        pause = issue_write(client, qp, packet);
        break;
    case RPMI_SIM_PERSIST:
    case RPMI_SIM_COPY:
    case RPMI_SIM_CALL:
    case RPMI_SIM_STEPS:
        issue_notice(client, qp);
        pause = draw_delay(client->world, LATE_ONE_IN);
        break;
    default:
        if (responder->reads == RPMI_SIM_READS) {
            arm_issue(client, qp, ns->read);
            return false;
        }
        set_aside(client, qp);
        pause = draw_delay(client->world, LATE_ONE_IN);
    }
    arm_issue(client, qp, pause);
    return true;
}
