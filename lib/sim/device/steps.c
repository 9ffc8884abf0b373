/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * steps.c: the server CPU carries out a list of steps. Each store is an event of its own: between
 * two stores, the power may be cut and the NIC may write.
 *
 * Invariants
 *   every step is checked before the first one is carried out; no message is served until the last
 *     one is done, so that no key is revoked in between
 *   a write is visible before the effect of a later atomic step, or write to DRAM, is; and durable,
 *     if the step asks for it, before the answer is sent
 *
 * Tests: tests/unit/sim/device/steps_test.cpp, tests/crash/region_test.cpp
 */
#include "base/bytes.h"
#include "base/canary.h"
#include "base/differ.h"
#include "base/sum.h"
#include "sim/device/world.h"

struct sim_walk {
    struct rpmi_machine *machine;
    const struct rpmi_packet *packet;
};

static bool is_durable(const struct sim_walk *walk, const struct rpmi_step *step)
{
    return (step->flags & walk->packet->flags & RPMI_SIM_DURABLE) != 0;
}

static int locate(const struct sim_walk *walk, const struct rpmi_step *step,
                  struct rpmi_sim_address *address)
{
    static const uint32_t kinds[] = {
        [RPMI_STEP_READ] = RPMI_SIM_READ, [RPMI_STEP_WRITE] = RPMI_SIM_COPY,
        [RPMI_STEP_CAS] = RPMI_SIM_CAS,   [RPMI_STEP_FAA] = RPMI_SIM_FAA,
        [RPMI_STEP_SUM] = RPMI_SIM_READ,  [RPMI_STEP_COMPARE] = RPMI_SIM_READ,
    };
    bool ranged = step->kind == RPMI_STEP_SUM || step->kind == RPMI_STEP_COMPARE;
    struct rpmi_sim_access wanted = {
        .key = step->key,
        .rights = rpmi_kind_rights(kinds[step->kind]),
        .offset = step->offset,
        .len = ranged ? step->range : step->len,
    };

    return rpmi_machine_access(walk->packet->client, &wanted, address);
}

/* The other range of a COMPARE. */
static int locate_other(const struct sim_walk *walk, const struct rpmi_step *step,
                        struct rpmi_sim_address *address)
{
    struct rpmi_sim_access wanted = {
        .key = step->other_key,
        .rights = rpmi_kind_rights(RPMI_SIM_READ),
        .offset = step->other_offset,
        .len = step->range,
    };

    return rpmi_machine_access(walk->packet->client, &wanted, address);
}

static int check_access(void *context, const struct rpmi_step *step)
{
    struct rpmi_sim_address address;
    int err;

    if (step->kind == RPMI_STEP_PROVE || step->kind == RPMI_STEP_CARRY)
        return 0;
    if (step->kind == RPMI_STEP_WATCH)
        return RPM_E_NOCAP;
    err = locate(context, step, &address);
    if (err == 0 && step->kind == RPMI_STEP_COMPARE)
        err = locate_other(context, step, &address);
    return err;
}

static bool is_streamed(const struct sim_walk *walk, const struct rpmi_step *step,
                        const struct rpmi_sim_address *address)
{
    return walk->machine->world->preset.domain == RPM_DOMAIN_ADR &&
           address->place == RPMI_PLACE_POOL && is_durable(walk, step) &&
           (step->flags & RPMI_STEP_CACHED) == 0;
}

static uint64_t fetch_and_add(struct rpmi_machine *machine, const struct rpmi_sim_address *address,
                              uint64_t operand)
{
    unsigned char bytes[sizeof(uint64_t)];
    uint64_t found;
    uint64_t was;

    rpmi_sim_cpu_load(machine, address->place, address->offset, bytes, sizeof(bytes));
    found = rpmi_load64(bytes);
    do {
        was = found;
        found = rpmi_sim_cpu_cas(machine, address->place, address->offset, was, was + operand);
    } while (found != was && machine->running);
    return found;
}

static void write(const struct sim_walk *walk, const struct rpmi_step *step,
                  const struct rpmi_sim_address *address)
{
    if (is_streamed(walk, step, address))
        rpmi_sim_cpu_stream(walk->machine, address->offset, step->data, step->len);
    else
        rpmi_sim_cpu_store(walk->machine, address->place, address->offset, step->data, step->len);
}

static uint64_t sum(struct rpmi_machine *machine, const struct rpmi_step *step,
                    const struct rpmi_sim_address *address)
{
    const void *bytes = rpmi_sim_cpu_view(machine, address->place, address->offset, step->range);

    return rpmi_sum_seeded(bytes, step->range, step->operand);
}

