/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine.c: the copy engine of a SoC, line by line.
 *
 * Invariant: a line is handed to PCIe only while the agent may write it.
 *
 * Tests: tests/unit/sim/device/engine_test.cpp
 */
#include "sim/device/engine.h"

#include "base/bytes.h"
#include "sim/device/world.h"

#define STALL_ONE_IN 16u /* one of so many lines is late; a coarse choice */

static void arm(struct rpmi_machine *machine)
{
    struct rpmi_engine *engine = &machine->engine;
    struct rpmi_world *world = machine->world;
    const struct rpmi_delays *ns = &world->preset.ns;
    bool busy = engine->posted > 0;

    for (uint32_t i = 0; i < RPMI_SIM_COPIES; i++)
        busy = busy || engine->copy[i].id != 0;
    if (!busy || engine->armed)
        return;
    engine->armed = true;
    rpmi_world_push(world, RPMI_EV_ENGINE, machine->index, 0,
                    rpmi_rng_below(&world->rng, STALL_ONE_IN) == 0
                        ? rpmi_rng_below(&world->rng, ns->pcie_slow)
                        : ns->line,
                    0);
}

static uint64_t bit_of(uint64_t id)
{
    return UINT64_C(1) << id % 64;
}

uint64_t rpmi_engine_copy(struct rpmi_machine *machine, uint32_t client,
                          const struct rpmi_step *carry)
{
    struct rpmi_engine *engine = &machine->engine;
    struct rpmi_copy *copy = engine->copy;
    uint32_t lines = (carry->len + RPMI_LINE_BYTES - 1) / RPMI_LINE_BYTES;
    uint64_t encoded = RPMI_CARRY_HEAD_BYTES + rpmi_align_up(carry->len, sizeof(uint64_t));

    RPM_ASSERT(carry->kind == RPMI_STEP_CARRY && carry->len > 0);
    RPM_ASSERT(encoded <= sizeof(copy->memory) && lines <= 64);
    while (copy < engine->copy + RPMI_SIM_COPIES && copy->id != 0)
        copy++;
    if (copy == engine->copy + RPMI_SIM_COPIES || !machine->powered)
        return 0;
    copy->id = ++engine->ids;
    engine->refused &= ~bit_of(copy->id);
    copy->client = client;
    copy->step = *carry;
    memcpy(copy->memory, (const unsigned char *)carry->data - RPMI_CARRY_HEAD_BYTES, encoded);
    copy->step.data = copy->memory + RPMI_CARRY_HEAD_BYTES;
    copy->step.proof = copy->memory + RPMI_CARRY_AT_PROOF;
    copy->waiting = lines == 64 ? UINT64_MAX : (UINT64_C(1) << lines) - 1;
    arm(machine);
    return copy->id;
}

enum rpmi_copy_state rpmi_engine_state(const struct rpmi_machine *machine, uint64_t id)
{
    const struct rpmi_engine *engine = &machine->engine;

    RPM_ASSERT(id > 0 && id <= engine->ids);
    for (uint32_t i = 0; i < RPMI_SIM_COPIES; i++)
        if (engine->copy[i].id == id)
            return RPMI_COPY_UNDER_WAY;
    return (engine->refused & bit_of(id)) != 0 ? RPMI_COPY_REFUSED : RPMI_COPY_DONE;
}

static void refuse(struct rpmi_engine *engine, struct rpmi_copy *copy)
{
    engine->refused |= bit_of(copy->id);
    copy->id = 0;
}

/* The bit of one of the lines that wait, chosen at random. */
static uint32_t some_line(struct rpmi_machine *machine, uint64_t waiting)
{
    uint64_t skip = rpmi_rng_below(&machine->world->rng, (uint64_t)__builtin_popcountll(waiting));

    while (skip-- > 0)
        waiting &= waiting - 1;
    return (uint32_t)__builtin_ctzll(waiting);
}

