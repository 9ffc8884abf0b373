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
#include "sim/path/path_model.h"

#include "base/err.h"

/* A route that is being made. */
struct maker {
    const struct rpmi_params *params;
    struct rpmi_route *route;
    bool dpu;
    bool soc; /* the messages are handled by units of the SoC's path */
    uint64_t bytes;
};

static struct rpmi_hop *add(struct maker *maker, enum rpmi_hop_kind kind, uint32_t station,
                            uint64_t ps)
{
    struct rpmi_hop *hop = &maker->route->hop[maker->route->hops];

    RPM_ASSERT(maker->route->hops < RPMI_PATH_HOPS);
    maker->route->hops++;
    *hop = (struct rpmi_hop){ .kind = kind, .station = station, .ps = ps };
    return hop;
}

static void link_of(struct maker *maker, enum rpmi_path_wire wire, uint64_t payload)
{
    struct rpmi_hop *hop = add(maker, RPMI_HOP_WIRE, wire, 0);

    hop->payload = payload;
    hop->rate = maker->params->pcie_rate;
}

static void port(struct maker *maker, enum rpmi_path_wire wire)
{
    add(maker, RPMI_HOP_WIRE, wire, 0)->rate = maker->params->network_rate;
}

/* A unit handles the message: busy for its share of the NIC's rate, which is part of its latency.
 */
static void unit(struct maker *maker)
{
    uint64_t busy_ps = maker->params->nic_units * maker->params->nic_message;
    uint64_t latency_ps = maker->params->nic_latency;

    add(maker, RPMI_HOP_UNIT, maker->soc, busy_ps);
    if (latency_ps > busy_ps)
        add(maker, RPMI_HOP_DELAY, 0, latency_ps - busy_ps);
}

/* The NIC reads host memory. */
static void host_read(struct maker *maker)
{
    const struct rpmi_params *params = maker->params;

    add(maker, RPMI_HOP_TAKE, RPMI_POOL_TAGS, 0)->payload = params->pcie_payload;
    add(maker, RPMI_HOP_DELAY, 0,
        params->switch_latency + params->pcie_read - params->pcie_write + params->dram_latency);
    link_of(maker, RPMI_PCIE0_FROM_HOST, params->pcie_payload);
    add(maker, RPMI_HOP_DELAY, 0, params->pcie_write + params->switch_latency);
    if (maker->dpu)
        link_of(maker, RPMI_PCIE1_TO_NIC, params->pcie_payload);
    add(maker, RPMI_HOP_GIVE, RPMI_POOL_TAGS, 0)->payload = params->pcie_payload;
}

/* The NIC reads SoC memory: no PCIe0 on the way, and small transactions. */
static void soc_read(struct maker *maker)
{
    const struct rpmi_params *params = maker->params;

    add(maker, RPMI_HOP_TAKE, RPMI_POOL_TAGS, 0)->payload = params->soc_payload;
    add(maker, RPMI_HOP_DELAY, 0, params->switch_latency);
    add(maker, RPMI_HOP_MEMORY, 0, 0);
    link_of(maker, RPMI_SOC_OUT, params->soc_payload);
    add(maker, RPMI_HOP_DELAY, 0, params->switch_latency);
    link_of(maker, RPMI_PCIE1_TO_NIC, params->soc_payload);
    add(maker, RPMI_HOP_GIVE, RPMI_POOL_TAGS, 0)->payload = params->soc_payload;
}

static void host_write(struct maker *maker)
{
    if (maker->dpu)
        link_of(maker, RPMI_PCIE1_FROM_NIC, maker->params->pcie_payload);
    add(maker, RPMI_HOP_DELAY, 0, maker->params->switch_latency);
    link_of(maker, RPMI_PCIE0_TO_HOST, maker->params->pcie_payload);
    add(maker, RPMI_HOP_DELAY, 0, maker->params->pcie_write);
}

static void soc_write(struct maker *maker)
{
    link_of(maker, RPMI_PCIE1_FROM_NIC, maker->params->soc_payload);
    add(maker, RPMI_HOP_DELAY, 0, maker->params->switch_latency);
    link_of(maker, RPMI_SOC_IN, maker->params->soc_payload);
    add(maker, RPMI_HOP_MEMORY, 0, 0);
}

/* From the server's NIC until the client's thread has seen the completion. */
static void to_client(struct maker *maker, uint64_t nic_ps)
{
    const struct rpmi_params *params = maker->params;

    add(maker, RPMI_HOP_DELAY, 0,
        nic_ps + params->network_latency + params->nic_latency + params->completion);
    add(maker, RPMI_HOP_DONE, 0, 0);
}

/* A client's request until it is at the server's NIC. */
static void from_client(struct maker *maker, bool payload)
{
    const struct rpmi_params *params = maker->params;
    uint64_t fetch_ps =
        payload && maker->bytes > params->nic_inline ? params->pcie_read + params->llc_latency : 0;

    add(maker, RPMI_HOP_POST, 0, params->nic_post);
    add(maker, RPMI_HOP_DELAY, 0, fetch_ps + params->nic_latency + params->network_latency);
    unit(maker);
    add(maker, RPMI_HOP_SPLIT, 0, 0);
}

static void client_read(struct maker *maker)
{
    from_client(maker, false);
    if (maker->soc)
        soc_read(maker);
    else
        host_read(maker);
    port(maker, RPMI_NET_OUT);
    add(maker, RPMI_HOP_JOIN, 0, 0);
    to_client(maker, maker->params->nic_latency);
}

/* The NIC's buffer holds a payload until it is placed. */
static void place(struct maker *maker)
{
    if (maker->soc)
        soc_write(maker);
    else
        host_write(maker);
    add(maker, RPMI_HOP_GIVE, RPMI_POOL_BUFFER, 0);
}