static int compare(const struct sim_walk *walk, const struct rpmi_step *step,
                   const struct rpmi_sim_address *address, void *result)
{
    struct rpmi_machine *machine = walk->machine;
    struct rpmi_sim_address other = { 0 };
    int err = locate_other(walk, step, &other);
    const void *bytes;

    if (err != 0)
        return err;
    bytes = rpmi_sim_cpu_view(machine, address->place, address->offset, step->range);
    rpmi_store64(result,
                 rpmi_differ_at(bytes,
                                rpmi_sim_cpu_view(machine, other.place, other.offset, step->range),
                                step->range));
    return 0;
}

static int prove(const struct sim_walk *walk, const struct rpmi_step *step, void *result)
{
    struct rpmi_machine *machine = walk->machine;
    const struct rpmi_host *host = &machine->world->opts.host;
    bool durable = (walk->packet->flags & RPMI_SIM_DURABLE) != 0 &&
                   machine->world->preset.domain != RPM_DOMAIN_NONE;

    return host->prove(host->context, machine->index, step, durable ? RPM_DURABLE : RPM_VISIBLE,
                       result);
}

/* Store what an agent carries, if it may; a PROVE behind it makes that durable. */
static int carry(const struct sim_walk *walk, const struct rpmi_step *step)
{
    struct rpmi_machine *machine = walk->machine;
    const struct rpmi_host *host = &machine->world->opts.host;
    struct rpmi_sim_address address;

    if (host->carry(host->context, machine->index, walk->packet->client->id, step, &address) == 0)
        rpmi_sim_cpu_store(machine, address.place, address.offset, step->data, step->len);
    return machine->running ? 0 : RPM_E_IO;
}

static int carry_out_step(void *context, const struct rpmi_step *step, void *result)
{
    const struct sim_walk *walk = context;
    struct rpmi_machine *machine = walk->machine;
    struct rpmi_sim_address address = { 0 };
    bool atomic = step->kind == RPMI_STEP_CAS || step->kind == RPMI_STEP_FAA;
    int err;

    if (step->kind == RPMI_STEP_PROVE)
        return prove(walk, step, result);
    if (step->kind == RPMI_STEP_CARRY)
        return carry(walk, step);
    err = locate(walk, step, &address);
    if (err != 0)
        return err;
    if (machine->cpu.streams > 0 &&
        (atomic || (step->kind == RPMI_STEP_WRITE && address.place == RPMI_PLACE_DRAM)))
        (void)rpmi_sim_cpu_fence(machine);
    if (step->kind == RPMI_STEP_READ)
        rpmi_sim_cpu_load(machine, address.place, address.offset, result, step->len);
    else if (step->kind == RPMI_STEP_SUM)
        rpmi_store64(result, sum(machine, step, &address));
    else if (step->kind == RPMI_STEP_COMPARE)
        err = compare(walk, step, &address, result);
    else if (step->kind == RPMI_STEP_WRITE)
        write(walk, step, &address);
    else if (step->kind == RPMI_STEP_CAS)
        rpmi_store64(result, rpmi_sim_cpu_cas(machine, address.place, address.offset, step->expect,
                                              step->operand));
    else
        rpmi_store64(result, fetch_and_add(machine, &address, step->operand));
    return machine->running ? err : RPM_E_IO;
}

/* Empty the buffers of non-temporal stores; write cached stores back, range by range. */
static int drain(const struct sim_walk *walk, const void *list, uint32_t bytes, uint32_t done)
{
    struct rpmi_machine *machine = walk->machine;
    struct rpmi_steps steps;
    struct rpmi_step step;
    int err = 0;

    rpmi_steps_begin(&steps, list, bytes);
    while (err == 0 && rpmi_steps_next(&steps, &step) > 0 && steps.taken <= done) {
        struct rpmi_sim_address address = { 0 };

        if (step.kind != RPMI_STEP_WRITE || !is_durable(walk, &step))
            continue;
        err = locate(walk, &step, &address);
        if (err == 0 && !is_streamed(walk, &step, &address))
            err = rpmi_sim_cpu_persist(machine, address.place, address.offset, step.len);
    }
    if (err == 0 && machine->cpu.streams > 0 && !rpmi_sim_cpu_fence(machine))
        err = RPM_E_IO;
    return err;
}

int rpmi_sim_cpu_steps(struct rpmi_machine *machine, const struct rpmi_packet *packet)
{
    struct sim_walk walk = { .machine = machine, .packet = packet };
    struct rpmi_stepper stepper = { &walk, machine->cpu.steps, check_access, carry_out_step };
    const unsigned char *list = packet->client->list;
    unsigned char *answer = machine->cpu.answer;
    uint32_t done = 0;
    int err = rpmi_steps_walk(&stepper, list, packet->op_len, answer, packet->operand);

    if (err == 0)
        err = rpmi_steps_answer_get(answer, RPMI_STEPS_MAX, &done);
    if (err != 0 || RPMI_CANARY(EARLY_STEPS))
        return err;
    return drain(&walk, list, (uint32_t)packet->op_len, done);
}
