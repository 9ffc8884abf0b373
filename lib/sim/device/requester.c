/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * requester.c: the client's NIC: it sends packets in queue-pair order over a network with loss,
 * duplicates and delays, and, as reliable connections do, goes back to the first missing packet.
 *
 * The network keeps the order of the packets of one client; a duplicate arrives later. Answers
 * (data of a READ, replies) are never lost: a loss is modelled as the delay that its repetition
 * costs.
 *
 * Invariants
 *   a FENCED op is not sent while an earlier op of its queue pair waits for an answer
 *   payload is read when its packet is sent, at any time between post and completion
 *
 * Tests: tests/unit/sim/device/nic_test.cpp
 */
#include "base/bytes.h"
#include "sim/device/world.h"

static struct rpmi_sim_slot *slot_of(struct rpmi_sim_client *client, uint64_t op)
{
    RPM_ASSERT(op >= client->head && op < client->tail);
    return &client->slot[op % client->room];
}

/* Does an earlier op of the same queue pair still wait for an answer? */
static bool held_back(struct rpmi_sim_client *client, uint64_t op, uint32_t qp)
{
    for (uint64_t i = client->head; i < op; i++) {
        const struct rpmi_sim_slot *slot = slot_of(client, i);

        if (slot->qp == qp && !slot->done && rpmi_kind_answers(slot->request.kind))
            return true;
    }
    return false;
}

/* The op of the next packet on this queue pair; NULL: there is none, or it has to wait. */
static struct rpmi_sim_slot *next_op(struct rpmi_sim_client *client, uint32_t qp)
{
    struct rpmi_requester *requester = &client->requester[qp];

    if (requester->send == requester->next)
        return NULL;
    if (requester->send_op < client->head)
        requester->send_op = client->head;
    for (; requester->send_op < client->tail; requester->send_op++) {
        struct rpmi_sim_slot *slot = slot_of(client, requester->send_op);

        if (slot->qp != qp || requester->send >= slot->psn + slot->packets)
            continue;
        RPM_ASSERT(requester->send >= slot->psn);
        if ((slot->request.flags & RPMI_SIM_FENCED) != 0 && requester->send == slot->psn &&
            held_back(client, requester->send_op, qp))
            return NULL;
        return slot;
    }
    return NULL;
}

/* Copy the payload's bytes from @at on: head, then body, then zeros. */
static void gather(const struct rpmi_sim_slot *slot, uint64_t at, unsigned char *to, uint64_t len)
{
    const struct rpmi_sim_request *request = &slot->request;
    uint64_t n;

    if (at < request->head_bytes) {
        n = request->head_bytes - at < len ? request->head_bytes - at : len;
        memcpy(to, slot->head + at, n);
        to += n;
        at += n;
        len -= n;
    }
    if (len > 0 && at < request->head_bytes + request->body_bytes) {
        uint64_t from = at - request->head_bytes;

        n = request->body_bytes - from < len ? request->body_bytes - from : len;
        memcpy(to, (const unsigned char *)request->body + from, n);
        to += n;
        len -= n;
    }
    if (len > 0)
        memset(to, 0, len);
}

static void packet_fill(struct rpmi_packet *packet, struct rpmi_sim_client *client,
                        const struct rpmi_sim_slot *slot, uint32_t qp)
{
    struct rpmi_requester *requester = &client->requester[qp];
    uint64_t at = (requester->send - slot->psn) * RPMI_SIM_MTU_BYTES;
    bool carries = slot->packets > 1 || slot->request.kind == RPMI_SIM_WRITE ||
                   slot->request.kind == RPMI_SIM_WRITE_IMM ||
                   slot->request.kind == RPMI_SIM_COPY || slot->request.kind == RPMI_SIM_CALL ||
                   slot->request.kind == RPMI_SIM_STEPS;
    uint64_t bytes = carries ? slot->request.len - at : 0;

    packet->kind = slot->request.kind;
    packet->flags = slot->request.flags;
    packet->psn = requester->send;
    packet->op = requester->send_op;
    packet->last = requester->send + 1 == slot->psn + slot->packets;
    packet->key = slot->request.key;
    packet->offset = slot->request.offset + at;
    packet->op_offset = slot->request.offset;
    packet->op_len = slot->request.len;
    packet->expect = slot->request.expect;
    packet->operand = slot->request.operand;
    packet->bytes = (uint32_t)(bytes < RPMI_SIM_MTU_BYTES ? bytes : RPMI_SIM_MTU_BYTES);
    gather(slot, at, packet->data, packet->bytes);
}

