/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * path.c: runs flows and chains on a server with a DPU, event by event. An event is a part, a
 * message or a chunk, that reaches the next hop of its route.
 *
 * Invariants
 *   a part is at one hop; a lane has one message; a slot has one operation
 *   memory is taken before the first event
 *
 * Tests: tests/unit/sim/path/path_test.cpp
 */
#include "sim/path/path_model.h"

#include "base/err.h"
#include "base/mem.h"

#include <librpm/error.h>
#include <string.h>

#define CHUNK(paths) ((uint32_t)(paths)->params->pcie_payload)

static void reach(struct rpmi_paths *paths, const struct rpmi_path_part *part, uint64_t at_ps)
{
    uint32_t number;

    RPM_ASSERT(paths->free_parts > 0);
    number = paths->free_part[--paths->free_parts];
    paths->part[number] = *part;
    rpmi_queue_push(&paths->queue, &(struct rpmi_event){ .at = at_ps, .arg = number });
}

/* The part goes on to the next hop at @at_ps. */
static void next(struct rpmi_paths *paths, const struct rpmi_path_part *part, uint64_t at_ps)
{
    struct rpmi_path_part on = *part;

    on.hop++;
    reach(paths, &on, at_ps);
}

static struct rpmi_flow *flow_of(struct rpmi_paths *paths, uint32_t lane)
{
    return &paths->flow[paths->slot[paths->lane[lane].slot].flow];
}

static void start_message(struct rpmi_paths *paths, uint32_t number, uint64_t at_ps)
{
    struct rpmi_lane *lane = &paths->lane[number];
    struct rpmi_path_slot *slot = &paths->slot[lane->slot];
    struct rpmi_flow *flow = &paths->flow[slot->flow];
    uint64_t rest = flow->is.bytes - slot->posted;
    uint32_t most = rpmi_flow_message_max(&flow->is);
    struct rpmi_path_part part = { .lane = number, .address = slot->address + slot->posted };

    if (rest == 0)
        return;
    part.bytes = rest < most ? (uint32_t)rest : most;
    lane->bytes = part.bytes;
    lane->left = part.bytes;
    slot->posted += part.bytes;
    reach(paths, &part, at_ps);
}

static void start_flow_op(struct rpmi_paths *paths, uint32_t number, uint64_t at_ps)
{
    struct rpmi_path_slot *slot = &paths->slot[number];
    struct rpmi_flow *flow = &paths->flow[slot->flow];
    uint64_t places = (flow->is.range_bytes - flow->is.bytes) / RPMI_PATH_ALIGN + 1;
    uint32_t lane = flow->first_lane + (number - flow->first_slot) * flow->lanes_each;

    slot->address = rpmi_rng_below(&paths->rng, places) * RPMI_PATH_ALIGN;
    slot->posted = 0;
    slot->left = flow->is.bytes;
    for (uint32_t i = 0; i < flow->lanes_each; i++)
        start_message(paths, lane + i, at_ps);
}

static void start_chain(struct rpmi_paths *paths, uint32_t number, uint64_t at_ps)
{
    struct rpmi_path_slot *slot = &paths->slot[number];
    struct rpmi_flow *flow = &paths->flow[slot->flow];
    uint32_t lane = flow->first_lane + (number - flow->first_slot);
    struct rpmi_path_part part = { .lane = lane, .bytes = 1 };

    rpmi_chain_choose(flow, &slot->pick);
    part.hop = flow->first_hop[slot->pick.alternative];
    slot->phase = 0;
    slot->waits = false;
    slot->step_ps = at_ps;
    slot->moved = 0;
    memset(slot->phase_ps, 0, sizeof(slot->phase_ps));
    memset(slot->busy_ps, 0, sizeof(slot->busy_ps));
    reach(paths, &part, at_ps);
}

/* The slot's next operation starts now, or as the flow's interval allows. */
static void start_op(struct rpmi_paths *paths, uint32_t number)
{
    struct rpmi_path_slot *slot = &paths->slot[number];
    struct rpmi_flow *flow = &paths->flow[slot->flow];
    uint64_t *next_ps = &flow->next_start_ps[slot->thread];
    uint64_t at_ps = *next_ps > paths->now_ps ? *next_ps : paths->now_ps;

    *next_ps = at_ps + flow->is.interval_ps;
    slot->start_ps = at_ps;
    if (flow->chains > 0)
        start_chain(paths, number, at_ps);
    else
        start_flow_op(paths, number, at_ps);
}

