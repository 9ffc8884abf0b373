/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world.c: the loop that lets one event happen after another.
 *
 * Invariants
 *   every choice is drawn from the world's one source of chance, in the order of events
 *   an event that finds nothing to do is not counted: a cut after it would repeat the one before
 *   a step inside a step happens only from within a server CPU's work, once for each machine
 *
 * Tests: tests/unit/sim/device/world_test.cpp
 */
#include "sim/device/world.h"

#include "base/bytes.h"
#include "base/err.h"
#include "base/mem.h"

#define EVENTS_OF_MACHINE (RPMI_SIM_EVICTIONS + 8u)
#define EVICT_ONE_IN 8u /* dirty lines that are evicted before long; a coarse choice */

static int opts_check(const struct rpmi_world_opts *opts)
{
    if (opts->servers == 0 || opts->servers > RPMI_SIM_SERVERS_MAX)
        return rpmi_fail(RPM_E_INVAL, "sim: %u servers; a world has 1 to %u", opts->servers,
                         RPMI_SIM_SERVERS_MAX);
    if (opts->pool_bytes < RPMI_POOL_BYTES_MIN || opts->pool_bytes > (uint64_t)1 << 36 ||
        opts->pool_bytes % RPMI_PAGE_BYTES != 0)
        return rpmi_fail(RPM_E_INVAL, "sim: a pool has a multiple of %u bytes, at least %u",
                         RPMI_PAGE_BYTES, RPMI_POOL_BYTES_MIN);
    if (opts->dram_bytes > (uint64_t)1 << 36 || opts->dram_bytes % RPMI_LINE_BYTES != 0)
        return rpmi_fail(RPM_E_INVAL, "sim: the DRAM area has a multiple of %u bytes",
                         RPMI_LINE_BYTES);
    return 0;
}

static int preset_read(struct rpmi_world *world)
{
    int err = rpmi_preset_read(world->opts.preset, &world->preset);

    world->opts.preset = NULL; /* was borrowed */
    if (err == 0 && world->preset.domain == RPM_DOMAIN_NONE)
        err = rpmi_fail(RPM_E_INVAL, "sim: preset %.128s: a power cut leaves nothing of its memory",
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
        err = rpmi_queue_reserve(&world->queue, opts->servers * EVENTS_OF_MACHINE);
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

int rpmi_world_reserve(struct rpmi_world *world)
{
    uint32_t all = world->servers * EVENTS_OF_MACHINE;

    for (uint32_t i = 0; i < world->clients; i++)
        all += rpmi_client_events(world->client[i]);
    return rpmi_queue_reserve(&world->queue, all);
}

void rpmi_world_push(struct rpmi_world *world, enum rpmi_event_kind kind, uint32_t who,
                     uint32_t gen, uint64_t in_ns, uint64_t arg)
{
    struct rpmi_event event = { .at = world->now_ns + in_ns,
                                .kind = (uint16_t)kind,
                                .who = (uint16_t)who,
                                .gen = gen,
                                .arg = arg };

    rpmi_queue_push(&world->queue, &event);
}

static void rearm(struct rpmi_world *world)
{
    world->next_cut = UINT64_MAX;
    for (uint32_t i = 0; i < world->servers; i++) {
        uint64_t at = world->machine[i].cut_at;

        if (at != 0 && at < world->next_cut)
            world->next_cut = at;
    }
    for (uint32_t i = 0; i < world->clients; i++) {
        uint64_t at = world->client[i]->kill_at;

        if (at != 0 && at < world->next_cut)
            world->next_cut = at;
    }
}

static void fire(struct rpmi_world *world)
{
    for (uint32_t i = 0; i < world->servers; i++) {
        struct rpmi_machine *machine = &world->machine[i];

        if (machine->cut_at != 0 && machine->cut_at <= world->events)
            rpmi_power_cut(machine, machine->cut);
    }
    for (uint32_t i = 0; i < world->clients; i++) {
        struct rpmi_sim_client *client = world->client[i];

        if (client->kill_at != 0 && client->kill_at <= world->events)
            rpmi_client_kill(client);
    }
    rearm(world);
}

static void count(struct rpmi_world *world, const struct rpmi_event *event)
{
    rpmi_history_add(&world->history, event);
    world->events++;
    if (RPMI_UNLIKELY(world->events >= world->next_cut))
        fire(world);
}

void rpmi_world_tick(struct rpmi_world *world, enum rpmi_event_kind kind, uint32_t who,
                     uint64_t arg)
{
    struct rpmi_event event = {
        .at = world->now_ns, .kind = (uint16_t)kind, .who = (uint16_t)who, .arg = arg
    };

    count(world, &event);
}

void rpmi_world_cut_at(struct rpmi_world *world, uint32_t server, uint64_t events,
                       enum rpmi_cut cut)
{
    struct rpmi_machine *machine = &world->machine[server];

    RPM_ASSERT(server < world->servers);
    machine->cut_at = events == 0 ? 0 : world->events + events;
    machine->cut = cut;
    rearm(world);
}

static bool evict(struct rpmi_machine *machine)
{
    RPM_ASSERT(machine->evictions > 0);
    machine->evictions--;
    return machine->powered && rpmi_cache_evict(&machine->media.cache, &machine->world->rng);
}

static bool dial(struct rpmi_sim_client *client, uint32_t gen, uint64_t kind)
{
    struct rpmi_packet *packet =
        &client->packet[RPMI_SIM_PACKETS + (kind == RPMI_SIM_DIAL ? 0u : 1u)];

    if (gen != client->gen)
        return false;
    if (!client->machine->serving) {
        if (kind == RPMI_SIM_DIAL)
            rpmi_world_push(client->world, RPMI_EV_WELCOME, client->index, gen,
                            client->world->preset.ns.retry, (uint64_t)(-RPM_E_REFUSED));
        return true;
    }
    if (packet->listed)
        return false;
    packet->kind = (uint8_t)kind;
    packet->listed = true;
    rpmi_cpu_notice(client->machine, packet);
    return true;
}

static bool welcomed(struct rpmi_sim_client *client, uint32_t gen, uint64_t err)
{
    if (gen != client->gen || !client->dialling)
        return false;
    client->dialling = false;
    client->refused = -(int)err;
    client->connected = err == 0;
    client->lost = err == 0 ? 0 : RPM_E_LOST;
    return true;
}

static bool happen_client(struct rpmi_world *world, const struct rpmi_event *event)
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
        return dial(client, event->gen, event->arg);
    default:
        RPM_ASSERT(event->kind == RPMI_EV_WELCOME);
        return welcomed(client, event->gen, event->arg);
    }
}