/* Send the packet; the network may lose, delay or duplicate it. */
static void transmit(struct rpmi_sim_client *client, struct rpmi_packet *packet)
{
    struct rpmi_world *world = client->world;
    const struct rpmi_delays *ns = &world->preset.ns;
    uint64_t wire = (uint64_t)ns->packet * (packet->bytes + 64u) / RPMI_SIM_MTU_BYTES;
    uint64_t arrive = world->now_ns + wire + ns->network;

    client->wire_ns = world->now_ns + wire;
    arrive += rpmi_rng_below(&world->rng, (uint64_t)world->opts.delay_ns + 1);
    if (arrive < client->arrive_ns)
        arrive = client->arrive_ns;
    client->arrive_ns = arrive;
    if (rpmi_rng_chance(&world->rng, world->opts.duplicate_ppm)) {
        packet->refs++;
        rpmi_world_push(world, RPMI_EV_ARRIVE, client->index, packet->gen,
                        arrive - world->now_ns + rpmi_rng_below(&world->rng, 4u * ns->network),
                        (uint64_t)(packet - client->packet));
    }
    if (rpmi_rng_chance(&world->rng, world->opts.loss_ppm)) {
        rpmi_packet_drop(packet);
        return;
    }
    rpmi_world_push(world, RPMI_EV_ARRIVE, client->index, packet->gen, arrive - world->now_ns,
                    (uint64_t)(packet - client->packet));
}

static void timer_start(struct rpmi_sim_client *client, uint32_t qp)
{
    struct rpmi_requester *requester = &client->requester[qp];

    if (requester->timed)
        return;
    requester->timed = true;
    requester->answered = true; /* the first period may be short */
    rpmi_world_push(client->world, RPMI_EV_TIMER, client->index, client->gen,
                    client->world->preset.ns.retry, qp);
}

static bool send_one(struct rpmi_sim_client *client, uint32_t qp)
{
    struct rpmi_requester *requester = &client->requester[qp];
    struct rpmi_sim_slot *slot = next_op(client, qp);
    struct rpmi_packet *packet;

    if (slot == NULL && !requester->probe)
        return false;
    packet = rpmi_packet_take(client);
    if (packet == NULL)
        return false;
    packet->gen = client->gen;
    packet->qp = (uint8_t)qp;
    if (slot != NULL) {
        packet_fill(packet, client, slot, qp);
        requester->send++;
    } else {
        packet->kind = RPMI_SIM_PROBE;
        packet->bytes = 0;
        packet->psn = requester->send;
    }
    requester->probe = false;
    timer_start(client, qp);
    transmit(client, packet);
    return true;
}

bool rpmi_requester_send(struct rpmi_sim_client *client, uint32_t gen)
{
    if (gen != client->gen || client->dead || !client->connected)
        return false;
    client->sending = false;
    if (client->lost != 0)
        return false;
    for (uint32_t i = 0; i < RPMI_SIM_QPS; i++) {
        uint32_t qp = (client->turn + i) % RPMI_SIM_QPS;

        if (send_one(client, qp)) {
            client->turn = qp + 1;
            client->sending = true;
            rpmi_world_push(client->world, RPMI_EV_SEND, client->index, gen,
                            client->wire_ns - client->world->now_ns, 0);
            return true;
        }
    }
    return false;
}

static void rewind_to(struct rpmi_sim_client *client, uint32_t qp, uint64_t psn)
{
    struct rpmi_requester *requester = &client->requester[qp];

    requester->send = psn;
    requester->send_op = client->head; /* searched again from here */
}

/* All packets below @psn have arrived. */
static void acknowledge(struct rpmi_sim_client *client, uint32_t qp, uint64_t psn)
{
    struct rpmi_requester *requester = &client->requester[qp];

    requester->answered = true;
    requester->silent = 0;
    if (psn <= requester->acked)
        return;
    RPM_ASSERT(psn <= requester->next);
    requester->acked = psn;
    if (requester->send < psn)
        rewind_to(client, qp, psn);
    for (uint64_t op = client->head; op < client->tail; op++) {
        struct rpmi_sim_slot *slot = slot_of(client, op);

        if (slot->qp != qp || slot->done)
            continue;
        if (slot->psn + slot->packets > psn)
            break;
        slot->done = !rpmi_kind_answers(slot->request.kind);
    }
}

/* @arg: packet number << 1 | queue pair. */
bool rpmi_requester_ack(struct rpmi_sim_client *client, uint32_t gen, uint64_t arg, bool go_back)
{
    uint32_t qp = arg & 1u;
    uint64_t psn = arg >> 1;

    if (gen != client->gen || client->state != RPMI_CLIENT_OPEN)
        return false;
    RPM_ASSERT(client->acks > 0);
    client->acks--;
    if (client->dead)
        return false;
    acknowledge(client, qp, psn);
    if (go_back && client->requester[qp].send > psn && psn >= client->requester[qp].acked)
        rewind_to(client, qp, psn);
    rpmi_client_kick(client);
    return true;
}