static void end_step(struct rpmi_paths *paths, struct rpmi_path_slot *slot)
{
    uint64_t took_ps = paths->now_ps - slot->step_ps;

    slot->phase_ps[slot->phase] += took_ps;
    if (slot->waits)
        slot->busy_ps[RPMI_WORKER_THREAD] += took_ps;
    slot->step_ps = paths->now_ps;
}

static void begin_step(struct rpmi_paths *paths, const struct rpmi_path_part *part,
                       const struct rpmi_hop *hop)
{
    struct rpmi_lane *lane = &paths->lane[part->lane];
    struct rpmi_path_slot *slot = &paths->slot[lane->slot];
    struct rpmi_path_part message = *part;
    uint64_t places = (hop->rate - hop->payload) / RPMI_PATH_ALIGN + 1;

    end_step(paths, slot);
    slot->phase = hop->station;
    slot->waits = hop->to != 0;
    slot->moved += hop->payload;
    slot->left = hop->payload;
    lane->bytes = (uint32_t)hop->payload;
    lane->left = lane->bytes;
    message.bytes = lane->bytes;
    message.address = rpmi_rng_below(&paths->rng, places) * RPMI_PATH_ALIGN;
    next(paths, &message, paths->now_ps);
}

/* After the warm-up all flows are measured; true when each has been. */
static bool enough(struct rpmi_paths *paths)
{
    bool all = true;

    for (uint32_t i = 0; i < paths->flows; i++) {
        const struct rpmi_flow *flow = &paths->flow[i];
        uint64_t slots = (uint64_t)flow->is.threads * flow->is.depth;
        uint64_t warm = 2 * slots > flow->is.ops / 4 ? 2 * slots : flow->is.ops / 4;

        all = all && (paths->measuring ? flow->measured >= flow->is.ops : flow->finished >= warm);
    }
    if (!all || paths->measuring)
        return all;
    paths->measuring = true;
    paths->begin_ps = paths->now_ps;
    return false;
}

static void done(struct rpmi_paths *paths, const struct rpmi_path_part *part)
{
    uint32_t number = paths->lane[part->lane].slot;
    struct rpmi_path_slot *slot = &paths->slot[number];
    struct rpmi_flow *flow = &paths->flow[slot->flow];

    RPM_ASSERT(slot->left >= part->bytes && part->bytes == paths->lane[part->lane].bytes);
    slot->left -= part->bytes;
    if (slot->left > 0) {
        start_message(paths, part->lane, paths->now_ps);
        return;
    }
    if (flow->chains > 0) {
        end_step(paths, slot);
        rpmi_chain_ended(flow, slot, paths->now_ps - slot->start_ps, paths->measuring);
    }
    if (paths->measuring) {
        if (flow->measured < flow->is.ops)
            flow->latency_ps[flow->measured] = paths->now_ps - slot->start_ps;
        flow->measured++;
    }
    flow->finished++;
    start_op(paths, number);
}

static void split(struct rpmi_paths *paths, const struct rpmi_path_part *part)
{
    uint64_t end = part->address + part->bytes;
    struct rpmi_path_part chunk = *part;

    paths->lane[part->lane].left = part->bytes;
    while (chunk.address < end) {
        uint64_t rest = end - chunk.address;

        chunk.bytes = rest < CHUNK(paths) ? (uint32_t)rest : CHUNK(paths);
        next(paths, &chunk, paths->now_ps);
        chunk.address += chunk.bytes;
    }
}

/* The whole message goes on at hop @to when its last chunk has come. */
static void gather(struct rpmi_paths *paths, const struct rpmi_path_part *chunk, uint32_t to)
{
    struct rpmi_lane *lane = &paths->lane[chunk->lane];
    struct rpmi_path_part message = { .lane = chunk->lane, .hop = to, .bytes = lane->bytes };

    RPM_ASSERT(lane->left >= chunk->bytes);
    lane->left -= chunk->bytes;
    if (lane->left == 0)
        reach(paths, &message, paths->now_ps);
}

