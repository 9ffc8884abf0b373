/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core.c: a core of the server that loads lines, or stores them with or without bypassing its
 * caches.
 *
 * It issues lines one by one, at a rate and with a number of outstanding lines that depend on the
 * kind of access. After each operation, or after a number of bytes, it waits for all of them:
 * loads, until the data has arrived; stores, until the controllers have accepted them and a fence
 * returns. The interval between two such waits is at least the measured one. Cached stores read the
 * line first; with a write-back that read overlaps with the fences of the operations before.
 *
 * Tests: tests/unit/sim/perf/core_test.cpp
 */
#include "sim/perf/cluster_model.h"
#include "sim/perf/server_model.h"

static bool is_store(const struct rpmi_core *core)
{
    return core->op_class->copy == RPM_COPY_STORE;
}

static bool is_clwb(const struct rpmi_core *core)
{
    return core->op_class->copy == RPM_COPY_CLWB;
}

static bool is_dram(const struct rpmi_core *core)
{
    return core->op_class->memory == RPM_LOAD_DRAM;
}

static uint64_t pace_ps(const struct rpmi_server_model *server, const struct rpmi_core *core)
{
    const struct rpmi_params *params = server->params;

    if (!core->writes)
        return params->read_line;
    if (is_store(core))
        return params->store_line;
    return is_clwb(core) ? params->clwb_line : params->stream_line;
}

/* From the issue of a line until the controller sees it, and again until a fence returns. */
static uint64_t half_ps(const struct rpmi_server_model *server, const struct rpmi_core *core)
{
    return (is_clwb(core) ? server->params->clwb_latency : server->params->stream_latency) / 2;
}

static bool can_issue(const struct rpmi_server_model *server, const struct rpmi_core *core)
{
    if (!core->writes)
        return core->under_way < server->params->reads_in_flight;
    return core->under_way < server->params->fill_buffers &&
           core->fills < server->params->fill_buffers;
}

static void arm(struct rpmi_server_model *server, struct rpmi_core *core, uint64_t at_ps)
{
    RPM_ASSERT(!core->armed);
    core->armed = true;
    rpmi_server_at(server, at_ps > server->now_ps ? at_ps : server->now_ps,
                   RPMI_PERF_EV_CORE_ACCESS, (uint32_t)(core - server->core), 0, 0);
}

/* Read the line that a store changes. */
static void fill(struct rpmi_server_model *server, struct rpmi_core *core, uint64_t line)
{
    uint32_t owner = RPMI_OWNER(RPMI_OWNER_FILL, core - server->core);

    core->fills++;
    if (RPMI_CANARY(MODEL_NO_OWNERSHIP))
        rpmi_server_at(server, server->now_ps, RPMI_PERF_EV_LINE_READ, 0, owner, line);
    else
        rpmi_server_memory_read(server, is_dram(core), line, owner, 0);
}

static void issue_write(struct rpmi_server_model *server, struct rpmi_core *core, uint64_t line)
{
    bool dram = is_dram(core);
    uint32_t index = (uint32_t)(core - server->core);

    if (is_store(core)) {
        if (rpmi_llc_has(&server->llc, line))
            return;
        fill(server, core, line);
        return;
    }
    if (rpmi_server_memory_needs_grant(server, dram) && !is_clwb(core)) {
        core->under_way++;
        rpmi_server_memory_read(server, dram, line, RPMI_OWNER(RPMI_OWNER_GRANT, index),
                                half_ps(server, core));
        return;
    }
    if (is_clwb(core)) {
        fill(server, core, line);
    } else if (rpmi_line_is_partial(line, core->begin, core->end) &&
               !RPMI_CANARY(MODEL_NO_PARTIAL_STREAM)) { /* the module reads it first */
        rpmi_server_memory_read(server, dram, line, RPMI_OWNER_NONE, half_ps(server, core));
    }
    core->under_way++;
    rpmi_server_memory_write(server, dram, line, RPMI_OWNER(RPMI_OWNER_CORE, index),
                             half_ps(server, core));
}

static void issue(struct rpmi_server_model *server, struct rpmi_core *core)
{
    bool dram = is_dram(core);

    if (core->writes) {
        issue_write(server, core, core->line);
    } else {
        core->under_way++;
        rpmi_server_memory_read(server, dram, core->line,
                                RPMI_OWNER(RPMI_OWNER_CORE, (uint32_t)(core - server->core)), 0);
    }
    core->line++;
    core->lines--;
    core->next_ps = server->now_ps + pace_ps(server, core);
}

/* Take a place among the writers_max cores that write to a module at a time. */
static bool place_taken(struct rpmi_server_model *server, struct rpmi_core *core)
{
    uint16_t module;

    if (server->load.writers_max == 0 || core->holds || !core->writes)
        return true;
    module = rpmi_server_memory_module(server, false, core->line)->number;
    if (server->writers[module] >= server->load.writers_max)
        return false;
    server->writers[module]++;
    core->module = module;
    core->holds = true;
    return true;
}

