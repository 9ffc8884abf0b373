/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow.c: the flows of a load: their fields' ranges and defaults, and what they cost.
 *
 * Tests: tests/unit/sim/path/flow_test.cpp
 */
#include "sim/path/path_model.h"

#include "base/err.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX (16u << 20)
#define PIECE_MIN 512u
#define PIECES_MAX 16u
#define RANGE_MAX ((uint64_t)64 << 30)
#define MEASURED_BYTES ((uint64_t)64 << 20)

static void set_defaults(struct rpm_path_flow *flow)
{
    uint64_t ops;

    flow->threads = flow->threads == 0 ? 1 : flow->threads;
    flow->depth = flow->depth == 0 ? 1 : flow->depth;
    flow->bytes = flow->bytes == 0 ? 64 : flow->bytes;
    flow->pieces = flow->piece_bytes == 0 ? 1 : flow->pieces == 0 ? RPMI_PATH_PIECES : flow->pieces;
    flow->range_bytes = flow->range_bytes == 0 ? (uint64_t)1 << 30 : flow->range_bytes;
    if (flow->ops != 0)
        return;
    ops = MEASURED_BYTES / flow->bytes;
    flow->ops = ops > 20000 ? 20000 : ops < 16 ? 16 : (uint32_t)ops;
}

static int refuse(uint32_t number, const char *field, uint64_t value, uint64_t least, uint64_t most)
{
    return rpmi_fail(RPM_E_INVAL, "flow %u: %s is %" PRIu64 ", it must be %" PRIu64 " to %" PRIu64,
                     number, field, value, least, most);
}

static int check_ranges(uint32_t number, const struct rpm_path_flow *flow)
{
    const struct {
        const char *field;
        uint64_t value, least, most;
    } range[] = {
        { "path", flow->path, RPM_PATH_HOST, RPM_PATH_SOC_ONLY },
        { "op", flow->op, RPM_PATH_READ, RPM_PATH_SEND },
        { "threads", flow->threads, 1, RPMI_PATH_THREADS_MAX },
        { "depth", flow->depth, 1, RPMI_PATH_DEPTH_MAX },
        { "bytes", flow->bytes, 1, BYTES_MAX },
        { "pieces", flow->pieces, 1, PIECES_MAX },
        { "ops", flow->ops, 1, RPMI_PATH_OPS_MAX },
        { "range_bytes", flow->range_bytes, flow->bytes, RANGE_MAX },
        { "interval_ps", flow->interval_ps, 0, RPMI_PATH_INTERVAL_MAX },
        { "piece_bytes", flow->piece_bytes == 0 ? PIECE_MIN : flow->piece_bytes, PIECE_MIN,
          BYTES_MAX },
    };

    for (size_t i = 0; i < sizeof(range) / sizeof(range[0]); i++)
        if (range[i].value < range[i].least || range[i].value > range[i].most)
            return refuse(number, range[i].field, range[i].value, range[i].least, range[i].most);
    return 0;
}

int rpmi_flow_check(const struct rpmi_params *params, uint32_t number,
                    const struct rpm_path_flow *theirs, struct rpm_path_flow *ours)
{
    int err;

    *ours = *theirs;
    set_defaults(ours);
    err = check_ranges(number, ours);
    if (err != 0)
        return err;
    if (ours->op == RPM_PATH_SEND && ours->path > RPM_PATH_SOC)
        return rpmi_fail(RPM_E_INVAL,
                         "flow %u: a message on path %u; cores answer messages on paths 1 and 2",
                         number, ours->path);
    if (ours->op == RPM_PATH_SEND && ours->bytes > params->nic_buffer)
        return refuse(number, "bytes of a message", ours->bytes, 1, params->nic_buffer);
    if (params->nic_host_units + params->nic_soc_units >= params->nic_units)
        return rpmi_fail(RPM_E_INVAL,
                         "nic_host_units is %" PRIu64 " and nic_soc_units %" PRIu64
                         "; together they must be less than nic_units, %" PRIu64,
                         params->nic_host_units, params->nic_soc_units, params->nic_units);
    return 0;
}

uint32_t rpmi_flow_message_max(const struct rpm_path_flow *flow)
{
    if (flow->piece_bytes == 0 || flow->piece_bytes > flow->bytes)
        return (uint32_t)flow->bytes;
    return (uint32_t)flow->piece_bytes;
}

int rpmi_flow_open(struct rpmi_flow *flow)
{
    flow->lanes_each = flow->is.pieces;
    flow->thread = rpmi_alloc(flow->is.threads * sizeof(*flow->thread), 64);
    flow->next_start_ps = rpmi_alloc(flow->is.threads * sizeof(*flow->next_start_ps), 64);
    flow->latency_ps = rpmi_alloc(flow->is.ops * sizeof(*flow->latency_ps), 64);
    if (flow->thread == NULL || flow->next_start_ps == NULL || flow->latency_ps == NULL)
        return RPM_E_NOMEM;
    return 0;
}

void rpmi_flow_close(struct rpmi_flow *flow)
{
    rpmi_free(flow->thread);
    rpmi_free(flow->next_start_ps);
    rpmi_free(flow->latency_ps);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

void rpmi_flow_cost(struct rpmi_flow *flow, uint64_t duration_ps, struct rpm_path_cost *cost)
{
    uint64_t count = flow->measured < flow->is.ops ? flow->measured : flow->is.ops;
    uint64_t sum_ps = 0;

    RPM_ASSERT(count > 0);
    qsort(flow->latency_ps, count, sizeof(*flow->latency_ps), by_value);
    for (uint64_t i = 0; i < count; i++)
        sum_ps += flow->latency_ps[i];
    *cost = (struct rpm_path_cost){ .ops = flow->measured,
                                    .duration_ps = duration_ps,
                                    .bytes = flow->measured * flow->is.bytes,
                                    .p50_ps = flow->latency_ps[(count * 50 + 99) / 100 - 1],
                                    .p99_ps = flow->latency_ps[(count * 99 + 99) / 100 - 1],
                                    .max_ps = flow->latency_ps[count - 1],
                                    .mean_ps = sum_ps / count,
                                    .pcie0_bytes = flow->pcie_bytes[0],
                                    .pcie1_bytes = flow->pcie_bytes[1] };
}