static void take(struct rpmi_paths *paths, const struct rpmi_path_part *part,
                 const struct rpmi_hop *hop)
{
    struct rpmi_pool *pool = &paths->pool[hop->station];
    uint64_t share = rpmi_station_share(hop, part->bytes);

    if (pool->count == 0 && pool->taken + share <= pool->room) {
        pool->taken += share;
        next(paths, part, paths->now_ps);
        return;
    }
    RPM_ASSERT(pool->count < pool->ring);
    pool->waiting[(pool->head + pool->count++) % pool->ring] = *part;
}

/* Those that wait go on in the order in which they came. */
static void give(struct rpmi_paths *paths, const struct rpmi_path_part *part,
                 const struct rpmi_hop *hop)
{
    struct rpmi_pool *pool = &paths->pool[hop->station];
    uint64_t share = rpmi_station_share(hop, part->bytes);

    RPM_ASSERT(pool->taken >= share);
    pool->taken -= share;
    next(paths, part, paths->now_ps);
    while (pool->count > 0) {
        const struct rpmi_path_part *first = &pool->waiting[pool->head];
        const struct rpmi_flow *flow = flow_of(paths, first->lane);

        share = rpmi_station_share(&flow->route.hop[first->hop], first->bytes);
        if (pool->taken + share > pool->room)
            return;
        pool->taken += share;
        next(paths, first, paths->now_ps);
        pool->head = (pool->head + 1) % pool->ring;
        pool->count--;
    }
}

static uint64_t cross(struct rpmi_paths *paths, const struct rpmi_path_part *part,
                      const struct rpmi_hop *hop)
{
    struct rpmi_flow *flow = flow_of(paths, part->lane);
    /* A payload that is placed after its acknowledgement may find its lane in use again. */
    uint64_t message = hop->ps == 0 ? part->bytes : paths->lane[part->lane].bytes;
    uint64_t busy_ps = rpmi_station_busy_ps(paths->params, hop, part->bytes, message);

    if (paths->measuring) {
        bool pcie1 = hop->station == RPMI_PCIE1_TO_NIC || hop->station == RPMI_PCIE1_FROM_NIC;
        bool pcie0 = hop->station == RPMI_PCIE0_TO_HOST || hop->station == RPMI_PCIE0_FROM_HOST;

        flow->pcie_bytes[0] += pcie0 ? part->bytes : 0;
        flow->pcie_bytes[1] += pcie1 ? part->bytes : 0;
    }
    return rpmi_station_pass(&paths->wire[hop->station], paths->now_ps, busy_ps);
}

/* When the message leaves a thread, unit or core. */
static uint64_t handled(struct rpmi_paths *paths, const struct rpmi_path_part *part,
                        const struct rpmi_hop *hop)
{
    const struct rpmi_params *params = paths->params;
    struct rpmi_flow *flow = flow_of(paths, part->lane);
    struct rpmi_path_slot *slot = &paths->slot[paths->lane[part->lane].slot];

    if (hop->kind == RPMI_HOP_UNIT)
        return rpmi_station_unit(paths, hop->station == 1, hop->ps);
    slot->busy_ps[hop->kind == RPMI_HOP_POST ? RPMI_WORKER_THREAD : hop->station] += hop->ps;
    if (hop->kind == RPMI_HOP_POST)
        return rpmi_station_pass(&flow->thread[slot->thread], paths->now_ps, hop->ps);
    return rpmi_station_any(paths->core[hop->station],
                            (uint32_t)(hop->station == 1 ? params->soc_cores : params->host_cores),
                            paths->now_ps, hop->ps);
}

