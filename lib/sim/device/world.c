/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world.c: opens and closes a world, and calls the handler of each event, which is in the NIC,
 * PCIe, the CPU or a client.
 *
 * A part calls only parts below it; from the bottom: clock, machine, packets, slots, requester,
 * PCIe, NIC, the SoC's copy engine, CPU, the messages that it serves, power. A part reaches a part
 * above it by an event in the queue or, from PCIe, by the transaction that dispatch() takes out of
 * it.
 *
 * Invariants
 *   every choice is drawn from the world's one random number generator, in the order of events
 *   only dispatch() calls upwards: no two files of this folder call each other in a circle
 *
 * Tests: tests/unit/sim/device/world_test.cpp
 */
#include "sim/device/world.h"

#include "base/bytes.h"
#include "base/err.h"
#include "base/mem.h"

#define MEMORY_BYTES_MAX ((uint64_t)1 << 36) /* of a pool, or of a DRAM area */

static bool dispatch(struct rpmi_world *world, const struct rpmi_event *event);

static int opts_check(const struct rpmi_world_opts *opts)
{
    if (opts->servers == 0 || opts->servers > RPMI_SIM_SERVERS_MAX)
        return rpmi_fail(RPM_E_INVAL, "sim: %u servers; a world has 1 to %u", opts->servers,
                         RPMI_SIM_SERVERS_MAX);
    if (opts->pool_bytes < RPMI_POOL_BYTES_MIN || opts->pool_bytes > MEMORY_BYTES_MAX ||
        opts->pool_bytes % RPMI_PAGE_BYTES != 0)
        return rpmi_fail(RPM_E_INVAL,
                         "sim: a pool of %llu bytes; its size is a multiple of %u, %u to %llu",
                         (unsigned long long)opts->pool_bytes, RPMI_PAGE_BYTES, RPMI_POOL_BYTES_MIN,
                         (unsigned long long)MEMORY_BYTES_MAX);
    if (opts->dram_bytes > MEMORY_BYTES_MAX || opts->dram_bytes % RPMI_LINE_BYTES != 0)
        return rpmi_fail(
            RPM_E_INVAL,
            "sim: a DRAM area of %llu bytes; its size is a multiple of %u, at most %llu",
            (unsigned long long)opts->dram_bytes, RPMI_LINE_BYTES,
            (unsigned long long)MEMORY_BYTES_MAX);
    return 0;
}

static int preset_read(struct rpmi_world *world)
{
    int err = rpmi_preset_read(world->opts.preset, &world->preset);

    world->opts.preset = NULL; /* was borrowed */
    if (err == 0 && world->preset.domain == RPM_DOMAIN_NONE)
        err = rpmi_fail(RPM_E_INVAL,
                        "sim: preset %.128s has domain none, no persistent memory: a world needs "
                        "one that has, such as adr",
                        world->preset.name);
    return err;
}

int rpmi_world_open(const struct rpmi_world_opts *opts, struct rpmi_world **out)
{
    struct rpmi_world *world;
    int err = opts_check(opts);

    if (err != 0)
        return err;
    world = rpmi_alloc(sizeof(*world), 64);
    if (world == NULL)
        return RPM_E_NOMEM;
    world->opts = *opts;
    world->next_cut = UINT64_MAX;
    world->dispatch = dispatch;
    rpmi_rng_seed(&world->rng, opts->seed);
    err = preset_read(world);
    world->machine = rpmi_alloc(opts->servers * sizeof(*world->machine), 64);
    if (err == 0 && world->machine == NULL)
        err = RPM_E_NOMEM;
    for (uint32_t i = 0; err == 0 && i < opts->servers; i++) {
        struct rpmi_machine *machine = &world->machine[i];

        err = rpmi_sim_media_open(&machine->media, &world->preset, opts->pool_bytes,
                                  opts->dram_bytes);
        machine->world = world;
        machine->index = (uint16_t)i;
        machine->powered = true;
        machine->running = true;
        world->servers = i + 1;
    }
    if (err == 0)
        err = rpmi_queue_reserve(&world->queue, opts->servers * RPMI_SIM_MACHINE_EVENTS);
    if (err != 0) {
        rpmi_world_close(&world);
        return err;
    }
    *out = world;
    return 0;
}

void rpmi_world_close(struct rpmi_world **out)
{
    struct rpmi_world *world = *out;

    if (world == NULL)
        return;
    RPM_ASSERT(world->depth == 0);
    for (uint32_t i = 0; i < world->clients; i++) {
        RPM_ASSERT(world->client[i]->state != RPMI_CLIENT_OPEN);
        rpmi_client_destroy(world->client[i]);
    }
    for (uint32_t i = 0; i < world->servers; i++)
        rpmi_sim_media_close(&world->machine[i].media);
    rpmi_free(world->machine);
    rpmi_queue_close(&world->queue);
    rpmi_free(world);
    *out = NULL;
}

/* Handle a request that left the PCIe queue: the oldest READ starts, or the server CPU gets a
 * message. */
static bool dispatch_pcie(struct rpmi_machine *machine)
{
    struct rpmi_tlp out;

    if (!rpmi_pcie_step(machine, &out))
        return false;
    if (out.kind == RPMI_TLP_READ)
        rpmi_nic_pushed(out.client, out.qp, out.gen);
    else if (out.kind == RPMI_TLP_NOTICE)
        rpmi_sim_cpu_notice(machine, out.packet);
    rpmi_pcie_next(machine);
    return true;
}

static bool dispatch_client(struct rpmi_world *world, const struct rpmi_event *event)
{
    struct rpmi_sim_client *client = world->client[event->who];

    switch (event->kind) {
    case RPMI_EV_SEND:
        return rpmi_requester_send(client, event->gen);
    case RPMI_EV_ARRIVE:
        rpmi_nic_arrive(&client->packet[event->arg]);
        return true;
    case RPMI_EV_ACK:
    case RPMI_EV_GO_BACK:
        return rpmi_requester_ack(client, event->gen, event->arg, event->kind == RPMI_EV_GO_BACK);
    case RPMI_EV_ANSWER:
        return rpmi_requester_answer(client, event->gen, event->arg);
    case RPMI_EV_TIMER:
        return rpmi_requester_timer(client, event->gen, (uint32_t)event->arg);
    case RPMI_EV_ISSUE:
        return rpmi_nic_issue(client, (uint32_t)event->arg, event->gen);
    case RPMI_EV_READ:
        return rpmi_nic_read(client, (uint32_t)event->arg, event->gen);
    case RPMI_EV_DIAL:
        return rpmi_sim_cpu_dial(client, event->gen, event->arg);
    case RPMI_EV_DEATH:
        rpmi_client_kill(client);
        return true;
    default:
        RPM_ASSERT(event->kind == RPMI_EV_DIAL_ANSWER);
        return rpmi_client_answered(client, event->gen, event->arg);
    }
}

/* False: the event found nothing to do. */
static bool dispatch(struct rpmi_world *world, const struct rpmi_event *event)
{
    switch (event->kind) {
    case RPMI_EV_PCIE:
        return dispatch_pcie(&world->machine[event->who]);
    case RPMI_EV_CPU:
        return rpmi_sim_cpu_serve(&world->machine[event->who]);
    case RPMI_EV_ENGINE:
        return rpmi_engine_step(&world->machine[event->who]);
    case RPMI_EV_EVICT:
        return rpmi_machine_evict(&world->machine[event->who]);
    case RPMI_EV_POWER:
        rpmi_power_cut(&world->machine[event->who], (enum rpmi_cut)event->arg);
        return true;
    default:
        return dispatch_client(world, event);
    }
}
