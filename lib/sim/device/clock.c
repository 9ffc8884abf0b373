/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock.c: the loop that processes one event after another. It hands each event to the world's
 * dispatch function (world.c) and calls no part itself, so that every part may call this file.
 *
 * Invariants
 *   an event that finds nothing to do is not counted: a cut after it would equal the cut before it
 *   an event is processed inside another only during a server CPU's work, once for each machine
 *
 * Tests: tests/unit/sim/device/clock_test.cpp
 */
#include "sim/device/world.h"

int rpmi_world_reserve(struct rpmi_world *world)
{
    uint32_t all = world->servers * RPMI_SIM_MACHINE_EVENTS;

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

/* Carry out the armed cuts and deaths that are due. They are dispatched, but neither queued nor
 * counted. */
static void fire(struct rpmi_world *world)
{
    struct rpmi_event event = { .at = world->now_ns };

    event.kind = RPMI_EV_POWER;
    for (uint32_t i = 0; i < world->servers; i++) {
        const struct rpmi_machine *machine = &world->machine[i];

        if (machine->cut_at == 0 || machine->cut_at > world->events)
            continue;
        event.who = (uint16_t)i;
        event.arg = machine->cut;
        (void)world->dispatch(world, &event);
    }
    event.kind = RPMI_EV_DEATH;
    for (uint32_t i = 0; i < world->clients; i++) {
        const struct rpmi_sim_client *client = world->client[i];

        if (client->kill_at == 0 || client->kill_at > world->events)
            continue;
        event.who = (uint16_t)i;
        (void)world->dispatch(world, &event);
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
        counted = world->dispatch(world, &event);
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
