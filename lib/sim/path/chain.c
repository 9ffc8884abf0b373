/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chain.c: the groups of a load of chains: their fields' ranges and defaults, the routes of their
 * steps, and what they cost. A group is a flow whose route has the hops of each of its chains, one
 * chain after another.
 *
 * Tests: tests/unit/sim/path/chain_test.cpp
 */
#include "sim/path/maker.h"

#include "base/err.h"

#include <inttypes.h>

#define STEPS_MAX 16u
#define STEPS_ALL 40u /* each has at most RPMI_PATH_HOPS / (STEPS_ALL + 2) hops */
#define BYTES_MAX (16u << 20)
#define RANGE_MAX ((uint64_t)64 << 30)
#define WORK_MAX UINT64_C(1000000000000)
#define BIT(path) (1u << (path))

/* Paths of each operation; bit 0: none, as of the thread's own work. */
static const uint32_t PATHS[] = {
    [RPM_CHAIN_READ] = BIT(RPM_PATH_HOST) | BIT(RPM_PATH_SOC) | BIT(RPM_PATH_COPY_NIC) |
                       BIT(RPM_PATH_COPY_ENGINE) | BIT(RPM_PATH_SOC_ONLY),
    [RPM_CHAIN_WRITE] = BIT(RPM_PATH_HOST) | BIT(RPM_PATH_SOC) | BIT(RPM_PATH_COPY_NIC) |
                        BIT(RPM_PATH_COPY_ENGINE) | BIT(RPM_PATH_SOC_ONLY),
    [RPM_CHAIN_CALL] = BIT(RPM_PATH_HOST) | BIT(RPM_PATH_SOC) | BIT(RPM_PATH_COPY_NIC),
    [RPM_CHAIN_REPLY] = BIT(RPM_PATH_HOST) | BIT(RPM_PATH_SOC) | BIT(RPM_PATH_COPY_NIC),
    [RPM_CHAIN_WORK] = BIT(0) | BIT(RPM_PATH_HOST) | BIT(RPM_PATH_SOC),
    [RPM_CHAIN_STORE] = BIT(RPM_PATH_SOC),
    [RPM_CHAIN_LOAD] = BIT(RPM_PATH_SOC),
    [RPM_CHAIN_WAIT] = BIT(0),
};

static int refuse(uint32_t group, const char *field, uint64_t value, uint64_t least, uint64_t most)
{
    return rpmi_fail(RPM_E_INVAL, "group %u: %s is %" PRIu64 ", it must be %" PRIu64 " to %" PRIu64,
                     group, field, value, least, most);
}

static void set_step_defaults(struct rpm_chain_step *step)
{
    step->bytes = step->bytes == 0 ? 64 : step->bytes;
    step->range_bytes = step->range_bytes == 0 ? (uint64_t)1 << 30 : step->range_bytes;
}

static int check_step(const struct rpmi_params *params, uint32_t group,
                      const struct rpm_chain_step *step)
{
    uint64_t most = step->op == RPM_CHAIN_CALL ? params->nic_buffer : BYTES_MAX;

    if (step->op > RPM_CHAIN_WAIT)
        return refuse(group, "a step's op", step->op, RPM_CHAIN_READ, RPM_CHAIN_WAIT);
    if (step->path > RPM_PATH_SOC_ONLY)
        return refuse(group, "a step's path", step->path, 0, RPM_PATH_SOC_ONLY);
    if ((PATHS[step->op] & BIT(step->path)) == 0)
        return rpmi_fail(RPM_E_INVAL,
                         "group %u: a step has op %u on path %u, which it does not exist on; see "
                         "enum rpm_chain_op",
                         group, step->op, step->path);
    if (step->bytes > most)
        return refuse(group, "a step's bytes", step->bytes, 1, most);
    if (step->range_bytes < step->bytes || step->range_bytes > RANGE_MAX)
        return refuse(group, "a step's range_bytes", step->range_bytes, step->bytes, RANGE_MAX);
    if (step->work_ps > WORK_MAX)
        return refuse(group, "a step's work_ps", step->work_ps, 0, WORK_MAX);
    if (step->phase >= RPM_CHAIN_PHASES)
        return refuse(group, "a step's phase", step->phase, 0, RPM_CHAIN_PHASES - 1);
    return step->path > RPM_PATH_HOST ? rpmi_route_needs_dpu(params) : 0;
}

/* The payload of a message from one end of the DPU to the other: it goes out with its doorbell, or
 * the NIC fetches it first. */
