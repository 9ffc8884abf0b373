/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core.c: a core of the server that loads, streams, or stores lines.
 *
 * It issues one line after another, at the pace of its kind and with so many under way. After each
 * operation, or after a number of bytes, it waits for all of them: loads, until the data is there;
 * stores, until the controllers have accepted them and a fence returns. Two such waits are no
 * closer together than a core was measured to manage. Cached stores read the line first; with a
 * write-back that read overlaps with the fences of the operations before.
 *
 * Tests: tests/unit/sim/cost/core_test.cpp
 */
#include "sim/cost/play.h"
#include "sim/cost/rig.h"

static bool is_store(const struct rpmi_core *core)
{
    return core->work->copy == RPM_COPY_STORE;
}

static bool is_clwb(const struct rpmi_core *core)
{
    return core->work->copy == RPM_COPY_CLWB;
}

static bool is_dram(const struct rpmi_core *core)
{
    return core->work->memory == RPM_LOAD_DRAM;
}

static uint64_t pace_ps(const struct rpmi_rig *rig, const struct rpmi_core *core)
{
    const struct rpmi_params *params = rig->params;

    if (!core->writes)
        return params->read_line;
    if (is_store(core))
        return params->store_line;
    return is_clwb(core) ? params->clwb_line : params->stream_line;
}

/* From the issue of a line until the controller sees it, and again until a fence returns. */
static uint64_t half_ps(const struct rpmi_rig *rig, const struct rpmi_core *core)
{
    return (is_clwb(core) ? rig->params->clwb_latency : rig->params->stream_latency) / 2;
}

static bool can_issue(const struct rpmi_rig *rig, const struct rpmi_core *core)
{
    if (!core->writes)
        return core->under_way < rig->params->reads_in_flight;
    return core->under_way < rig->params->fill_buffers && core->fills < rig->params->fill_buffers;
}

static void arm(struct rpmi_rig *rig, struct rpmi_core *core, uint64_t at_ps)
{
    RPM_ASSERT(!core->armed);
    core->armed = true;
    rpmi_rig_at(rig, at_ps > rig->now_ps ? at_ps : rig->now_ps, RPMI_RIG_CORE,
                (uint32_t)(core - rig->core), 0, 0);
}

static void issue_write(struct rpmi_rig *rig, struct rpmi_core *core, uint64_t line)
{
    bool dram = is_dram(core);
    uint32_t index = (uint32_t)(core - rig->core);

    if (is_store(core)) {
        if (rpmi_llc_has(&rig->llc, line))
            return;
        core->fills++;
        rpmi_rig_memory_read(rig, dram, line, RPMI_OWNER(RPMI_OWNER_FILL, index), 0);
        return;
    }
    if (is_clwb(core)) {
        core->fills++;
        rpmi_rig_memory_read(rig, dram, line, RPMI_OWNER(RPMI_OWNER_FILL, index), 0);
    } else if (rpmi_line_is_partial(line, core->begin, core->end)) { /* the module reads it first */
        rpmi_rig_memory_read(rig, dram, line, RPMI_OWNER_NONE, half_ps(rig, core));
    }
    core->under_way++;
    rpmi_rig_memory_write(rig, dram, line, RPMI_OWNER(RPMI_OWNER_CORE, index), half_ps(rig, core));
}

static void issue(struct rpmi_rig *rig, struct rpmi_core *core)
{
    bool dram = is_dram(core);

    if (core->writes) {
        issue_write(rig, core, core->line);
    } else {
        core->under_way++;
        rpmi_rig_memory_read(rig, dram, core->line,
                             RPMI_OWNER(RPMI_OWNER_CORE, (uint32_t)(core - rig->core)), 0);
    }
    core->line++;
    core->lines--;
    core->next_ps = rig->now_ps + pace_ps(rig, core);
}

/* A place among those that stream to a module at a time. */
static bool place_taken(struct rpmi_rig *rig, struct rpmi_core *core)
{
    uint16_t module;

    if (rig->load.writers_max == 0 || core->holds || !core->writes)
        return true;
    module = rpmi_rig_memory_module(rig, false, core->line)->number;
    if (rig->writers[module] >= rig->load.writers_max)
        return false;
    rig->writers[module]++;
    core->module = module;
    core->holds = true;
    return true;
}