static void dispatch(struct rpmi_paths *paths, const struct rpmi_path_part *part)
{
    const struct rpmi_hop *hop = &flow_of(paths, part->lane)->route.hop[part->hop];

    switch (hop->kind) {
    case RPMI_HOP_STEP:
        begin_step(paths, part, hop);
        return;
    case RPMI_HOP_DELAY:
        next(paths, part, paths->now_ps + hop->ps);
        return;
    case RPMI_HOP_POST:
    case RPMI_HOP_UNIT:
    case RPMI_HOP_CORE:
        next(paths, part, handled(paths, part, hop));
        return;
    case RPMI_HOP_SPLIT:
        split(paths, part);
        return;
    case RPMI_HOP_WIRE:
        next(paths, part, cross(paths, part, hop));
        return;
    case RPMI_HOP_MEMORY:
        next(paths, part, rpmi_station_memory(paths, part->address, part->bytes) - hop->ps);
        return;
    case RPMI_HOP_TAKE:
        take(paths, part, hop);
        return;
    case RPMI_HOP_GIVE:
        give(paths, part, hop);
        return;
    case RPMI_HOP_BRANCH:
        gather(paths, part, hop->to);
        next(paths, part, paths->now_ps);
        return;
    case RPMI_HOP_JOIN:
        gather(paths, part, part->hop + 1);
        return;
    case RPMI_HOP_DONE:
        done(paths, part);
        return;
    case RPMI_HOP_END:
        return;
    }
    RPM_ASSERT(false);
}

static uint64_t count_chunks(const struct rpmi_paths *paths, const struct rpmi_flow *flow)
{
    uint64_t each = (rpmi_flow_message_max(&flow->is) + CHUNK(paths) - 1) / CHUNK(paths) + 1;

    return each * flow->is.pieces * flow->is.depth * flow->is.threads;
}

/* Room for all parts that can be under way: chunks of each message, and payloads in the NIC's
 * buffer whose operations have ended. */
static int reserve(struct rpmi_paths *paths)
{
    uint64_t parts = paths->params->nic_buffer / 64 + 64;
    uint32_t slots = 0;
    uint32_t lanes = 0;

    for (uint32_t i = 0; i < paths->flows; i++) {
        const struct rpmi_flow *flow = &paths->flow[i];

        parts += count_chunks(paths, flow);
        slots += flow->is.threads * flow->is.depth;
        lanes += flow->is.threads * flow->is.depth * flow->lanes_each;
    }
    if (parts > RPMI_PATH_CHUNKS_MAX)
        return rpmi_fail(RPM_E_INVAL,
                         "all flows together have %llu transactions outstanding, the maximum is "
                         "%u: reduce bytes, threads or depth",
                         (unsigned long long)parts, RPMI_PATH_CHUNKS_MAX);
    paths->lane = rpmi_alloc(lanes * sizeof(*paths->lane), 64);
    paths->slot = rpmi_alloc(slots * sizeof(*paths->slot), 64);
    paths->part = rpmi_alloc(parts * sizeof(*paths->part), 64);
    paths->free_part = rpmi_alloc(parts * sizeof(*paths->free_part), 64);
    for (uint32_t i = 0; i < RPMI_PATH_POOLS; i++) {
        paths->pool[i].waiting = rpmi_alloc(parts * sizeof(*paths->pool[i].waiting), 64);
        paths->pool[i].ring = (uint32_t)parts;
        if (paths->pool[i].waiting == NULL)
            return RPM_E_NOMEM;
    }
    if (paths->lane == NULL || paths->slot == NULL || paths->part == NULL ||
        paths->free_part == NULL)
        return RPM_E_NOMEM;
    for (uint32_t i = 0; i < parts; i++)
        paths->free_part[paths->free_parts++] = i;
    return rpmi_queue_reserve(&paths->queue, (uint32_t)parts);
}

static void fill_in(struct rpmi_paths *paths)
{
    uint32_t lane = 0;
    uint32_t slot = 0;

    for (uint32_t i = 0; i < paths->flows; i++) {
        struct rpmi_flow *flow = &paths->flow[i];

        flow->first_lane = lane;
        flow->first_slot = slot;
        for (uint32_t k = 0; k < flow->is.threads * flow->is.depth; k++, slot++) {
            paths->slot[slot].flow = i;
            paths->slot[slot].thread = k % flow->is.threads;
            for (uint32_t l = 0; l < flow->lanes_each; l++)
                paths->lane[lane++].slot = slot;
        }
    }
    for (uint32_t i = 0; i < slot; i++)
        start_op(paths, i);
}

