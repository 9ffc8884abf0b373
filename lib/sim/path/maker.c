/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * maker.c: the parts that routes are made of: how a message leaves a client, how the NIC reads and
 * writes the memories, and how an answer comes back.
 *
 * Tests: tests/unit/sim/path/route_test.cpp
 */
#include "sim/path/maker.h"

struct rpmi_hop *rpmi_make_hop(struct rpmi_maker *maker, enum rpmi_hop_kind kind, uint32_t station,
                               uint64_t ps)
{
    struct rpmi_hop *hop = &maker->route->hop[maker->route->hops];

    RPM_ASSERT(maker->route->hops < RPMI_PATH_HOPS);
    maker->route->hops++;
    *hop = (struct rpmi_hop){ .kind = kind, .station = station, .ps = ps };
    return hop;
}

void rpmi_make_link(struct rpmi_maker *maker, enum rpmi_path_wire wire, uint64_t payload)
{
    struct rpmi_hop *hop = rpmi_make_hop(maker, RPMI_HOP_WIRE, wire, 0);

    hop->payload = payload;
    hop->rate = maker->params->pcie_rate;
}

void rpmi_make_port(struct rpmi_maker *maker, enum rpmi_path_wire wire)
{
    rpmi_make_hop(maker, RPMI_HOP_WIRE, wire, 0)->rate = maker->params->network_rate;
}

/* A unit handles the message: busy for its share of the NIC's rate, which is part of its latency.
 */
void rpmi_make_unit(struct rpmi_maker *maker)
{
    uint64_t busy_ps = maker->params->nic_units * maker->params->nic_message;
    uint64_t latency_ps = maker->params->nic_latency;

    rpmi_make_hop(maker, RPMI_HOP_UNIT, maker->soc, busy_ps);
    if (latency_ps > busy_ps)
        rpmi_make_hop(maker, RPMI_HOP_DELAY, 0, latency_ps - busy_ps);
}

/* The NIC reads host memory. */
void rpmi_make_host_read(struct rpmi_maker *maker)
{
    const struct rpmi_params *params = maker->params;

    rpmi_make_hop(maker, RPMI_HOP_TAKE, RPMI_POOL_TAGS, 0)->payload = params->pcie_payload;
    rpmi_make_hop(maker, RPMI_HOP_DELAY, 0,
                  params->switch_latency + params->pcie_read - params->pcie_write +
                      params->dram_latency);
    rpmi_make_link(maker, RPMI_PCIE0_FROM_HOST, params->pcie_payload);
    rpmi_make_hop(maker, RPMI_HOP_DELAY, 0, params->pcie_write + params->switch_latency);
    if (maker->dpu)
        rpmi_make_link(maker, RPMI_PCIE1_TO_NIC, params->pcie_payload);
    rpmi_make_hop(maker, RPMI_HOP_GIVE, RPMI_POOL_TAGS, 0)->payload = params->pcie_payload;
}

/* The NIC reads SoC memory: no PCIe0 on the way, and small transactions. */
void rpmi_make_soc_read(struct rpmi_maker *maker)
{
    const struct rpmi_params *params = maker->params;

    rpmi_make_hop(maker, RPMI_HOP_TAKE, RPMI_POOL_TAGS, 0)->payload = params->soc_payload;
    rpmi_make_hop(maker, RPMI_HOP_DELAY, 0, params->switch_latency);
    rpmi_make_hop(maker, RPMI_HOP_MEMORY, 0, 0);
    rpmi_make_link(maker, RPMI_SOC_OUT, params->soc_payload);
    rpmi_make_hop(maker, RPMI_HOP_DELAY, 0, params->switch_latency);
    rpmi_make_link(maker, RPMI_PCIE1_TO_NIC, params->soc_payload);
    rpmi_make_hop(maker, RPMI_HOP_GIVE, RPMI_POOL_TAGS, 0)->payload = params->soc_payload;
}

void rpmi_make_host_write(struct rpmi_maker *maker)
{
    if (maker->dpu)
        rpmi_make_link(maker, RPMI_PCIE1_FROM_NIC, maker->params->pcie_payload);
    rpmi_make_hop(maker, RPMI_HOP_DELAY, 0, maker->params->switch_latency);
    rpmi_make_link(maker, RPMI_PCIE0_TO_HOST, maker->params->pcie_payload);
    rpmi_make_hop(maker, RPMI_HOP_DELAY, 0, maker->params->pcie_write);
}

void rpmi_make_soc_write(struct rpmi_maker *maker)
{
    rpmi_make_link(maker, RPMI_PCIE1_FROM_NIC, maker->params->soc_payload);
    rpmi_make_hop(maker, RPMI_HOP_DELAY, 0, maker->params->switch_latency);
    rpmi_make_link(maker, RPMI_SOC_IN, maker->params->soc_payload);
    rpmi_make_hop(maker, RPMI_HOP_MEMORY, 0, 0);
}

/* From the server's NIC until the client's thread has seen the completion. */
void rpmi_make_to_client(struct rpmi_maker *maker, uint64_t nic_ps)
{
    const struct rpmi_params *params = maker->params;

    rpmi_make_hop(maker, RPMI_HOP_DELAY, 0,
                  nic_ps + params->network_latency + params->nic_latency + params->completion);
}

/* A client's request until it is at the server's NIC. */
void rpmi_make_from_client(struct rpmi_maker *maker, bool payload)
{
    const struct rpmi_params *params = maker->params;
    uint64_t fetch_ps =
        payload && maker->bytes > params->nic_inline ? params->pcie_read + params->llc_latency : 0;

    rpmi_make_hop(maker, RPMI_HOP_POST, 0, params->nic_post);
    rpmi_make_hop(maker, RPMI_HOP_DELAY, 0,
                  fetch_ps + params->nic_latency + params->network_latency);
    rpmi_make_unit(maker);
    rpmi_make_hop(maker, RPMI_HOP_SPLIT, 0, 0);
}

/* The NIC's buffer holds a payload until it is placed. */
void rpmi_make_place(struct rpmi_maker *maker)
{
    if (maker->soc)
        rpmi_make_soc_write(maker);
    else
        rpmi_make_host_write(maker);
    rpmi_make_hop(maker, RPMI_HOP_GIVE, RPMI_POOL_BUFFER, 0);
}