static void place_given(struct rpmi_rig *rig, struct rpmi_core *core)
{
    if (!core->holds)
        return;
    core->holds = false;
    rig->writers[core->module]--;
    for (uint32_t i = 0; i < rig->cores; i++) {
        struct rpmi_core *other = &rig->core[((uint32_t)(core - rig->core) + 1 + i) % rig->cores];

        if (!other->idle || other->armed || other->lines == 0 ||
            rpmi_rig_memory_module(rig, false, other->line)->number != core->module)
            continue;
        other->idle = false;
        arm(rig, other, rig->now_ps);
        return;
    }
}

static void begin(struct rpmi_rig *rig, struct rpmi_core *core, uint64_t address, uint64_t bytes)
{
    core->begin = address;
    core->end = address + bytes;
    core->line = address / RPMI_LINE_BYTES;
    core->lines = (core->end + RPMI_LINE_BYTES - 1) / RPMI_LINE_BYTES - core->line;
    core->start_ps = rig->now_ps;
    core->over = false;
    if (core->unfenced == 0)
        core->first_ps = rig->now_ps;
    core->unfenced += bytes;
}

static void begin_next(struct rpmi_rig *rig, struct rpmi_core *core)
{
    uint32_t index = (uint32_t)(core - rig->core);
    uint64_t address = rpmi_load_address(rig, index);

    core->writes = rpmi_load_writes(rig);
    core->wrote = core->writes;
    begin(rig, core, address, core->writes ? core->work->written : core->work->bytes);
}

/* Part after part of a call, without waiting for the one before. A swap of a core is a load: the
 * word is in its cache then. */
static void begin_part(struct rpmi_rig *rig, struct rpmi_core *core, uint64_t address)
{
    core->writes = core->work->op == RPM_LOAD_WRITE;
    if (rig->play == NULL)
        core->writes = rig->slot[core->slot].write;
    core->wrote = core->wrote || core->writes;
    begin(rig, core, address, core->writes ? core->work->written : core->work->bytes);
}

static bool next_part(struct rpmi_rig *rig, struct rpmi_core *core)
{
    if (core->slot == UINT32_MAX || core->works == 0)
        return false;
    place_given(rig, core);
    core->works--;
    core->work++;
    begin_part(rig, core, rpmi_play_address(rig, core->slot, core->work));
    return true;
}

/* Is everything there that the operation's end waits for? */
static bool settled(const struct rpmi_rig *rig, const struct rpmi_core *core)
{
    if (core->writes && is_store(core))
        return true;
    if (core->slot == UINT32_MAX && core->unfenced < rig->load.fence_bytes)
        return true;
    return core->under_way == 0;
}

/* When the fence returns, and when the next wait may be over at the earliest. */
static uint64_t fence_ps(struct rpmi_rig *rig, struct rpmi_core *core, uint64_t *next_ps)
{
    uint64_t end_ps = rig->now_ps;
    uint64_t least_ps = is_clwb(core) ? rig->params->clwb_fence : rig->params->stream_fence;

    if (core->slot == UINT32_MAX && core->unfenced < rig->load.fence_bytes) {
        *next_ps = end_ps > core->next_ps ? end_ps : core->next_ps;
        return *next_ps; /* nothing is waited for: over when the core is free for the next */
    }
    core->unfenced = 0;
    *next_ps = end_ps;
    if (!core->wrote || is_store(core))
        return end_ps;
    end_ps += half_ps(rig, core);
    *next_ps = core->first_ps + least_ps > end_ps ? core->first_ps + least_ps : end_ps;
    return end_ps;
}

static void serve_next(struct rpmi_rig *rig, struct rpmi_core *core);

/* An operation's lines are done. */
static void end(struct rpmi_rig *rig, struct rpmi_core *core)
{
    uint64_t next_ps;
    uint64_t end_ps = fence_ps(rig, core, &next_ps);

    place_given(rig, core);
    if (core->slot != UINT32_MAX) {
        core->next_ps = end_ps + rig->params->call_reply;
        rpmi_rig_client_reply(rig, core->slot, core->next_ps - rig->now_ps);
        if (core->next_ps < next_ps)
            core->next_ps = next_ps;
        core->slot = UINT32_MAX;
        serve_next(rig, core);
        return;
    }
    rpmi_rig_finish(rig, core->start_ps, end_ps);
    core->lines = 0;
    core->over = true;
    arm(rig, core, next_ps);
}

