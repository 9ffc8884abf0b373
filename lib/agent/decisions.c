/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decisions.c: keep the decision of each log in its line.
 *
 * Tests: tests/unit/agent/decisions_test.cpp
 */
#include "agent/decisions.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"

#include <string.h>

static int make_region(struct rpmi_decisions *decisions)
{
    struct rpm_server *front = decisions->front;
    struct rpmi_call call = {
        .kind = RPMI_CALL_OPEN,
        .object = RPM_KIND_DRAM,
        .flags = RPMI_CALL_CREATE,
        .bytes = RPMI_DECISIONS_BYTES,
        .name = RPMI_DECISIONS_NAME,
    };
    struct rpmi_reply reply;
    struct rpmi_span span;
    uint32_t client;
    int err = rpmi_service_attach(front->service, &client);

    if (err != 0)
        return err;
    rpmi_service_call(front->service, client, &call, &reply);
    if (reply.status != 0)
        return rpmi_fail(reply.status, "the agent's region of decisions: %s", reply.text);
    err = rpmi_service_access(front->service, client, reply.key, 0, RPMI_DECISIONS_BYTES,
                              RPMI_RIGHT_WRITE, &span);
    RPM_ASSERT(err == 0 && span.area == RPMI_AREA_DRAM);
    decisions->base = front->dram.base + span.offset;
    return 0;
}

int rpmi_decisions_open(struct rpmi_decisions *decisions, struct rpm_server *front)
{
    int err;

    RPM_ASSERT(decisions->base == NULL && rpmi_serve_is_idle(front));
    decisions->front = front;
    rpmi_serve_lock(front);
    err = make_region(decisions);
    rpmi_serve_unlock(front);
    return err;
}

/* The line for this log in its set: its own, or one to be given up. */
static struct rpmi_decision *line_of(struct rpmi_decision *set, uint64_t log_id)
{
    struct rpmi_decision *oldest = &set[0];

    for (uint32_t way = 0; way < RPMI_DECISION_WAYS; way++) {
        if (set[way].number != 0 && set[way].log_id == log_id)
            return &set[way];
        if (set[way].number < oldest->number)
            oldest = &set[way];
    }
    return oldest;
}

static bool is_same(const struct rpmi_decision *line, const struct rpmi_decision *wanted)
{
    return line->number != 0 && line->epoch == wanted->epoch && line->log_id == wanted->log_id &&
           line->head_lsn == wanted->head_lsn && line->trim_lsn == wanted->trim_lsn &&
           line->last_lsn == wanted->last_lsn && line->last_sum == wanted->last_sum;
}

bool rpmi_decisions_stage(struct rpmi_decisions *decisions, const struct rpmi_decision *wanted)
{
    uint64_t set = rpmi_decision_set(wanted->log_id);
    struct rpmi_decision *line = line_of(decisions->line[set], wanted->log_id);
    uint64_t at = set * RPMI_DECISION_SET_BYTES +
                  (uint64_t)(line - decisions->line[set]) * RPMI_DECISION_BYTES;
    unsigned char bytes[RPMI_DECISION_BYTES];
    uint64_t asked;

    if (is_same(line, wanted))
        return false;
    rpmi_serve_lock(decisions->front);
    asked = rpmi_load64(decisions->base + RPMI_DECISION_WORDS_AT + set * sizeof(asked));
    rpmi_serve_unlock(decisions->front);
    if (decisions->on_demand && asked == decisions->answered[set])
        return false;
    decisions->answered[set] = asked;
    *line = *wanted;
    line->number = ++decisions->number;
    rpmi_decision_put(bytes, line);
    rpmi_serve_lock(decisions->front);
    memcpy(decisions->base + at, bytes, sizeof(bytes));
    rpmi_serve_unlock(decisions->front);
    __atomic_fetch_add(&decisions->staged, 1, __ATOMIC_RELAXED);
    return true;
}
