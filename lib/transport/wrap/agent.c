/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agent.c: ask an agent for certificates, and judge what it answers.
 *
 * Tests: tests/unit/transport/wrap/agent_test.cpp
 */
#include "transport/wrap/agent.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/canary.h"
#include "base/diag.h"
#include "base/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define OPEN_US 1000000u /* that opening a connection may wait for an agent that is stopped */
#define AGENT_STAGING (1u << 20)

int rpmi_agent_set_address(struct rpmi_agent_address *address, const char *url, const char *secret)
{
    if (strlen(url) >= sizeof(address->url) ||
        (secret != NULL && strlen(secret) >= sizeof(address->secret)))
        return rpmi_fail(RPM_E_INVAL, "agent=%.40s...: the URL or the secret is too long", url);
    (void)snprintf(address->url, sizeof(address->url), "%s", url);
    for (char *c = address->url; (c = strchr(c, '+')) != NULL;)
        *c = ',';
    if (strstr(address->url, ",agent=") != NULL)
        return rpmi_fail(RPM_E_INVAL,
                         "agent=%s names an agent of the agent; expected is the address at which "
                         "rpm-agent listens (--listen)",
                         url);
    (void)snprintf(address->secret, sizeof(address->secret), "%s", secret != NULL ? secret : "");
    return 0;
}

static void hang_up(struct rpmi_agent *agent)
{
    if (agent->link != NULL)
        agent->link->ops->close(agent->link);
    agent->link = NULL;
    agent->asks = agent->steps = 0; /* the list of this connection is never answered */
    rpmi_fetch_hang_up(agent);
}

static int dial(struct rpmi_agent *agent, uint64_t now_ns, uint64_t timeout_us)
{
    const struct rpmi_link_opts opts = {
        .timeout_us = timeout_us,
        .depth = RPMI_DEPTH_DEFAULT,
        .staging_bytes = AGENT_STAGING,
        .secret = agent->address.secret,
    };
    struct rpmi_link *link;
    int err;

    RPM_ASSERT(agent->link == NULL);
    err = agent->address.dial(agent->address.context, agent->address.url, &opts, &link);
    if (err != 0)
        return err;
    agent->link = link;
    if ((link->flags & RPMI_LINK_STEPS) == 0 || (link->flags & RPMI_LINK_COMPLETES_ON_POST) != 0)
        err = rpmi_fail(RPM_E_NOCAP,
                        "agent=%s: this connection maps the pool of a server; expected is an "
                        "agent: give the address at which rpm-agent listens (--listen)",
                        agent->address.url);
    agent->list = link->ops->stage(link, RPMI_STEPS_BYTES);
    agent->answer = link->ops->stage(link, RPMI_STEPS_BYTES);
    if (err == 0 && (agent->list == NULL || agent->answer == NULL))
        err = RPM_E_NOMEM;
    if (err == 0 && agent->epoll_fd >= 0)
        err = link->ops->watch(link, agent->epoll_fd);
    if (err != 0) {
        hang_up(agent);
        return err;
    }
    agent->setup_ns = link->ops->now_ns(link);
    agent->setup_ns -= agent->setup_ns < now_ns ? agent->setup_ns : now_ns;
    rpmi_fetch_dialled(agent, timeout_us);
    return 0;
}

static void leave_alone(struct rpmi_agent *agent, uint64_t now_ns)
{
    agent->away_until_ns = now_ns + agent->pause_ns;
    if (agent->pause_ns < RPMI_AGENT_PAUSE_MAX_NS)
        agent->pause_ns *= 2;
    rpmi_diag(RPM_DIAG_NOTICE,
              "the agent %s is of no help; records are flushed by messages to the server for the "
              "next %" PRIu64 " ms: %s",
              agent->address.url, (agent->away_until_ns - now_ns) / 1000000, rpm_last_error());
}

int rpmi_agent_open(struct rpmi_agent *agent, const struct rpmi_agent_address *address,
                    int epoll_fd, uint64_t now_ns, uint64_t timeout_us)
{
    int err;

    agent->address = *address;
    agent->epoll_fd = epoll_fd;
    agent->pause_ns = RPMI_AGENT_PAUSE_NS;
    agent->timeout_us = timeout_us < OPEN_US ? timeout_us : OPEN_US;
    err = dial(agent, now_ns, agent->timeout_us);
    if (err != RPM_E_REFUSED && err != RPM_E_LOST && err != RPM_E_TIMEDOUT && err != RPM_E_NOENT)
        return err;
    leave_alone(agent, now_ns);
    return 0;
}

void rpmi_agent_close(struct rpmi_agent *agent)
{
    hang_up(agent);
}