static bool happen(struct rpmi_world *world, const struct rpmi_event *event)
{
    switch (event->kind) {
    case RPMI_EV_PCIE:
        return rpmi_pcie_step(&world->machine[event->who]);
    case RPMI_EV_CPU:
        return rpmi_cpu_serve(&world->machine[event->who]);
    case RPMI_EV_EVICT:
        return evict(&world->machine[event->who]);
    default:
        return happen_client(world, event);
    }
}

void rpmi_world_kill_at(struct rpmi_sim_client *client, uint64_t events)
{
    client->kill_at = events == 0 ? 0 : client->world->events + events;
    rearm(client->world);
}

bool rpmi_world_step_until(struct rpmi_world *world, uint64_t at_ns)
{
    struct rpmi_event event;
    bool counted = false;

    RPM_ASSERT(world->depth <= world->servers);
    while (!counted) {
        bool there =
            rpmi_queue_next(&world->queue) <= at_ns && rpmi_queue_pop(&world->queue, &event);

        if (!there)
            return false;
        RPM_ASSERT(event.at >= world->now_ns);
        world->now_ns = event.at;
        world->depth++;
        counted = happen(world, &event);
        world->depth--;
    }
    count(world, &event);
    return true;
}

bool rpmi_world_step(struct rpmi_world *world)
{
    return rpmi_world_step_until(world, UINT64_MAX);
}

void rpmi_world_run_until(struct rpmi_world *world, uint64_t at_ns)
{
    while (rpmi_world_step_until(world, at_ns))
        ;
    if (at_ns > world->now_ns)
        world->now_ns = at_ns;
}

void rpmi_machine_land(struct rpmi_machine *machine, enum rpmi_sim_place place,
                       const struct rpmi_piece *piece, enum rpmi_writer writer)
{
    struct rpmi_world *world = machine->world;

    if (!rpmi_sim_media_land(&machine->media, place, piece, writer, &world->rng))
        return;
    if (machine->evictions == RPMI_SIM_EVICTIONS || rpmi_rng_below(&world->rng, EVICT_ONE_IN) != 0)
        return;
    machine->evictions++;
    rpmi_world_push(world, RPMI_EV_EVICT, machine->index, 0,
                    rpmi_rng_below(&world->rng, world->preset.ns.evict), 0);
}

int rpmi_machine_access(struct rpmi_sim_client *client, const struct rpmi_wanted *wanted,
                        struct rpmi_spot *spot)
{
    const struct rpmi_machine *machine = client->machine;
    const struct rpmi_host *host = &machine->world->opts.host;
    uint64_t bytes;
    int err;

    spot->place = RPMI_PLACE_POOL;
    spot->offset = 0;
    if (!client->attached)
        return RPM_E_DENIED;
    if (wanted->len == 0)
        return 0;
    err = host->access(host->context, machine->index, client->id, wanted, spot);
    bytes = spot->place == RPMI_PLACE_POOL ? machine->media.pool_bytes : machine->media.dram_bytes;
    RPM_ASSERT(err != 0 || rpmi_in_bounds(spot->offset, wanted->len, bytes));
    return err;
}

int rpmi_packet_access(const struct rpmi_packet *packet, struct rpmi_spot *spot)
{
    struct rpmi_wanted wanted = { packet->key, rpmi_kind_rights(packet->kind), packet->op_offset,
                                  packet->op_len };
    int err = rpmi_machine_access(packet->client, &wanted, spot);

    spot->offset += packet->offset - packet->op_offset;
    return err;
}

uint32_t rpmi_kind_rights(uint32_t kind)
{
    switch (kind) {
    case RPMI_SIM_WRITE:
    case RPMI_SIM_WRITE_IMM:
    case RPMI_SIM_COPY:
        return 2;
    case RPMI_SIM_CAS:
    case RPMI_SIM_FAA:
        return 4;
    default:
        return 1;
    }
}