/* The NIC acknowledges what it has received, as it does in the model without paths. */
static void client_write(struct maker *maker)
{
    struct rpmi_hop *branch;

    from_client(maker, true);
    port(maker, RPMI_NET_IN);
    add(maker, RPMI_HOP_TAKE, RPMI_POOL_BUFFER, 0);
    branch = add(maker, RPMI_HOP_BRANCH, 0, 0);
    place(maker);
    add(maker, RPMI_HOP_END, 0, 0);
    branch->to = maker->route->hops;
    to_client(maker, 0);
}

static void client_send(struct maker *maker)
{
    const struct rpmi_params *params = maker->params;
    uint64_t busy_ps = maker->soc ? params->soc_call : params->call_work + params->call_reply;

    from_client(maker, true);
    port(maker, RPMI_NET_IN);
    add(maker, RPMI_HOP_TAKE, RPMI_POOL_BUFFER, 0);
    place(maker);
    add(maker, RPMI_HOP_JOIN, 0, 0);
    add(maker, RPMI_HOP_CORE, maker->soc, busy_ps);
    /* The reply comes with its doorbell. */
    add(maker, RPMI_HOP_DELAY, 0, params->switch_latency + (maker->soc ? 0 : params->pcie_write));
    unit(maker);
    to_client(maker, 0);
}

/* A SoC core has seen the NIC's completion, which is in its own memory. */
static uint64_t soc_completion_ps(const struct rpmi_params *params)
{
    return params->switch_latency + params->completion - params->pcie_write;
}

static void copy_by_nic(struct maker *maker, bool to_host)
{
    add(maker, RPMI_HOP_POST, 0, maker->params->soc_post);
    add(maker, RPMI_HOP_DELAY, 0, maker->params->switch_latency);
    unit(maker);
    add(maker, RPMI_HOP_SPLIT, 0, 0);
    if (to_host) {
        soc_read(maker);
        host_write(maker);
    } else {
        host_read(maker);
        soc_write(maker);
    }
    add(maker, RPMI_HOP_JOIN, 0, 0);
    add(maker, RPMI_HOP_DELAY, 0, soc_completion_ps(maker->params));
    add(maker, RPMI_HOP_DONE, 0, 0);
}

/* A copy from the host is taken up when the data of the one before have come, as reads are
 * answered. Writes need no answer: the engine takes up a copy to the host while it moves the one
 * before. */
static void engine(struct maker *maker, bool to_host)
{
    const struct rpmi_params *params = maker->params;
    uint64_t rate = to_host ? params->dma_write_rate : params->dma_read_rate;
    uint64_t task_ps = to_host ? params->dma_write_task : params->dma_read_task;
    uint64_t move_ps = maker->bytes * 1000000u / rate;

    if (to_host)
        task_ps = task_ps > move_ps ? task_ps - move_ps : 0;
    add(maker, RPMI_HOP_WIRE, RPMI_ENGINE, task_ps)->rate = rate;
}

static void copy_by_engine(struct maker *maker, bool to_host)
{
    const struct rpmi_params *params = maker->params;

    add(maker, RPMI_HOP_POST, 0, params->soc_post);
    add(maker, RPMI_HOP_SPLIT, 0, 0);
    if (to_host) {
        add(maker, RPMI_HOP_MEMORY, 0, 0);
        link_of(maker, RPMI_SOC_OUT, params->soc_payload);
        engine(maker, to_host);
        link_of(maker, RPMI_PCIE0_TO_HOST, params->pcie_payload);
    } else {
        engine(maker, to_host);
        link_of(maker, RPMI_PCIE0_FROM_HOST, params->pcie_payload);
        link_of(maker, RPMI_SOC_IN, params->soc_payload);
        add(maker, RPMI_HOP_MEMORY, 0, 0);
    }
    add(maker, RPMI_HOP_JOIN, 0, 0);
    add(maker, RPMI_HOP_DELAY, 0, params->dma_latency);
    add(maker, RPMI_HOP_DONE, 0, 0);
}

static void soc_only(struct maker *maker)
{
    add(maker, RPMI_HOP_POST, 0, 0);
    add(maker, RPMI_HOP_SPLIT, 0, 0);
    add(maker, RPMI_HOP_MEMORY, 0, 0);
    add(maker, RPMI_HOP_JOIN, 0, 0);
    add(maker, RPMI_HOP_DONE, 0, 0);
}

int rpmi_route_make(const struct rpmi_params *params, const struct rpm_path_flow *flow,
                    struct rpmi_route *route)
{
    struct maker maker = { .params = params, .route = route, .bytes = rpmi_flow_message_max(flow) };

    maker.dpu = params->soc_cores > 0;
    maker.soc = flow->path != RPM_PATH_HOST;
    route->hops = 0;
    if (maker.soc && !maker.dpu)
        return rpmi_fail(RPM_E_INVAL,
                         "the platform has no DPU (soc_cores is 0), so only path 1 exists; use a "
                         "preset that has one, such as bf2");
    switch (flow->path) {
    case RPM_PATH_HOST:
    case RPM_PATH_SOC:
        if (flow->op == RPM_PATH_READ)
            client_read(&maker);
        else if (flow->op == RPM_PATH_WRITE)
            client_write(&maker);
        else
            client_send(&maker);
        return 0;
    case RPM_PATH_COPY_NIC:
        copy_by_nic(&maker, flow->op == RPM_PATH_WRITE);
        return 0;
    case RPM_PATH_COPY_ENGINE:
        copy_by_engine(&maker, flow->op == RPM_PATH_WRITE);
        return 0;
    default:
        RPM_ASSERT(flow->path == RPM_PATH_SOC_ONLY);
        soc_only(&maker);
        return 0;
    }
}