static void place_given(struct rpmi_server_model *server, struct rpmi_core *core)
{
    if (!core->holds)
        return;
    core->holds = false;
    server->writers[core->module]--;
    for (uint32_t i = 0; i < server->cores; i++) {
        struct rpmi_core *other =
            &server->core[((uint32_t)(core - server->core) + 1 + i) % server->cores];

        if (!other->idle || other->armed || other->lines == 0 ||
            rpmi_server_memory_module(server, false, other->line)->number != core->module)
            continue;
        other->idle = false;
        arm(server, other, server->now_ps);
        return;
    }
}

static void begin(struct rpmi_server_model *server, struct rpmi_core *core, uint64_t address,
                  uint64_t bytes)
{
    core->begin = address;
    core->end = address + bytes;
    core->line = address / RPMI_LINE_BYTES;
    core->lines = (core->end + RPMI_LINE_BYTES - 1) / RPMI_LINE_BYTES - core->line;
    core->start_ps = server->now_ps;
    core->over = false;
    if (core->unfenced == 0)
        core->first_ps = server->now_ps;
    core->unfenced += bytes;
}

static void begin_next(struct rpmi_server_model *server, struct rpmi_core *core)
{
    uint32_t index = (uint32_t)(core - server->core);

    core->writes = rpmi_load_writes(server);
    core->wrote = core->writes;
    begin(server, core, rpmi_load_address(server, index, core->writes),
          core->writes ? core->op_class->written : core->op_class->bytes);
}

/* Begin the next part of a call, without waiting for the part before. A swap by a core is a load,
 * since the word is then in its cache. */
static void begin_part(struct rpmi_server_model *server, struct rpmi_core *core, uint64_t address)
{
    core->writes = core->op_class->op == RPM_LOAD_WRITE;
    if (server->cluster == NULL)
        core->writes = server->slot[core->slot].write;
    core->wrote = core->wrote || core->writes;
    begin(server, core, address, core->writes ? core->op_class->written : core->op_class->bytes);
}

static bool next_part(struct rpmi_server_model *server, struct rpmi_core *core)
{
    if (core->slot == UINT32_MAX || core->op_classes == 0)
        return false;
    place_given(server, core);
    core->op_classes--;
    core->op_class++;
    begin_part(server, core, rpmi_cluster_address(server, core->slot, core->op_class));
    return true;
}

/* Does the core wait for its lines at the end of this operation? */
static bool fences(const struct rpmi_server_model *server, const struct rpmi_core *core)
{
    if (RPMI_CANARY(MODEL_NO_FENCE))
        return false;
    return core->slot != UINT32_MAX || core->unfenced >= server->load.fence_bytes;
}

/* Have all lines arrived that the end of the operation waits for? */
static bool settled(const struct rpmi_server_model *server, const struct rpmi_core *core)
{
    if (core->writes && is_store(core))
        return true;
    if (!fences(server, core))
        return true;
    return core->under_way == 0;
}

/* The least time from the first line since the last fence until the next operation begins. */
static uint64_t least_fence_ps(const struct rpmi_server_model *server, const struct rpmi_core *core)
{
    const struct rpmi_params *params = server->params;
    uint64_t lines = (core->unfenced + RPMI_LINE_BYTES - 1) / RPMI_LINE_BYTES;

    if (is_clwb(core))
        return params->clwb_fence;
    return params->stream_fence + (lines > 1 ? lines - 1 : 0) * params->stream_fence_line;
}

/* When the fence returns; @next_ps: the earliest time at which the next wait may end. */
static uint64_t fence_ps(struct rpmi_server_model *server, struct rpmi_core *core,
                         uint64_t *next_ps)
{
    uint64_t end_ps = server->now_ps;
    uint64_t least_ps = least_fence_ps(server, core);

    if (!fences(server, core)) {
        *next_ps = end_ps > core->next_ps ? end_ps : core->next_ps;
        return *next_ps; /* no wait: the operation is over when the core is free for the next */
    }
    core->unfenced = 0;
    *next_ps = end_ps;
    if (!core->wrote || is_store(core))
        return end_ps;
    end_ps += half_ps(server, core);
    if (RPMI_CANARY(MODEL_NO_FENCE_TIME))
        least_ps = 0;
    *next_ps = core->first_ps + least_ps > end_ps ? core->first_ps + least_ps : end_ps;
    return end_ps;
}

static void serve_next(struct rpmi_server_model *server, struct rpmi_core *core);

/* An operation's lines are done. */
static void end(struct rpmi_server_model *server, struct rpmi_core *core)
{
    uint64_t next_ps;
    uint64_t end_ps = fence_ps(server, core, &next_ps);

    place_given(server, core);
    if (core->slot != UINT32_MAX) {
        core->next_ps = end_ps + server->params->call_reply;
        rpmi_server_nic_reply(server, core->slot, core->next_ps - server->now_ps);
        if (core->next_ps < next_ps)
            core->next_ps = next_ps;
        core->slot = UINT32_MAX;
        serve_next(server, core);
        return;
    }
    rpmi_server_finish(server, core->start_ps, end_ps);
    core->lines = 0;
    core->over = true;
    if (next_ps < core->start_ps + server->load.interval_ps)
        next_ps = core->start_ps + server->load.interval_ps;
    arm(server, core, next_ps);
}

