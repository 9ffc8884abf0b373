/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * serve.c: the messages that the server CPU serves in order: flush a range, copy a payload, call
 * the service, connect a client, clean up after one.
 *
 * Invariants
 *   an answer is sent only when its request is done, and never after a power cut
 *   a reply of the service is sent only when all earlier PCIe writes have arrived in memory: so
 *     after a revocation no write with that key arrives, as on real hardware
 *   a client is detached, which frees its locks, only when none of its writes can arrive any more
 *
 * Tests: tests/unit/sim/device/cpu_test.cpp, order_test.cpp
 */
#include "base/bytes.h"
#include "base/canary.h"
#include "sim/device/world.h"

static void arm(struct rpmi_machine *machine)
{
    struct rpmi_sim_cpu *cpu = &machine->cpu;

    if (cpu->busy || cpu->armed || cpu->inbox.head == NULL)
        return;
    cpu->armed = true;
    rpmi_world_push(machine->world, RPMI_EV_CPU, machine->index, 0, machine->world->preset.ns.wake,
                    0);
}

void rpmi_sim_cpu_enter(struct rpmi_machine *machine)
{
    RPM_ASSERT(!machine->cpu.busy);
    machine->cpu.busy = true;
}

void rpmi_sim_cpu_leave(struct rpmi_machine *machine)
{
    RPM_ASSERT(machine->cpu.busy);
    machine->cpu.busy = false;
    arm(machine);
}

void rpmi_sim_cpu_notice(struct rpmi_machine *machine, struct rpmi_packet *packet)
{
    rpmi_packets_put(&machine->cpu.inbox, packet);
    arm(machine);
}

bool rpmi_sim_cpu_dial(struct rpmi_sim_client *client, uint32_t gen, uint64_t kind)
{
    struct rpmi_packet *packet =
        &client->packet[RPMI_SIM_PACKETS + (kind == RPMI_SIM_DIAL ? 0u : 1u)];

    if (gen != client->gen)
        return false;
    if (!client->machine->serving) {
        if (kind == RPMI_SIM_DIAL)
            rpmi_world_push(client->world, RPMI_EV_DIAL_ANSWER, client->index, gen,
                            client->world->preset.ns.retry, (uint64_t)(-RPM_E_REFUSED));
        return true;
    }
    if (packet->listed)
        return false;
    packet->kind = (uint8_t)kind;
    packet->listed = true;
    rpmi_sim_cpu_notice(client->machine, packet);
    return true;
}

/* Wait until every transaction queued by now, by the NIC or the SoC's copy engine, has arrived in
 * memory. False if the power was cut. */
static bool wait_for_pcie(struct rpmi_machine *machine)
{
    uint64_t mark = machine->pcie.tail;
    uint64_t lines = machine->engine.lines;

    while (machine->running &&
           (machine->pcie.head < mark || !rpmi_engine_settled(machine, lines))) {
        bool more = rpmi_world_step(machine->world);

        RPM_ASSERT(more);
    }
    return machine->running;
}

static void detach_client(struct rpmi_sim_client *client)
{
    struct rpmi_machine *machine = client->machine;
    const struct rpmi_host *host = &machine->world->opts.host;

    if (!client->attached)
        return;
    client->attached = false;
    for (uint32_t qp = 0; qp < RPMI_SIM_QPS; qp++)
        rpmi_nic_reset(client, qp);
    /* The core's own buffers may hold the first packets of a COPY whose last packet never
     * arrived. */
    if (!RPMI_CANARY(EARLY_DETACH) && (!wait_for_pcie(machine) || !rpmi_sim_cpu_fence(machine)))
        return;
    host->detach(host->context, machine->index, client->id);
}

static void accept_client(struct rpmi_sim_client *client)
{
    struct rpmi_machine *machine = client->machine;
    const struct rpmi_host *host = &machine->world->opts.host;
    uint32_t gen = client->gen;
    int err;

    if (!client->dialling)
        return;
    detach_client(client);
    if (!machine->running)
        return;
    err = host->attach(host->context, machine->index, &client->id, &client->epoch);
    if (!machine->running)
        return;
    RPM_ASSERT(err <= 0 && err > -256);
    if (err == 0) {
        client->attached = true;
        client->boot = machine->boot;
        for (uint32_t qp = 0; qp < RPMI_SIM_QPS; qp++)
            rpmi_nic_ready(client, qp, gen);
    }
    rpmi_world_push(machine->world, RPMI_EV_DIAL_ANSWER, client->index, gen,
                    machine->world->preset.ns.network, (uint64_t)(-err));
}

static void answer(const struct rpmi_packet *packet, int status)
{
    if (!packet->client->machine->running)
        return;
    if (status != 0)
        packet->client->responder[packet->qp].broken = true;
    rpmi_send_answer(packet->client, packet->gen, packet->op, status);
}

static void flush_range(struct rpmi_machine *machine, const struct rpmi_packet *packet)
{
    struct rpmi_sim_address address;
    int err = rpmi_packet_access(packet, &address);

    address.offset -= packet->offset - packet->op_offset;
    if (err == 0 && (packet->kind == RPMI_SIM_PERSIST || (packet->flags & RPMI_SIM_DURABLE) != 0))
        err = rpmi_sim_cpu_persist(machine, address.place, address.offset, packet->op_len);
    answer(packet, err);
}

/* Is the payload copied with non-temporal stores? Only under ADR must it leave the caches, and
 * CACHED selects cached stores and write-backs instead. */