static void fetch(struct rpmi_maker *maker, bool from_soc)
{
    if (maker->bytes <= maker->params->nic_inline) {
        rpmi_make_link(maker, from_soc ? RPMI_SOC_OUT : RPMI_PCIE0_FROM_HOST,
                       from_soc ? maker->params->soc_payload : maker->params->pcie_payload);
        return;
    }
    if (from_soc)
        rpmi_make_soc_read(maker);
    else
        rpmi_make_host_read(maker);
}

/* From a thread of the host to a core of the SoC. The NIC handles the message twice: as it sends
 * and as it receives. */
static void call_soc(struct rpmi_maker *maker)
{
    rpmi_make_hop(maker, RPMI_HOP_POST, 0, maker->params->nic_post);
    rpmi_make_hop(maker, RPMI_HOP_DELAY, 0, maker->params->switch_latency);
    rpmi_make_unit(maker);
    rpmi_make_hop(maker, RPMI_HOP_SPLIT, 0, 0);
    fetch(maker, false);
    rpmi_make_hop(maker, RPMI_HOP_JOIN, 0, 0);
    rpmi_make_unit(maker);
    rpmi_make_hop(maker, RPMI_HOP_SPLIT, 0, 0);
    rpmi_make_soc_write(maker);
    rpmi_make_hop(maker, RPMI_HOP_JOIN, 0, 0);
}

static void reply_to_host(struct rpmi_maker *maker)
{
    rpmi_make_hop(maker, RPMI_HOP_DELAY, 0, maker->params->switch_latency);
    rpmi_make_unit(maker);
    rpmi_make_hop(maker, RPMI_HOP_SPLIT, 0, 0);
    fetch(maker, true);
    rpmi_make_hop(maker, RPMI_HOP_JOIN, 0, 0);
    rpmi_make_unit(maker);
    rpmi_make_hop(maker, RPMI_HOP_SPLIT, 0, 0);
    rpmi_make_host_write(maker);
    rpmi_make_hop(maker, RPMI_HOP_JOIN, 0, 0);
    /* As a client's completion, which includes the way over PCIe. */
    rpmi_make_hop(maker, RPMI_HOP_DELAY, 0, maker->params->completion - maker->params->pcie_write);
}

static void call(struct rpmi_maker *maker, bool copy)
{
    const struct rpmi_params *params = maker->params;

    if (copy) {
        call_soc(maker);
    } else {
        rpmi_make_from_client(maker, true);
        rpmi_make_port(maker, RPMI_NET_IN);
        rpmi_make_hop(maker, RPMI_HOP_TAKE, RPMI_POOL_BUFFER, 0);
        rpmi_make_place(maker);
        rpmi_make_hop(maker, RPMI_HOP_JOIN, 0, 0);
    }
    rpmi_make_hop(maker, RPMI_HOP_CORE, maker->soc,
                  maker->soc ? params->soc_call / 2 : params->call_work);
}

static void reply(struct rpmi_maker *maker, bool copy)
{
    const struct rpmi_params *params = maker->params;

    rpmi_make_hop(maker, RPMI_HOP_CORE, maker->soc,
                  maker->soc ? params->soc_call - params->soc_call / 2 : params->call_reply);
    if (copy) {
        reply_to_host(maker);
        return;
    }
    rpmi_make_hop(maker, RPMI_HOP_DELAY, 0,
                  params->switch_latency + (maker->soc ? 0 : params->pcie_write));
    rpmi_make_unit(maker);
    rpmi_make_hop(maker, RPMI_HOP_SPLIT, 0, 0);
    if (maker->bytes > params->nic_inline || maker->soc)
        fetch(maker, maker->soc);
    rpmi_make_port(maker, RPMI_NET_OUT);
    rpmi_make_hop(maker, RPMI_HOP_JOIN, 0, 0);
    rpmi_make_to_client(maker, 0);
}

/* A core of the host stores over PCIe, and goes on. */
static void store(struct rpmi_maker *maker)
{
    rpmi_make_hop(maker, RPMI_HOP_POST, 0, maker->params->nic_post);
    rpmi_make_hop(maker, RPMI_HOP_DELAY, 0, maker->params->pcie_write);
    rpmi_make_hop(maker, RPMI_HOP_SPLIT, 0, 0);
    rpmi_make_link(maker, RPMI_PCIE0_FROM_HOST, maker->params->pcie_payload);
    rpmi_make_hop(maker, RPMI_HOP_DELAY, 0, maker->params->switch_latency);
    rpmi_make_link(maker, RPMI_SOC_IN, maker->params->soc_payload);
    rpmi_make_hop(maker, RPMI_HOP_MEMORY, 0, 0);
    rpmi_make_hop(maker, RPMI_HOP_JOIN, 0, 0);
}

