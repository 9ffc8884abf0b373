/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * route.c: which stations an operation passes, by path and kind. What crosses a link, and how
 * often, is decided here alone:
 *
 *   link                     path 1   path 2   3R             3D
 *   PCIe1, NIC and switch    once     once     once each way  never
 *   PCIe0, switch and host   once     never    once           once
 *   SoC's port               never    once     once           once
 *
 * Tests: tests/unit/sim/path/route_test.cpp
 */
#include "sim/path/maker.h"

#include "base/err.h"

static void client_read(struct rpmi_maker *maker)
{
    rpmi_make_from_client(maker, false);
    if (maker->soc)
        rpmi_make_soc_read(maker);
    else
        rpmi_make_host_read(maker);
    rpmi_make_port(maker, RPMI_NET_OUT);
    rpmi_make_hop(maker, RPMI_HOP_JOIN, 0, 0);
    rpmi_make_to_client(maker, maker->params->nic_latency);
}

/* The NIC acknowledges what it has received, as it does in the model without paths. */
static void client_write(struct rpmi_maker *maker)
{
    struct rpmi_hop *branch;

    rpmi_make_from_client(maker, true);
    rpmi_make_port(maker, RPMI_NET_IN);
    rpmi_make_hop(maker, RPMI_HOP_TAKE, RPMI_POOL_BUFFER, 0);
    branch = rpmi_make_hop(maker, RPMI_HOP_BRANCH, 0, 0);
    rpmi_make_place(maker);
    rpmi_make_hop(maker, RPMI_HOP_END, 0, 0);
    branch->to = maker->route->hops;
    rpmi_make_to_client(maker, 0);
}

static void client_send(struct rpmi_maker *maker)
{
    const struct rpmi_params *params = maker->params;
    uint64_t busy_ps = maker->soc ? params->soc_call : params->call_work + params->call_reply;

    rpmi_make_from_client(maker, true);
    rpmi_make_port(maker, RPMI_NET_IN);
    rpmi_make_hop(maker, RPMI_HOP_TAKE, RPMI_POOL_BUFFER, 0);
    rpmi_make_place(maker);
    rpmi_make_hop(maker, RPMI_HOP_JOIN, 0, 0);
    rpmi_make_hop(maker, RPMI_HOP_CORE, maker->soc, busy_ps);
    /* The reply comes with its doorbell. */
    rpmi_make_hop(maker, RPMI_HOP_DELAY, 0,
                  params->switch_latency + (maker->soc ? 0 : params->pcie_write));
    rpmi_make_unit(maker);
    rpmi_make_to_client(maker, 0);
}

/* A SoC core has seen the NIC's completion, which is in its own memory. */
static uint64_t soc_completion_ps(const struct rpmi_params *params)
{
    return params->switch_latency + params->completion - params->pcie_write;
}

static void post_copy(struct rpmi_maker *maker)
{
    if (maker->chain)
        rpmi_make_hop(maker, RPMI_HOP_CORE, 1, maker->params->soc_post);
    else
        rpmi_make_hop(maker, RPMI_HOP_POST, 0, maker->params->soc_post);
}

static void copy_by_nic(struct rpmi_maker *maker, bool to_host)
{
    post_copy(maker);
    rpmi_make_hop(maker, RPMI_HOP_DELAY, 0, maker->params->switch_latency);
    rpmi_make_unit(maker);
    rpmi_make_hop(maker, RPMI_HOP_SPLIT, 0, 0);
    if (to_host) {
        rpmi_make_soc_read(maker);
        rpmi_make_host_write(maker);
    } else {
        rpmi_make_host_read(maker);
        rpmi_make_soc_write(maker);
    }
    rpmi_make_hop(maker, RPMI_HOP_JOIN, 0, 0);
    rpmi_make_hop(maker, RPMI_HOP_DELAY, 0, soc_completion_ps(maker->params));
}

/* A copy from the host is taken up when the data of the one before have come, as reads are
 * answered. Writes need no answer: the engine takes up a copy to the host while it moves the one
 * before. */
