/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * totals.c: the cost of a run: counters of the memory modules, and latencies of operations.
 *
 * Tests: tests/unit/sim/perf/totals_test.cpp
 */
#include "sim/perf/server_model.h"

#include <stdlib.h>

void rpmi_server_counters(const struct rpmi_server_model *server, struct rpm_cost *cost)
{
    uint64_t line =
        server->load.memory == RPM_LOAD_DRAM ? RPMI_LINE_BYTES : server->params->media_line;
    uint32_t first = server->load.memory == RPM_LOAD_DRAM ? RPMI_SERVER_MODULES : 0;

    memset(cost, 0, sizeof(*cost));
    for (uint32_t i = first; i < first + server->modules; i++) {
        const struct rpmi_module_counts *count = &server->module[i].count;

        cost->media_read_bytes += count->media_reads * line;
        cost->media_write_bytes += count->media_writes * line;
        cost->module_read_bytes += count->reads * RPMI_LINE_BYTES;
        cost->module_write_bytes += count->writes * RPMI_LINE_BYTES;
    }
    cost->partial_words = server->partial_words;
}

void rpmi_server_finish(struct rpmi_server_model *server, uint64_t start_ps, uint64_t end_ps)
{
    if (server->finished >= server->warm_up &&
        server->finished < server->warm_up + server->load.ops)
        server->latency_ps[server->finished - server->warm_up] = end_ps - start_ps;
    server->finished++;
    if (server->finished == server->warm_up) {
        server->begin_ps = server->now_ps;
        rpmi_server_counters(server, &server->before);
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Nearest rank. */
static uint64_t rank(const uint64_t *latency_ps, uint64_t count, uint64_t per_mille)
{
    uint64_t nth = (count * per_mille + 999) / 1000;

    return latency_ps[nth == 0 ? 0 : nth - 1];
}

void rpmi_server_latencies(uint64_t *latency_ps, struct rpm_cost *cost)
{
    uint64_t sum_ps = 0;

    RPM_ASSERT(cost->ops > 0);
    qsort(latency_ps, cost->ops, sizeof(*latency_ps), by_value);
    for (uint64_t i = 0; i < cost->ops; i++)
        sum_ps += latency_ps[i];
    cost->mean_ps = sum_ps / cost->ops;
    cost->p50_ps = rank(latency_ps, cost->ops, 500);
    cost->p90_ps = rank(latency_ps, cost->ops, 900);
    cost->p99_ps = rank(latency_ps, cost->ops, 990);
    cost->p999_ps = rank(latency_ps, cost->ops, 999);
    cost->max_ps = rank(latency_ps, cost->ops, 1000);
}