void rpmi_agent_learn(struct rpmi_agent *agent, const struct rpmi_call *call,
                      const struct rpmi_reply *reply)
{
    uint32_t key = reply->key % RPMI_KEYS_MAX;

    if (reply->status != 0)
        return;
    if (call->kind == RPMI_CALL_OPEN) {
        agent->log_id[key] = call->object == RPM_KIND_LOG ? reply->id : 0;
        agent->claimed[key] = (struct rpmi_claimed){ 0 };
    } else if (call->kind == RPMI_CALL_CLAIM) {
        agent->claimed[key] = (struct rpmi_claimed){
            .log_id = agent->log_id[call->key % RPMI_KEYS_MAX],
            .epoch = reply->epoch,
            .certificate_key = { reply->certificate_key[0], reply->certificate_key[1] },
        };
    } else if (call->kind == RPMI_CALL_CLOSE) {
        agent->claimed[call->key % RPMI_KEYS_MAX] = (struct rpmi_claimed){ 0 };
    }
}

void rpmi_agent_forget(struct rpmi_agent *agent)
{
    memset(agent->log_id, 0, sizeof(agent->log_id));
    memset(agent->claimed, 0, sizeof(agent->claimed));
    agent->carried_steps = agent->carried_bytes = 0;
}

struct rpmi_claimed *rpmi_agent_claim(struct rpmi_agent *agent, uint32_t key)
{
    return key < RPMI_KEYS_MAX && agent->claimed[key].epoch != 0 ? &agent->claimed[key] : NULL;
}

/* It has answered: unless it is left alone now, it will be for a short time only. */
static void answers(struct rpmi_agent *agent, uint64_t now_ns)
{
    if (agent->away_until_ns > now_ns)
        return;
    agent->away_until_ns = 0;
    agent->pause_ns = RPMI_AGENT_PAUSE_NS;
}

void rpmi_agent_late(struct rpmi_agent *agent, uint64_t now_ns)
{
    if (agent->away_until_ns <= now_ns)
        leave_alone(agent, now_ns);
}

bool rpmi_agent_is_away(struct rpmi_agent *agent, uint64_t now_ns, uint64_t late_ns)
{
    if (agent->asks != 0 && now_ns - agent->asked_ns > late_ns)
        rpmi_agent_late(agent, now_ns);
    return agent->away_until_ns > now_ns;
}

bool rpmi_agent_is_free(struct rpmi_agent *agent, uint64_t now_ns, uint64_t dial_ns)
{
    if (agent->away_until_ns > now_ns)
        return false;
    if (agent->link == NULL || agent->link->lost != 0) {
        if (dial_ns == 0)
            return false;
        hang_up(agent);
        if (dial(agent, now_ns, dial_ns / 1000) != 0) {
            leave_alone(agent, now_ns);
            return false;
        }
    }
    return agent->asks == 0;
}

static uint32_t put_list(struct rpmi_agent *agent, const struct rpmi_ask *asks, uint32_t n)
{
    uint32_t bytes = agent->carried_bytes;

    memcpy(agent->list, agent->carried, bytes);
    for (uint32_t i = 0; i < n; i++) {
        const struct rpmi_claimed *claim = rpmi_agent_claim(agent, asks[i].key);
        struct rpmi_step step = { .kind = RPMI_STEP_PROVE, .len = RPMI_CERTIFICATE_BYTES };

        RPM_ASSERT(claim != NULL && asks[i].first_lsn < asks[i].end_lsn);
        step.offset = asks[i].first_lsn;
        step.end_lsn = asks[i].end_lsn;
        step.log_id = claim->log_id;
        step.epoch = claim->epoch;
        bytes += rpmi_step_put(agent->list + bytes, &step);
    }
    RPM_ASSERT(bytes <= RPMI_STEPS_BYTES);
    return bytes;
}

void rpmi_agent_send(struct rpmi_agent *agent, const struct rpmi_ask *asks, uint32_t n,
                     uint64_t now_ns)
{
    struct rpmi_op op = {
        .kind = RPMI_OP_STEPS,
        .flags = RPMI_OP_SIGNALED | RPMI_OP_DURABLE,
        .len = RPMI_STEPS_ANSWER_HEAD + n * RPMI_CERTIFICATE_BYTES,
        .body = agent->list,
        .into = agent->answer,
    };

    RPM_ASSERT(agent->asks == 0 && n > 0 && n <= RPMI_ASKS_MAX);
    op.body_bytes = put_list(agent, asks, n);
    agent->steps = agent->carried_steps;
    agent->carried_steps = agent->carried_bytes = 0;
    if (agent->link->ops->post(agent->link, &op, 1) != 1) {
        hang_up(agent); /* one that takes no list is of no use as it is */
        leave_alone(agent, now_ns);
        return;
    }
    memcpy(agent->ask, asks, n * sizeof(asks[0]));
    for (uint32_t i = 0; i < n; i++)
        agent->ask[i].epoch = rpmi_agent_claim(agent, asks[i].key)->epoch;
    agent->asks = n;
    agent->asked_ns = now_ns;
    agent->stats.lists++;
    agent->stats.orders += n;
}