/* One of the copies that are under way, chosen at random; NULL: there is none. */
static struct rpmi_copy *some_copy(struct rpmi_machine *machine)
{
    struct rpmi_copy *chosen = NULL;
    uint64_t seen = 0;

    for (uint32_t i = 0; i < RPMI_SIM_COPIES; i++)
        if (machine->engine.copy[i].id != 0 && rpmi_rng_below(&machine->world->rng, ++seen) == 0)
            chosen = &machine->engine.copy[i];
    return chosen;
}

/* Hand one line to PCIe. A server process that has ended, or begun again, lets no agent write. */
static void post_line(struct rpmi_machine *machine, struct rpmi_copy *copy)
{
    struct rpmi_engine *engine = &machine->engine;
    const struct rpmi_host *host = &machine->world->opts.host;
    struct rpmi_posted_line *posted = &engine->line[engine->posted];
    struct rpmi_sim_address address;
    uint32_t line;
    uint32_t from;

    if (!machine->serving ||
        host->carry(host->context, machine->index, copy->client, &copy->step, &address) != 0) {
        refuse(engine, copy);
        return;
    }
    RPM_ASSERT(address.place == RPMI_PLACE_POOL && address.offset % RPMI_LINE_BYTES == 0);
    line = some_line(machine, copy->waiting);
    from = line * RPMI_LINE_BYTES;
    posted->number = ++engine->lines;
    posted->offset = address.offset + from;
    posted->bytes =
        copy->step.len - from < RPMI_LINE_BYTES ? copy->step.len - from : RPMI_LINE_BYTES;
    memcpy(posted->data, copy->memory + RPMI_CARRY_HEAD_BYTES + from, posted->bytes);
    engine->posted++;
    copy->waiting &= ~(UINT64_C(1) << line);
    if (copy->waiting == 0)
        copy->id = 0;
}

static void land_line(struct rpmi_machine *machine)
{
    struct rpmi_engine *engine = &machine->engine;
    uint32_t i = (uint32_t)rpmi_rng_below(&machine->world->rng, engine->posted);
    struct rpmi_posted_line line = engine->line[i];
    struct rpmi_piece piece = { line.offset, line.data, line.bytes };

    engine->line[i] = engine->line[--engine->posted];
    rpmi_machine_land(machine, RPMI_PLACE_POOL, &piece, RPMI_BY_NIC);
}

bool rpmi_engine_step(struct rpmi_machine *machine)
{
    struct rpmi_engine *engine = &machine->engine;
    struct rpmi_copy *copy = some_copy(machine);
    bool lands = engine->posted > 0 && (copy == NULL || engine->posted == RPMI_SIM_POSTED_LINES ||
                                        rpmi_rng_below(&machine->world->rng, 2) == 0);

    RPM_ASSERT(engine->posted <= RPMI_SIM_POSTED_LINES);
    engine->armed = false;
    if (copy == NULL && !lands)
        return false;
    if (lands)
        land_line(machine);
    else
        post_line(machine, copy);
    arm(machine);
    return true;
}

bool rpmi_engine_settled(const struct rpmi_machine *machine, uint64_t lines)
{
    const struct rpmi_engine *engine = &machine->engine;

    for (uint32_t i = 0; i < engine->posted; i++)
        if (engine->line[i].number <= lines)
            return false;
    return true;
}

void rpmi_engine_orphan(struct rpmi_machine *machine)
{
    for (uint32_t i = 0; i < RPMI_SIM_COPIES; i++)
        if (machine->engine.copy[i].id != 0 && rpmi_rng_below(&machine->world->rng, 2) == 0)
            refuse(&machine->engine, &machine->engine.copy[i]);
}

void rpmi_engine_drop(struct rpmi_machine *machine)
{
    struct rpmi_engine *engine = &machine->engine;

    for (uint32_t i = 0; i < RPMI_SIM_COPIES; i++)
        if (engine->copy[i].id != 0)
            refuse(engine, &engine->copy[i]);
    engine->posted = 0;
}
