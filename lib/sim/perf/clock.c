/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock.c: how the parts of a modelled server reach each other: by an event in the queue, or by one
 * that the dispatch function of server_run.c handles at once. Every part may call this file.
 *
 * Tests: tests/unit/sim/perf/clock_test.cpp
 */
#include "sim/perf/server_model.h"

void rpmi_server_at(struct rpmi_server_model *server, uint64_t at_ps, enum rpmi_perf_event kind,
                    uint32_t who, uint32_t owner, uint64_t arg)
{
    struct rpmi_event event = {
        .at = at_ps, .kind = (uint16_t)kind, .who = (uint16_t)who, .gen = owner, .arg = arg
    };

    RPM_ASSERT(at_ps >= server->now_ps);
    rpmi_queue_push(&server->queue, &event);
    if (server->earliest != NULL)
        rpmi_earliest_set(server->earliest, server->index, rpmi_queue_next(&server->queue));
}

bool rpmi_server_take(struct rpmi_server_model *server, struct rpmi_event *event)
{
    bool taken = rpmi_queue_pop(&server->queue, event);

    if (server->earliest != NULL)
        rpmi_earliest_set(server->earliest, server->index, rpmi_queue_next(&server->queue));
    return taken;
}

void rpmi_server_dispatch(struct rpmi_server_model *server, enum rpmi_perf_event kind,
                          uint32_t owner, uint64_t arg)
{
    struct rpmi_event event = {
        .at = server->now_ps, .kind = (uint16_t)kind, .gen = owner, .arg = arg
    };

    server->dispatch(server, &event);
}