static void load(struct rpmi_maker *maker)
{
    const struct rpmi_params *params = maker->params;

    rpmi_make_hop(maker, RPMI_HOP_DELAY, 0,
                  params->pcie_read - params->pcie_write + params->switch_latency);
    rpmi_make_hop(maker, RPMI_HOP_SPLIT, 0, 0);
    rpmi_make_hop(maker, RPMI_HOP_MEMORY, 0, 0);
    rpmi_make_link(maker, RPMI_SOC_OUT, params->soc_payload);
    rpmi_make_hop(maker, RPMI_HOP_DELAY, 0, params->switch_latency + params->pcie_write);
    rpmi_make_link(maker, RPMI_PCIE0_TO_HOST, params->pcie_payload);
    rpmi_make_hop(maker, RPMI_HOP_JOIN, 0, 0);
}

static void work(struct rpmi_maker *maker, const struct rpm_chain_step *step)
{
    if (step->op == RPM_CHAIN_WAIT)
        rpmi_make_hop(maker, RPMI_HOP_DELAY, 0, step->work_ps);
    else if (step->path == 0)
        rpmi_make_hop(maker, RPMI_HOP_POST, 0, step->work_ps);
    else
        rpmi_make_hop(maker, RPMI_HOP_CORE, maker->soc, step->work_ps);
}

static void make_step(struct rpmi_maker *maker, const struct rpm_chain_step *step)
{
    struct rpmi_hop *hop = rpmi_make_hop(maker, RPMI_HOP_STEP, step->phase, 0);

    hop->payload = step->bytes;
    hop->rate = step->range_bytes;
    hop->to = step->op == RPM_CHAIN_LOAD;
    maker->soc = step->path > RPM_PATH_HOST;
    maker->bytes = step->bytes;
    switch (step->op) {
    case RPM_CHAIN_READ:
    case RPM_CHAIN_WRITE:
        rpmi_route_op(maker, step->path,
                      step->op == RPM_CHAIN_READ ? RPM_PATH_READ : RPM_PATH_WRITE);
        return;
    case RPM_CHAIN_CALL:
        call(maker, step->path == RPM_PATH_COPY_NIC);
        return;
    case RPM_CHAIN_REPLY:
        reply(maker, step->path == RPM_PATH_COPY_NIC);
        return;
    case RPM_CHAIN_STORE:
        store(maker);
        return;
    case RPM_CHAIN_LOAD:
        load(maker);
        return;
    default:
        work(maker, step);
        return;
    }
}

static int make_chain(const struct rpmi_params *params, uint32_t number,
                      const struct rpm_chain *chain, struct rpmi_flow *flow)
{
    struct rpmi_maker maker = {
        .params = params, .route = &flow->route, .dpu = params->soc_cores > 0, .chain = true
    };

    if (chain->count == 0 || chain->count > STEPS_MAX || chain->steps == NULL)
        return refuse(number, "steps of a chain", chain->count, 1, STEPS_MAX);
    for (uint32_t i = 0; i < chain->count; i++) {
        struct rpm_chain_step step = chain->steps[i];
        uint32_t first = flow->route.hops;
        int err;

        set_step_defaults(&step);
        err = check_step(params, number, &step);
        if (err != 0)
            return err;
        if (++flow->steps > STEPS_ALL)
            return refuse(number, "steps of all chains", flow->steps, 1, STEPS_ALL);
        flow->is.bytes = step.bytes > flow->is.bytes ? step.bytes : flow->is.bytes;
        make_step(&maker, &step);
        RPM_ASSERT(flow->route.hops - first <= RPMI_PATH_HOPS / (STEPS_ALL + 2));
    }
    rpmi_make_hop(&maker, RPMI_HOP_DONE, 0, 0);
    return 0;
}