static int count_of(uint32_t count, const void *first, const char *noun)
{
    if (count == 0 || count > RPMI_PATH_FLOWS || first == NULL)
        return rpmi_fail(RPM_E_INVAL, "%u %s, there must be 1 to %u", count, noun, RPMI_PATH_FLOWS);
    return 0;
}

static int open_flow(struct rpmi_paths *paths, uint32_t number, const struct rpm_path_flow *theirs)
{
    struct rpmi_flow *flow = &paths->flow[number];
    int err = rpmi_flow_check(paths->params, number, theirs, &flow->is);

    if (err == 0)
        err = rpmi_route_make(paths->params, &flow->is, &flow->route);
    if (err == 0)
        err = rpmi_flow_open(flow);
    return err;
}

static int open_flows(struct rpmi_paths *paths, const struct rpm_path_load *load)
{
    int err = count_of(load->count, load->flows, "flows");

    paths->flows = load->count;
    for (uint32_t i = 0; i < load->count && err == 0; i++)
        err = open_flow(paths, i, &load->flows[i]);
    return err;
}

static int open_chains(struct rpmi_paths *paths, const struct rpm_chain_load *load)
{
    int err = count_of(load->count, load->groups, "groups");

    paths->flows = load->count;
    for (uint32_t i = 0; i < load->count && err == 0; i++)
        err = rpmi_chain_open(paths->params, i, &load->groups[i], &paths->flow[i]);
    return err;
}

static struct rpmi_paths *open_paths(const struct rpmi_params *params, uint64_t seed)
{
    struct rpmi_paths *paths = rpmi_alloc(sizeof(*paths), 64);

    if (paths == NULL)
        return NULL;
    paths->params = params;
    paths->pool[RPMI_POOL_TAGS].room = params->nic_tags;
    paths->pool[RPMI_POOL_BUFFER].room = params->nic_buffer;
    rpmi_rng_seed(&paths->rng, seed);
    return paths;
}

static void close_paths(struct rpmi_paths *paths)
{
    for (uint32_t i = 0; i < RPMI_PATH_FLOWS; i++)
        rpmi_flow_close(&paths->flow[i]);
    for (uint32_t i = 0; i < RPMI_PATH_POOLS; i++)
        rpmi_free(paths->pool[i].waiting);
    rpmi_free(paths->lane);
    rpmi_free(paths->slot);
    rpmi_free(paths->part);
    rpmi_free(paths->free_part);
    rpmi_queue_close(&paths->queue);
    rpmi_free(paths);
}

static int run(struct rpmi_paths *paths)
{
    struct rpmi_event event;
    int err = reserve(paths);

    if (err != 0)
        return err;
    fill_in(paths);
    while (!enough(paths)) {
        bool any = rpmi_queue_pop(&paths->queue, &event);
        struct rpmi_path_part part = paths->part[event.arg];

        RPM_ASSERT(any && event.at >= paths->now_ps);
        paths->now_ps = event.at;
        paths->free_part[paths->free_parts++] = (uint32_t)event.arg;
        dispatch(paths, &part);
    }
    return 0;
}

int rpmi_paths_run(const struct rpmi_params *params, const struct rpm_path_load *load,
                   struct rpm_path_cost *costs)
{
    struct rpmi_paths *paths = open_paths(params, load->seed);
    int err;

    if (paths == NULL)
        return RPM_E_NOMEM;
    err = open_flows(paths, load);
    if (err == 0)
        err = run(paths);
    for (uint32_t i = 0; i < load->count && err == 0; i++)
        rpmi_flow_cost(&paths->flow[i], paths->now_ps - paths->begin_ps, &costs[i]);
    close_paths(paths);
    return err;
}

int rpmi_chains_run(const struct rpmi_params *params, const struct rpm_chain_load *load,
                    struct rpm_chain_cost *costs)
{
    struct rpmi_paths *paths = open_paths(params, load->seed);
    int err;

    if (paths == NULL)
        return RPM_E_NOMEM;
    err = open_chains(paths, load);
    if (err == 0)
        err = run(paths);
    for (uint32_t i = 0; i < load->count && err == 0; i++)
        rpmi_chain_cost(&paths->flow[i], paths->now_ps - paths->begin_ps, &costs[i]);
    close_paths(paths);
    return err;
}