static void step(struct rpmi_server_model *server, struct rpmi_core *core)
{
    if (core->armed || core->idle)
        return;
    while (core->lines > 0 || next_part(server, core)) {
        if (!place_taken(server, core)) {
            core->idle = true;
            return;
        }
        if (!can_issue(server, core))
            return;
        if (core->next_ps > server->now_ps) {
            arm(server, core, core->next_ps);
            return;
        }
        issue(server, core);
    }
    if (settled(server, core))
        end(server, core);
}

void rpmi_server_core_event(struct rpmi_server_model *server, uint32_t index)
{
    struct rpmi_core *core = &server->core[index];

    RPM_ASSERT(core->armed && index < server->cores);
    core->armed = false;
    if (server->load.by == RPM_BY_CORE && core->over)
        begin_next(server, core);
    else if (server->load.by == RPM_BY_CALL && core->over) {
        const struct rpmi_slot_op *op = &server->slot[core->slot];

        core->op_class = op->op_class;
        core->op_classes = op->op_classes - 1;
        core->wrote = false;
        core->unfenced = 0;
        begin_part(server, core, op->address);
    }
    step(server, core);
}

void rpmi_server_core_line(struct rpmi_server_model *server, uint32_t index)
{
    struct rpmi_core *core = &server->core[index];

    RPM_ASSERT(core->under_way > 0);
    core->under_way--;
    step(server, core);
}

/* The other socket grants the core a line of the pool to stream, which now crosses the link. */
void rpmi_server_core_granted(struct rpmi_server_model *server, uint32_t index, uint64_t line)
{
    rpmi_server_memory_write(server, false, line, RPMI_OWNER(RPMI_OWNER_CORE, index), 0);
}

/* The line of a cached store has arrived: it enters the cache, and the evicted line goes to its
 * module. */
void rpmi_server_core_filled(struct rpmi_server_model *server, uint32_t index, uint64_t line)
{
    struct rpmi_core *core = &server->core[index];
    uint64_t old = UINT64_MAX;

    if (is_store(core) && !rpmi_llc_has(&server->llc, line)) /* two stores may have missed it */
        old = rpmi_llc_fill(&server->llc, line, &server->rng);
    if (old != UINT64_MAX) {
        rpmi_server_memory_write(server, is_dram(core), old, RPMI_OWNER(RPMI_OWNER_VICTIM, index),
                                 0);
        return;
    }
    RPM_ASSERT(core->fills > 0);
    core->fills--;
    step(server, core);
}

void rpmi_server_core_evicted(struct rpmi_server_model *server, uint32_t index)
{
    struct rpmi_core *core = &server->core[index];

    RPM_ASSERT(core->fills > 0);
    core->fills--;
    step(server, core);
}

/* Begin a call: the core reads the message and its notice from the cache, or from DRAM. */
static void take_up(struct rpmi_server_model *server, struct rpmi_core *core, uint32_t slot)
{
    const struct rpmi_params *params = server->params;
    bool cached = server->ddio || RPMI_CANARY(MODEL_CALL_FROM_CACHE);
    uint64_t load_ps = cached ? params->llc_latency : params->dram_latency;
    const struct rpmi_slot_op *op = &server->slot[slot];
    uint64_t bytes = rpmi_load_call_bytes(op) - (op->write ? RPMI_LINE_BYTES : 0);
    uint64_t at_ps = core->next_ps > server->now_ps ? core->next_ps : server->now_ps;

    core->slot = slot;
    core->idle = false;
    core->over = true; /* begins with its next event */
    at_ps += 2 * load_ps + (bytes / RPMI_LINE_BYTES) * params->read_line + params->call_work;
    core->next_ps = at_ps;
    arm(server, core, at_ps);
}

static void serve_next(struct rpmi_server_model *server, struct rpmi_core *core)
{
    core->idle = true;
    if (server->calls.count > 0)
        take_up(server, core, rpmi_fifo_pop(&server->calls));
}

void rpmi_server_core_call(struct rpmi_server_model *server, uint32_t slot)
{
    for (uint32_t i = 0; i < server->cores; i++) {
        struct rpmi_core *core = &server->core[i];

        if (core->idle && core->slot == UINT32_MAX) {
            take_up(server, core, slot);
            return;
        }
    }
    rpmi_fifo_push(&server->calls, slot);
}

void rpmi_server_core_start(struct rpmi_server_model *server)
{
    bool calls = server->load.by == RPM_BY_CALL;

    server->cores = calls                            ? server->load.cores
                    : server->load.by == RPM_BY_CORE ? server->load.threads
                                                     : 0;
    for (uint32_t i = 0; i < server->cores; i++) {
        struct rpmi_core *core = &server->core[i];

        core->slot = UINT32_MAX;
        core->op_class = &server->op_class;
        core->idle = calls;
        core->over = true;
        if (!calls) /* not all at once */
            arm(server, core, rpmi_rng_below(&server->rng, rpmi_load_stagger_ps(server)));
    }
}