/* Does the certificate say of the claim what was asked? False: it is none. */
static bool judge(struct rpmi_agent *agent, uint32_t i, uint32_t server_epoch, enum rpm_level level)
{
    const struct rpmi_ask *ask = &agent->ask[i];
    const unsigned char *bytes =
        agent->answer + RPMI_STEPS_ANSWER_HEAD + (uint64_t)i * RPMI_CERTIFICATE_BYTES;
    struct rpmi_claimed *claim = rpmi_agent_claim(agent, ask->key);
    struct rpmi_certificate found;
    int err;

    if (claim == NULL || claim->epoch != ask->epoch)
        return true; /* the claim has ended meanwhile */
    err = rpmi_certificate_get(bytes, claim->certificate_key, &found);
    if (err == RPM_E_BUSY)
        return true; /* the server had too much to certify at once: ask again */
    if (err == RPM_E_DENIED || err == RPM_E_PROTO)
        agent->lied = true;
    if (RPMI_CANARY(ORDER_SHORT) && err == 0)
        found.end_lsn = ask->end_lsn;
    if (err != 0 || found.log_id != claim->log_id || found.epoch != claim->epoch ||
        found.server_epoch != server_epoch || found.level < (uint32_t)level)
        return false;
    /* One that begins behind the records may be true, but says nothing of those in front. */
    if ((RPMI_CANARY(CERTIFICATE_BEYOND) || found.first_lsn <= ask->first_lsn) &&
        found.end_lsn > claim->certified_lsn)
        claim->certified_lsn = found.end_lsn;
    return true;
}

/* An agent that closes the connection, or is gone, is noticed by a poll, also of an idle link. */
static bool is_gone(struct rpmi_agent *agent)
{
    struct rpmi_done done;

    return rpmi_fetch_poll(agent, &done) != 0 || agent->link->lost != 0;
}

bool rpmi_agent_take(struct rpmi_agent *agent, uint32_t server_epoch, enum rpm_level level,
                     uint64_t now_ns)
{
    struct rpmi_done done;
    uint32_t done_steps = 0;
    uint32_t refused = 0;
    int n;

    if (agent->link == NULL)
        return false;
    if (agent->asks == 0) {
        if (is_gone(agent)) {
            hang_up(agent);
            leave_alone(agent, now_ns);
        }
        return false;
    }
    n = rpmi_fetch_poll(agent, &done);
    if (n == 0 && agent->link->lost == 0)
        return false;
    if (n != 1 || done.status != 0 ||
        rpmi_steps_answer_get(agent->answer, agent->steps + agent->asks, &done_steps) != 0) {
        hang_up(agent);
        leave_alone(agent, now_ns);
        return true;
    }
    for (uint32_t i = 0; agent->steps + i < done_steps; i++)
        refused += judge(agent, i, server_epoch, level) ? 0 : 1;
    agent->asks = agent->steps = 0;
    agent->stats.refused += refused;
    if (refused != 0)
        leave_alone(agent, now_ns); /* it is of no use, whether it lies or the claim has ended */
    answers(agent, now_ns);
    return true;
}

enum rpmi_fetched rpmi_agent_fetched(struct rpmi_agent *agent, uint64_t log_id, uint64_t now_ns,
                                     struct rpmi_decision *found, uint32_t *run)
{
    enum rpmi_fetched fetched = rpmi_fetch_take(agent, log_id, now_ns, found, run);

    if (fetched == RPMI_FETCH_LOST) {
        hang_up(agent);
        (void)rpmi_fail(RPM_E_TIMEDOUT, "it does not let its decisions be read");
        rpmi_agent_late(agent, now_ns);
    } else if (fetched >= RPMI_FETCH_NOTHING) {
        answers(agent, now_ns);
    }
    return fetched;
}

void rpmi_agent_fetch(struct rpmi_agent *agent, uint64_t log_id, uint64_t ask, uint64_t now_ns,
                      uint64_t dial_ns)
{
    (void)rpmi_agent_is_free(agent, now_ns, dial_ns); /* dials, if it must */
    if (agent->away_until_ns <= now_ns)
        rpmi_fetch_send(agent, log_id, ask, now_ns);
}