static bool is_streamed(const struct rpmi_machine *machine, const struct rpmi_packet *packet,
                        enum rpmi_sim_place place)
{
    return machine->world->preset.domain == RPM_DOMAIN_ADR && place == RPMI_PLACE_POOL &&
           (packet->flags & RPMI_SIM_DURABLE) != 0 && (packet->flags & RPMI_SIM_CACHED) == 0;
}

/* Copy one packet's payload; after the last one make the whole range durable, if the op asks for
 * it. */
static void copy_payload(struct rpmi_machine *machine, const struct rpmi_packet *packet)
{
    struct rpmi_sim_address address;
    bool streamed;
    int err = rpmi_packet_access(packet, &address);

    if (err != 0) {
        answer(packet, err);
        return;
    }
    streamed = is_streamed(machine, packet, address.place);
    if (streamed)
        rpmi_sim_cpu_stream(machine, address.offset, packet->data, packet->bytes);
    else
        rpmi_sim_cpu_store(machine, address.place, address.offset, packet->data, packet->bytes);
    if (!packet->last)
        return;
    address.offset -= packet->offset - packet->op_offset;
    if (streamed)
        err = rpmi_sim_cpu_fence(machine) ? 0 : RPM_E_IO;
    else if ((packet->flags & RPMI_SIM_DURABLE) != 0)
        err = rpmi_sim_cpu_persist(machine, address.place, address.offset, packet->op_len);
    answer(packet, err);
}

static void run_service(struct rpmi_machine *machine, const struct rpmi_packet *packet)
{
    const struct rpmi_host *host = &machine->world->opts.host;
    struct rpmi_sim_client *client = packet->client;
    unsigned char reply[RPMI_REPLY_BYTES];
    struct rpmi_sim_slot *slot;

    host->call(host->context, machine->index, client->id, packet->data, reply);
    if (!rpmi_sim_cpu_fence(machine) || !wait_for_pcie(machine))
        return;
    slot = rpmi_client_waits(client, packet->gen, packet->op);
    if (slot != NULL)
        memcpy(slot->request.into, reply, sizeof(reply));
    answer(packet, 0);
}

/* The list arrives in packets; its results are copied to the client with the answer. */
static void carry_out_steps(struct rpmi_machine *machine, const struct rpmi_packet *packet)
{
    struct rpmi_sim_client *client = packet->client;
    uint64_t from = packet->offset - packet->op_offset;
    struct rpmi_sim_slot *slot;
    int err;

    RPM_ASSERT(rpmi_in_bounds(from, packet->bytes, sizeof(client->list)));
    memcpy(client->list + from, packet->data, packet->bytes);
    if (!packet->last)
        return;
    err = rpmi_sim_cpu_steps(machine, packet);
    slot = rpmi_client_waits(client, packet->gen, packet->op);
    if (err == 0 && slot != NULL && machine->running)
        memcpy(slot->request.into, machine->cpu.answer, packet->operand);
    answer(packet, err);
}

static void serve(struct rpmi_machine *machine, struct rpmi_packet *packet)
{
    struct rpmi_sim_client *client = packet->client;

    if (packet->kind == RPMI_SIM_DIAL || packet->kind == RPMI_SIM_DISCONNECT) {
        packet->listed = false;
        if (packet->kind == RPMI_SIM_DIAL)
            accept_client(client);
        else
            detach_client(client);
        return;
    }
    if (!client->attached || client->responder[packet->qp].gen != packet->gen ||
        client->responder[packet->qp].broken)
        return;
    if (packet->kind == RPMI_SIM_COPY)
        copy_payload(machine, packet);
    else if (packet->kind == RPMI_SIM_CALL)
        run_service(machine, packet);
    else if (packet->kind == RPMI_SIM_STEPS)
        carry_out_steps(machine, packet);
    else
        flush_range(machine, packet);
}

bool rpmi_sim_cpu_serve(struct rpmi_machine *machine)
{
    struct rpmi_sim_cpu *cpu = &machine->cpu;
    struct rpmi_packet *packet;
    bool manager;

    cpu->armed = false;
    if (machine->stopped_ns > machine->world->now_ns) {
        cpu->armed = true;
        rpmi_world_push(machine->world, RPMI_EV_CPU, machine->index, 0,
                        machine->stopped_ns - machine->world->now_ns, 0);
        return false;
    }
    if (cpu->busy || !machine->serving)
        return false;
    packet = rpmi_packets_take(&cpu->inbox);
    if (packet == NULL)
        return false;
    manager = packet->kind == RPMI_SIM_DIAL || packet->kind == RPMI_SIM_DISCONNECT;
    rpmi_sim_cpu_enter(machine);
    serve(machine, packet);
    if (!manager)
        rpmi_packet_drop(packet);
    rpmi_sim_cpu_leave(machine);
    return true;
}

void rpmi_sim_cpu_drop(struct rpmi_machine *machine, bool drain)
{
    struct rpmi_sim_cpu *cpu = &machine->cpu;
    struct rpmi_packet *packet;

    while ((packet = rpmi_packets_take(&cpu->inbox)) != NULL) {
        packet->listed = false;
        if (packet->kind != RPMI_SIM_DIAL && packet->kind != RPMI_SIM_DISCONNECT)
            rpmi_packet_drop(packet);
    }
    for (uint32_t i = 0; drain && i < cpu->streams; i++) {
        const struct rpmi_sim_stream *stream = &cpu->stream[i];
        struct rpmi_piece piece = { stream->offset, stream->data, stream->bytes };

        rpmi_machine_land(machine, RPMI_PLACE_POOL, &piece, RPMI_BY_STREAM);
    }
    cpu->streams = 0;
}