static int check_group(uint32_t number, const struct rpm_chain_group *group)
{
    uint64_t shares = 0;

    if (group->count == 0 || group->count > RPM_CHAIN_ALTERNATIVES || group->chains == NULL)
        return refuse(number, "chains", group->count, 1, RPM_CHAIN_ALTERNATIVES);
    if (group->threads > RPMI_PATH_THREADS_MAX)
        return refuse(number, "threads", group->threads, 0, RPMI_PATH_THREADS_MAX);
    if (group->depth > RPMI_PATH_DEPTH_MAX)
        return refuse(number, "depth", group->depth, 0, RPMI_PATH_DEPTH_MAX);
    if (group->ops > RPMI_PATH_OPS_MAX)
        return refuse(number, "ops", group->ops, 0, RPMI_PATH_OPS_MAX);
    if (group->interval_ps > RPMI_PATH_INTERVAL_MAX)
        return refuse(number, "interval_ps", group->interval_ps, 0, RPMI_PATH_INTERVAL_MAX);
    if (group->select > 1)
        return refuse(number, "select", group->select, 0, 1);
    for (uint32_t i = 0; i < group->count; i++)
        shares += group->chains[i].share;
    if (shares == 0 && group->count > 1 && group->select == 0)
        return rpmi_fail(
            RPM_E_INVAL,
            "group %u: several chains, and no share of any; give shares, or set select", number);
    return 0;
}

int rpmi_chain_open(const struct rpmi_params *params, uint32_t number,
                    const struct rpm_chain_group *group, struct rpmi_flow *flow)
{
    struct rpm_path_flow is = { .path = RPM_PATH_HOST,
                                .threads = group->threads,
                                .depth = group->depth,
                                .ops = group->ops == 0 ? 20000 : group->ops,
                                .interval_ps = group->interval_ps };
    int err = check_group(number, group);

    if (err == 0)
        err = rpmi_flow_check(params, number, &is, &flow->is);
    if (err != 0)
        return err;
    flow->chains = group->count;
    flow->select = group->select == 1;
    rpmi_select_init(&flow->selector, 0);
    for (uint32_t i = 0; i < group->count && err == 0; i++) {
        flow->share[i] = group->count == 1 ? 1 : group->chains[i].share;
        flow->shares += flow->share[i];
        flow->first_hop[i] = flow->route.hops;
        rpmi_select_add(&flow->selector, 0);
        err = make_chain(params, number, &group->chains[i], flow);
    }
    return err != 0 ? err : rpmi_flow_open(flow);
}

/* Each in its turn, in proportion to the shares. */
static uint32_t by_share(struct rpmi_flow *flow)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < flow->chains; i++) {
        flow->credit[i] += flow->share[i];
        if (flow->credit[i] > flow->credit[most])
            most = i;
    }
    flow->credit[most] -= (int64_t)flow->shares;
    return most;
}

void rpmi_chain_choose(struct rpmi_flow *flow, struct rpmi_pick *pick)
{
    if (flow->select)
        *pick = rpmi_select_pick(&flow->selector, flow->is.bytes);
    else
        *pick = (struct rpmi_pick){ .alternative = by_share(flow) };
}

void rpmi_chain_ended(struct rpmi_flow *flow, const struct rpmi_path_slot *slot, uint64_t took_ps,
                      bool measuring)
{
    uint32_t chain = slot->pick.alternative;

    if (flow->select)
        rpmi_select_done(&flow->selector, &slot->pick, took_ps / 1000);
    if (!measuring)
        return;
    flow->chosen[chain]++;
    flow->took_ps[chain] += took_ps;
    flow->moved += slot->moved;
    for (uint32_t i = 0; i < RPM_CHAIN_PHASES; i++)
        flow->phase_ps[i] += slot->phase_ps[i];
    for (uint32_t i = 0; i < RPMI_PATH_WORKERS; i++)
        flow->busy_ps[i] += slot->busy_ps[i];
}

void rpmi_chain_cost(struct rpmi_flow *flow, uint64_t duration_ps, struct rpm_chain_cost *cost)
{
    uint64_t ops = flow->measured;

    *cost = (struct rpm_chain_cost){ .thread_ps = flow->busy_ps[RPMI_WORKER_THREAD] / ops,
                                     .host_ps = flow->busy_ps[RPMI_WORKER_HOST] / ops,
                                     .soc_ps = flow->busy_ps[RPMI_WORKER_SOC] / ops };
    rpmi_flow_cost(flow, duration_ps, &cost->all);
    cost->all.bytes = flow->moved;
    for (uint32_t i = 0; i < flow->chains; i++) {
        cost->ops[i] = flow->chosen[i];
        cost->mean_ps[i] = flow->chosen[i] == 0 ? 0 : flow->took_ps[i] / flow->chosen[i];
    }
    for (uint32_t i = 0; i < RPM_CHAIN_PHASES; i++)
        cost->phase_ps[i] = flow->phase_ps[i] / ops;
}