static void engine(struct rpmi_maker *maker, bool to_host)
{
    const struct rpmi_params *params = maker->params;
    uint64_t rate = to_host ? params->dma_write_rate : params->dma_read_rate;
    uint64_t task_ps = to_host ? params->dma_write_task : params->dma_read_task;
    uint64_t move_ps = maker->bytes * 1000000u / rate;

    if (to_host)
        task_ps = task_ps > move_ps ? task_ps - move_ps : 0;
    rpmi_make_hop(maker, RPMI_HOP_WIRE, RPMI_ENGINE, task_ps)->rate = rate;
}

static void copy_by_engine(struct rpmi_maker *maker, bool to_host)
{
    const struct rpmi_params *params = maker->params;

    post_copy(maker);
    rpmi_make_hop(maker, RPMI_HOP_SPLIT, 0, 0);
    if (to_host) {
        rpmi_make_hop(maker, RPMI_HOP_MEMORY, 0, 0);
        rpmi_make_link(maker, RPMI_SOC_OUT, params->soc_payload);
        engine(maker, to_host);
        rpmi_make_link(maker, RPMI_PCIE0_TO_HOST, params->pcie_payload);
    } else {
        engine(maker, to_host);
        rpmi_make_link(maker, RPMI_PCIE0_FROM_HOST, params->pcie_payload);
        rpmi_make_link(maker, RPMI_SOC_IN, params->soc_payload);
        rpmi_make_hop(maker, RPMI_HOP_MEMORY, 0, 0);
    }
    rpmi_make_hop(maker, RPMI_HOP_JOIN, 0, 0);
    rpmi_make_hop(maker, RPMI_HOP_DELAY, 0, params->dma_latency);
}

/* In a chain a core waits for the memory, and is busy meanwhile. */
static void soc_only(struct rpmi_maker *maker)
{
    uint64_t waited_ps = maker->chain ? maker->params->soc_dram_latency : 0;

    if (maker->chain)
        rpmi_make_hop(maker, RPMI_HOP_CORE, 1, waited_ps);
    else
        rpmi_make_hop(maker, RPMI_HOP_POST, 0, 0);
    rpmi_make_hop(maker, RPMI_HOP_SPLIT, 0, 0);
    rpmi_make_hop(maker, RPMI_HOP_MEMORY, 0, waited_ps);
    rpmi_make_hop(maker, RPMI_HOP_JOIN, 0, 0);
}

void rpmi_route_op(struct rpmi_maker *maker, uint32_t path, uint32_t op)
{
    switch (path) {
    case RPM_PATH_HOST:
    case RPM_PATH_SOC:
        if (op == RPM_PATH_READ)
            client_read(maker);
        else if (op == RPM_PATH_WRITE)
            client_write(maker);
        else
            client_send(maker);
        return;
    case RPM_PATH_COPY_NIC:
        copy_by_nic(maker, op == RPM_PATH_WRITE);
        return;
    case RPM_PATH_COPY_ENGINE:
        copy_by_engine(maker, op == RPM_PATH_WRITE);
        return;
    default:
        RPM_ASSERT(path == RPM_PATH_SOC_ONLY);
        soc_only(maker);
        return;
    }
}

int rpmi_route_needs_dpu(const struct rpmi_params *params)
{
    if (params->soc_cores > 0)
        return 0;
    return rpmi_fail(RPM_E_INVAL,
                     "the platform has no DPU (soc_cores is 0), so only path 1 exists; "
                     "use a preset that has one, such as bf2");
}

int rpmi_route_make(const struct rpmi_params *params, const struct rpm_path_flow *flow,
                    struct rpmi_route *route)
{
    struct rpmi_maker maker = { .params = params,
                                .route = route,
                                .bytes = rpmi_flow_message_max(flow) };
    int err = flow->path == RPM_PATH_HOST ? 0 : rpmi_route_needs_dpu(params);

    if (err != 0)
        return err;
    maker.dpu = params->soc_cores > 0;
    maker.soc = flow->path != RPM_PATH_HOST;
    route->hops = 0;
    rpmi_route_op(&maker, flow->path, flow->op);
    rpmi_make_hop(&maker, RPMI_HOP_DONE, 0, 0);
    return 0;
}