static void step(struct rpmi_rig *rig, struct rpmi_core *core)
{
    if (core->armed || core->idle)
        return;
    while (core->lines > 0 || next_part(rig, core)) {
        if (!place_taken(rig, core)) {
            core->idle = true;
            return;
        }
        if (!can_issue(rig, core))
            return;
        if (core->next_ps > rig->now_ps) {
            arm(rig, core, core->next_ps);
            return;
        }
        issue(rig, core);
    }
    if (settled(rig, core))
        end(rig, core);
}

void rpmi_rig_core_event(struct rpmi_rig *rig, uint32_t index)
{
    struct rpmi_core *core = &rig->core[index];

    RPM_ASSERT(core->armed && index < rig->cores);
    core->armed = false;
    if (rig->load.by == RPM_BY_CORE && core->over)
        begin_next(rig, core);
    else if (rig->load.by == RPM_BY_CALL && core->over) {
        const struct rpmi_slot_op *op = &rig->slot[core->slot];

        core->work = op->work;
        core->works = op->works - 1;
        core->wrote = false;
        core->unfenced = 0;
        begin_part(rig, core, op->address);
    }
    step(rig, core);
}

void rpmi_rig_core_line(struct rpmi_rig *rig, uint32_t index)
{
    struct rpmi_core *core = &rig->core[index];

    RPM_ASSERT(core->under_way > 0);
    core->under_way--;
    step(rig, core);
}

/* A cached store's line is there: it enters the cache, and what goes for it must find its place. */
void rpmi_rig_core_filled(struct rpmi_rig *rig, uint32_t index, uint64_t line)
{
    struct rpmi_core *core = &rig->core[index];
    uint64_t old = UINT64_MAX;

    if (is_store(core) && !rpmi_llc_has(&rig->llc, line)) /* two stores may have missed it */
        old = rpmi_llc_fill(&rig->llc, line, &rig->rng);
    if (old != UINT64_MAX) {
        rpmi_rig_memory_write(rig, is_dram(core), old, RPMI_OWNER(RPMI_OWNER_VICTIM, index), 0);
        return;
    }
    RPM_ASSERT(core->fills > 0);
    core->fills--;
    step(rig, core);
}

void rpmi_rig_core_evicted(struct rpmi_rig *rig, uint32_t index)
{
    struct rpmi_core *core = &rig->core[index];

    RPM_ASSERT(core->fills > 0);
    core->fills--;
    step(rig, core);
}

/* Calls: the message and its notice are read from the cache, or from DRAM. */
static void take_up(struct rpmi_rig *rig, struct rpmi_core *core, uint32_t slot)
{
    const struct rpmi_params *params = rig->params;
    uint64_t load_ps = rig->ddio ? params->llc_latency : params->dram_latency;
    const struct rpmi_slot_op *op = &rig->slot[slot];
    uint64_t bytes = rpmi_rig_client_call_bytes(rig, slot) - (op->write ? RPMI_LINE_BYTES : 0);
    uint64_t at_ps = core->next_ps > rig->now_ps ? core->next_ps : rig->now_ps;

    core->slot = slot;
    core->idle = false;
    core->over = true; /* begins with its next event */
    at_ps += 2 * load_ps + (bytes / RPMI_LINE_BYTES) * params->read_line + params->call_work;
    core->next_ps = at_ps;
    arm(rig, core, at_ps);
}

static void serve_next(struct rpmi_rig *rig, struct rpmi_core *core)
{
    core->idle = true;
    if (rig->calls.count > 0)
        take_up(rig, core, rpmi_fifo_pop(&rig->calls));
}

void rpmi_rig_core_call(struct rpmi_rig *rig, uint32_t slot)
{
    for (uint32_t i = 0; i < rig->cores; i++) {
        struct rpmi_core *core = &rig->core[i];

        if (core->idle && core->slot == UINT32_MAX) {
            take_up(rig, core, slot);
            return;
        }
    }
    rpmi_fifo_push(&rig->calls, slot);
}

void rpmi_rig_core_start(struct rpmi_rig *rig)
{
    bool calls = rig->load.by == RPM_BY_CALL;

    rig->cores = calls ? rig->load.cores : rig->load.by == RPM_BY_CORE ? rig->load.threads : 0;
    for (uint32_t i = 0; i < rig->cores; i++) {
        struct rpmi_core *core = &rig->core[i];

        core->slot = UINT32_MAX;
        core->work = &rig->work;
        core->idle = calls;
        core->over = true;
        if (!calls) /* not all in the same picosecond */
            arm(rig, core, rpmi_rng_below(&rig->rng, 1000000));
    }
}