/*
 * An op was refused: it ends with @status, and every later op is lost, even if it was acknowledged
 * already; earlier ops are still answered. If the op itself has been reported, the first op that
 * has not been reported ends with @status.
 */
static void refuse(struct rpmi_sim_client *client, uint64_t op, int status)
{
    if (client->lost != 0)
        return;
    while (op < client->tail && slot_of(client, op)->done)
        op++;
    client->lost = status;
    if (op == client->tail)
        return;
    acknowledge(client, slot_of(client, op)->qp, slot_of(client, op)->psn);
    for (uint64_t i = op; i < client->tail; i++) {
        struct rpmi_sim_slot *slot = slot_of(client, i);

        slot->done = true;
        slot->status = i == op ? status : RPM_E_LOST;
    }
}

bool rpmi_requester_answer(struct rpmi_sim_client *client, uint32_t gen, uint64_t arg)
{
    uint64_t op = arg >> 8;
    int status = -(int)(arg & 0xff);
    struct rpmi_sim_slot *slot;

    if (gen != client->gen || client->dead || client->state != RPMI_CLIENT_OPEN)
        return false;
    if (status != 0) {
        refuse(client, op < client->head ? client->head : op, status);
        return true;
    }
    slot = rpmi_client_waits(client, gen, op);
    if (slot == NULL)
        return false;
    acknowledge(client, slot->qp, slot->psn + slot->packets);
    slot->done = true;
    rpmi_client_kick(client); /* a fenced op may be sent now */
    return true;
}

static bool anything_open(struct rpmi_sim_client *client, uint32_t qp)
{
    for (uint64_t op = client->head; op < client->tail; op++)
        if (slot_of(client, op)->qp == qp && !slot_of(client, op)->done)
            return true;
    return false;
}

bool rpmi_requester_timer(struct rpmi_sim_client *client, uint32_t gen, uint32_t qp)
{
    struct rpmi_requester *requester = &client->requester[qp];
    bool silent;

    if (gen != client->gen || client->dead || client->state != RPMI_CLIENT_OPEN)
        return false;
    requester->timed = false;
    if (!anything_open(client, qp))
        return false;
    silent = !requester->answered;
    timer_start(client, qp);
    requester->answered = false;
    if (!silent)
        return false;
    if (++requester->silent > RPMI_SIM_RETRIES) {
        rpmi_client_lose(client, RPM_E_LOST);
        return true;
    }
    if (requester->acked < requester->send)
        rewind_to(client, qp, requester->acked);
    else
        requester->probe = true;
    rpmi_client_kick(client);
    return true;
}

void rpmi_send_ack(struct rpmi_sim_client *client, uint32_t gen, uint32_t qp, uint64_t psn,
                   bool go_back)
{
    struct rpmi_world *world = client->world;

    if (gen != client->gen || client->acks >= RPMI_SIM_ACKS)
        return;
    if (rpmi_rng_chance(&world->rng, world->opts.loss_ppm))
        return;
    client->acks++;
    rpmi_world_push(world, go_back ? RPMI_EV_GO_BACK : RPMI_EV_ACK, client->index, gen,
                    world->preset.ns.network +
                        rpmi_rng_below(&world->rng, (uint64_t)world->opts.delay_ns + 1),
                    psn << 1 | qp);
}

void rpmi_send_answer(struct rpmi_sim_client *client, uint32_t gen, uint64_t op, int status)
{
    struct rpmi_world *world = client->world;
    struct rpmi_sim_slot *slot = rpmi_client_waits(client, gen, op);
    uint64_t at = world->now_ns + world->preset.ns.network;

    RPM_ASSERT(status <= 0 && status > -256);
    if (status == 0 && (slot == NULL || slot->answer != 0))
        return;
    if (slot != NULL)
        slot->answer = 1;
    at += rpmi_rng_below(&world->rng, (uint64_t)world->opts.delay_ns + 1);
    for (uint32_t i = 0; i < RPMI_SIM_RETRIES; i++) {
        if (!rpmi_rng_chance(&world->rng, world->opts.loss_ppm))
            break;
        at += world->preset.ns.retry;
    }
    if (at < client->answer_ns)
        at = client->answer_ns;
    client->answer_ns = at;
    rpmi_world_push(world, RPMI_EV_ANSWER, client->index, gen, at - world->now_ns,
                    op << 8 | (uint64_t)(-status));
}
