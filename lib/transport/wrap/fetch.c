/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fetch.c: read an agent's decisions.
 *
 * Tests: tests/unit/transport/wrap/fetch_test.cpp
 */
#include "transport/wrap/fetch.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "base/err.h"
#include "transport/wrap/agent.h"

#include <inttypes.h>
#include <string.h>

#define FETCH_ID 1u /* of a READ; lists have 0 */

void rpmi_fetch_dialled(struct rpmi_agent *agent, uint64_t timeout_us)
{
    struct rpmi_fetch *fetch = &agent->fetch;
    struct rpmi_link *link = agent->link;
    struct rpmi_call call = {
        .kind = RPMI_CALL_OPEN,
        .object = RPM_KIND_DRAM,
        .name = RPMI_DECISIONS_NAME,
    };
    struct rpmi_reply reply;
    int err;

    RPM_ASSERT(link != NULL && !fetch->sent && fetch->key == 0);
    if (!fetch->wanted)
        return;
    err = link->ops->call(link, &call, &reply, link->ops->now_ns(link) + timeout_us * 1000);
    if (err != 0)
        link->lost = err; /* dial it again, rather than go on without the region */
    err = err != 0 ? err : reply.status;
    if (err == 0 && reply.bytes < RPMI_DECISIONS_BYTES)
        err = rpmi_fail(RPM_E_PROTO, "its region '%s' has %" PRIu64 " bytes, expected are %u",
                        RPMI_DECISIONS_NAME, reply.bytes, RPMI_DECISIONS_BYTES);
    fetch->set = link->ops->stage(link, RPMI_DECISION_SET_BYTES);
    fetch->word = link->ops->stage(link, RPMI_LINE_BYTES);
    if (err == 0 && (fetch->set == NULL || fetch->word == NULL))
        err = RPM_E_NOMEM;
    if (err == 0)
        fetch->key = reply.key;
    else
        rpmi_diag(RPM_DIAG_NOTICE,
                  "the agent %s has no decisions, so logs are not trimmed by them: %s",
                  agent->address.url,
                  err == RPM_E_NOENT ? "it is of an older librpm" : rpm_strerror(err));
}

void rpmi_fetch_want(struct rpmi_agent *agent)
{
    if (agent->fetch.wanted)
        return;
    agent->fetch.wanted = true;
    if (agent->link != NULL && agent->link->lost == 0)
        rpmi_fetch_dialled(agent, agent->timeout_us);
}

void rpmi_fetch_hang_up(struct rpmi_agent *agent)
{
    agent->fetch = (struct rpmi_fetch){ .wanted = agent->fetch.wanted };
}

/* The READ has ended. */
static void finish(struct rpmi_fetch *fetch, int status)
{
    RPM_ASSERT(fetch->sent);
    fetch->sent = false;
    fetch->come = status == 0;
    if (status != 0)
        fetch->key = 0; /* this connection has no region any more */
}

/* As poll(), for one completion of a list. */
static int poll_link(struct rpmi_agent *agent, struct rpmi_done *done)
{
    int n = agent->link->ops->poll(agent->link, done, 1);

    if (n != 1 || done->id != FETCH_ID || !agent->fetch.sent)
        return n;
    finish(&agent->fetch, done->status);
    return agent->link->ops->poll(agent->link, done, 1);
}

int rpmi_fetch_poll(struct rpmi_agent *agent, struct rpmi_done *done)
{
    if (!agent->fetch.kept)
        return poll_link(agent, done);
    agent->fetch.kept = false;
    *done = agent->fetch.list;
    return 1;
}

void rpmi_fetch_send(struct rpmi_agent *agent, uint64_t log_id, uint64_t ask, uint64_t now_ns)
{
    struct rpmi_fetch *fetch = &agent->fetch;
    uint64_t set = rpmi_decision_set(log_id);
    struct rpmi_op ops[2] = {
        { .kind = RPMI_OP_WRITE,
          .key = fetch->key,
          .offset = RPMI_DECISION_WORDS_AT + set * sizeof(uint64_t),
          .len = sizeof(uint64_t),
          .body_bytes = sizeof(uint64_t) },
        { .kind = RPMI_OP_READ,
          .flags = RPMI_OP_SIGNALED,
          .offset = set * RPMI_DECISION_SET_BYTES,
          .len = RPMI_DECISION_SET_BYTES,
          .id = FETCH_ID },
    };
    uint32_t n = ask != 0 ? 2 : 1;

    if (fetch->sent || agent->link == NULL || fetch->key == 0)
        return;
    ops[0].key = ops[1].key = fetch->key;
    ops[0].body = fetch->word;
    ops[1].into = fetch->set;
    rpmi_store64(fetch->word, ask);
    fetch->come = false;
    fetch->log_id = log_id;
    fetch->sent_ns = now_ns;
    fetch->sent = agent->link->ops->post(agent->link, ops + 2 - n, n) == (int)n;
}

/* The line of the log in the set that was read. */
static bool find(const struct rpmi_fetch *fetch, struct rpmi_decision *found)
{
    for (uint32_t way = 0; way < RPMI_DECISION_WAYS; way++)
        if (rpmi_decision_get(fetch->set + way * RPMI_DECISION_BYTES, found) == 0 &&
            found->log_id == fetch->log_id)
            return true;
    return false;
}

enum rpmi_fetched rpmi_fetch_take(struct rpmi_agent *agent, uint64_t log_id, uint64_t now_ns,
                                  struct rpmi_decision *found, uint32_t *run)
{
    struct rpmi_fetch *fetch = &agent->fetch;
    struct rpmi_done done;

    if (fetch->sent && poll_link(agent, &done) == 1) {
        RPM_ASSERT(!fetch->kept); /* one list is outstanding at a time */
        fetch->kept = true;
        fetch->list = done;
    }
    if (fetch->sent && (agent->link->lost != 0 || now_ns - fetch->sent_ns > RPMI_FETCH_LOST_NS))
        return RPMI_FETCH_LOST;
    if (fetch->log_id != log_id || (!fetch->sent && !fetch->come))
        return RPMI_FETCH_IDLE;
    if (fetch->sent)
        return RPMI_FETCH_SENT;
    fetch->come = false;
    *run = agent->link->server_epoch;
    return find(fetch, found) ? RPMI_FETCH_LINE : RPMI_FETCH_NOTHING;
}
