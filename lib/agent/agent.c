/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agent.c: an agent: a front that holds orders, and the loop that carries them to the server.
 *
 * Tests: tests/unit/agent/agent_test.cpp
 */
#include <librpm/agent.h>
#include <librpm/decision.h>

#include "agent/decisions.h"
#include "agent/upstream.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/opts.h"
#include "serve/serve.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define CLIENTS_DEFAULT 64u
#define FLAGS_ALL ((uint32_t)RPM_SERVER_NO_SPIN | (uint32_t)RPM_AGENT_ON_DEMAND)

struct rpm_agent {
    struct rpm_server *front;
    struct rpmi_decisions decisions;
    struct rpmi_upstream upstream;
    int epoll_fd; /* watches the orders, the server's link and stop_fd */
    int stop_fd;
    uint32_t stopping; /* atomic */
    bool spins;
};

static int open_events(struct rpm_agent *agent)
{
    struct epoll_event event = { .events = EPOLLIN };

    agent->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    agent->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (agent->epoll_fd < 0 || agent->stop_fd < 0 ||
        epoll_ctl(agent->epoll_fd, EPOLL_CTL_ADD, agent->stop_fd, &event) != 0)
        return rpmi_fail(RPM_E_IO, "cannot open the agent's descriptors: %s", strerror(errno));
    return 0;
}

static int open_upstream(struct rpm_agent *agent, const struct rpm_agent_opts *opts)
{
    struct rpmi_upstream *upstream = &agent->upstream;

    if (opts->server == NULL || strlen(opts->server) >= sizeof(upstream->url))
        return rpmi_fail(RPM_E_INVAL, "an agent needs the URL of a server, of at most %zu bytes",
                         sizeof(upstream->url) - 1);
    if (opts->secret != NULL && strlen(opts->secret) >= sizeof(upstream->secret))
        return rpmi_fail(RPM_E_INVAL, "the secret has %zu bytes, above the maximum of %zu",
                         strlen(opts->secret), sizeof(upstream->secret) - 1);
    if (opts->name != NULL && (opts->name[0] == '\0' || strlen(opts->name) > RPM_NAME_MAX))
        return rpmi_fail(RPM_E_INVAL, "the agent's name has %zu bytes, expected are 1 to %d",
                         strlen(opts->name), RPM_NAME_MAX);
    (void)snprintf(upstream->name, sizeof(upstream->name), "%s",
                   opts->name != NULL ? opts->name : "");
    (void)snprintf(upstream->url, sizeof(upstream->url), "%s", opts->server);
    (void)snprintf(upstream->secret, sizeof(upstream->secret), "%s",
                   opts->secret != NULL ? opts->secret : "");
    upstream->timeout_us = opts->timeout_us != 0 ? opts->timeout_us : RPMI_TIMEOUT_DEFAULT_US;
    upstream->epoll_fd = agent->epoll_fd;
    upstream->holds = agent->spins;
    return rpmi_upstream_dial(upstream);
}

/* The front lends no memory: its clients must send their orders to it. */
static int open_front(struct rpm_agent *agent, const struct rpm_agent_opts *opts)
{
    struct rpm_server_opts front = rpm_server_opts_init();
    struct epoll_event event = { .events = EPOLLIN };
    int err;

    if ((opts->flags & ~FLAGS_ALL) != 0)
        return rpmi_fail(RPM_E_INVAL,
                         "agent flags %#x, known are RPM_SERVER_NO_SPIN and RPM_AGENT_ON_DEMAND",
                         opts->flags);
    front.listen = opts->listen;
    front.pool_bytes = RPMI_POOL_BYTES_MIN;
    front.flags = RPM_SERVER_NO_DIRECT | (opts->flags & (uint32_t)RPM_SERVER_NO_SPIN);
    front.clients_max = (opts->clients_max != 0 ? opts->clients_max : CLIENTS_DEFAULT) + 1;
    front.socket_mode = opts->socket_mode;
    front.secret = opts->secret;
    front.tls_cert = opts->tls_cert;
    front.tls_key = opts->tls_key;
    err = rpm_server_open(&front, &agent->front);
    if (err == 0)
        err = rpmi_orders_open(agent->front);
    if (err == 0)
        err = rpmi_decisions_open(&agent->decisions, agent->front);
    agent->decisions.on_demand = (opts->flags & RPM_AGENT_ON_DEMAND) != 0;
    if (err != 0)
        return err;
    agent->upstream.front = agent->front;
    if (epoll_ctl(agent->epoll_fd, EPOLL_CTL_ADD, agent->front->orders->event_fd, &event) != 0)
        return rpmi_fail(RPM_E_IO, "cannot watch a descriptor: %s", strerror(errno));
    return 0;
}

int rpm_agent_open(const struct rpm_agent_opts *opts, struct rpm_agent **agent)
{
    rpmi_begin();

    struct rpm_agent_opts wanted = rpm_agent_opts_init();
    struct rpm_agent *fresh;
    int err;

    RPM_ASSERT(agent != NULL);
    err = opts == NULL ? rpmi_fail(RPM_E_INVAL, "options are missing: an agent needs at least a "
                                                "server and an address to listen at")
                       : rpmi_opts_in(&wanted, sizeof(wanted), opts);
    if (err != 0)
        return err;
    fresh = rpmi_alloc(sizeof(*fresh), RPMI_LINE_BYTES);
    if (fresh == NULL)
        return RPM_E_NOMEM;
    fresh->epoll_fd = fresh->stop_fd = -1;
    fresh->spins = (wanted.flags & RPM_SERVER_NO_SPIN) == 0;
    err = open_events(fresh);
    if (err == 0)
        err = open_upstream(fresh, &wanted); /* before it listens: it may have been given itself */
    if (err == 0)
        err = open_front(fresh, &wanted);
    if (err != 0) {
        rpm_agent_close(&fresh);
        return err;
    }
    *agent = fresh;
    return 0;
}

struct rpm_server *rpm_agent_front(struct rpm_agent *agent)
{
    RPM_ASSERT(agent != NULL && agent->front != NULL);
    return agent->front;
}

static bool stopping(const struct rpm_agent *agent)
{
    return __atomic_load_n(&agent->stopping, __ATOMIC_ACQUIRE) != 0;
}

/* Sleep until an order or an answer comes. */
static int sleep_till_event(struct rpm_agent *agent)
{
    struct epoll_event event;
    uint64_t by_ns = UINT64_MAX;
    uint64_t now_ns;
    uint64_t orders;
    int timeout_ms = -1;

    (void)!read(agent->front->orders->event_fd, &orders, sizeof(orders));
    if (rpmi_upstream_turn(&agent->upstream, rpmi_clock_ns()))
        return 0; /* an order that came before the descriptor was read */
    /* The last call on the link before the wait: a turn would consume the event. */
    if (rpmi_upstream_arm(&agent->upstream, &by_ns) != 0)
        return 0;
    now_ns = rpmi_clock_ns();
    if (by_ns != UINT64_MAX)
        timeout_ms = by_ns > now_ns ? (int)((by_ns - now_ns) / 1000000 + 1) : 0;
    if (epoll_wait(agent->epoll_fd, &event, 1, timeout_ms) < 0 && errno != EINTR)
        return rpmi_fail(RPM_E_IO, "cannot wait for orders: %s", strerror(errno));
    return 0;
}

int rpm_agent_work(struct rpm_agent *agent)
{
    rpmi_begin();

    uint64_t spin_until_ns = 0;
    int err = 0;

    while (err == 0 && !stopping(agent)) {
        uint64_t now_ns = rpmi_clock_ns();

        if (rpmi_upstream_turn(&agent->upstream, now_ns))
            spin_until_ns = agent->spins ? now_ns + RPMI_SPIN_NS : 0;
        else if (now_ns < spin_until_ns)
            (void)sched_yield(); /* the front's engine may be waiting for this CPU */
        else
            err = sleep_till_event(agent);
    }
    return err;
}

int rpm_agent_stage(struct rpm_agent *agent, const struct rpm_decision *decision)
{
    rpmi_begin();

    struct rpm_decision ours = rpm_decision_init();
    struct rpmi_decision line;
    int err;

    RPM_ASSERT(agent != NULL && decision != NULL);
    err = rpmi_opts_in(&ours, sizeof(ours), decision);
    if (err != 0)
        return err;
    line = (struct rpmi_decision){ .epoch = ours.epoch,
                                   .log_id = ours.log_id,
                                   .head_lsn = ours.head_lsn,
                                   .trim_lsn = ours.trim_lsn,
                                   .last_lsn = ours.last_lsn,
                                   .last_sum = ours.last_sum,
                                   .number = 1 };
    if (!rpmi_decision_is_sound(&line))
        return rpmi_fail(RPM_E_INVAL, "no decision that rpm_archiver_decide() returned");
    return rpmi_decisions_stage(&agent->decisions, &line) ? 1 : 0;
}

void rpm_agent_stop(struct rpm_agent *agent)
{
    uint64_t one = 1;
    int saved = errno;

    __atomic_store_n(&agent->stopping, 1, __ATOMIC_RELEASE);
    if (write(agent->stop_fd, &one, sizeof(one)) < 0)
        errno = saved; /* full: an earlier write wakes the reader */
    rpm_server_stop(agent->front);
    errno = saved;
}

int rpm_agent_stats(const struct rpm_agent *agent, struct rpm_agent_stats *stats)
{
    rpmi_begin();

    const struct rpmi_upstream_stats *from = &agent->upstream.stats;
    struct rpm_agent_stats found = {
        .orders = __atomic_load_n(&from->orders, __ATOMIC_RELAXED),
        .lists = __atomic_load_n(&from->lists, __ATOMIC_RELAXED),
        .failed = __atomic_load_n(&from->failed, __ATOMIC_RELAXED),
        .dials = __atomic_load_n(&from->dials, __ATOMIC_RELAXED),
        .staged = __atomic_load_n(&agent->decisions.staged, __ATOMIC_RELAXED),
        .carried = __atomic_load_n(&from->carried, __ATOMIC_RELAXED),
        .setup_ns = __atomic_load_n(&from->setup_ns, __ATOMIC_RELAXED),
        .hold_ns = __atomic_load_n(&from->hold_ns, __ATOMIC_RELAXED),
        .execute_ns = __atomic_load_n(&from->execute_ns, __ATOMIC_RELAXED),
    };

    return rpmi_opts_out(stats, &found, sizeof(found));
}

void rpm_agent_close(struct rpm_agent **agent)
{
    struct rpm_agent *ours;

    RPM_ASSERT(agent != NULL);
    ours = *agent;
    if (ours == NULL)
        return;
    rpmi_upstream_close(&ours->upstream);
    rpm_server_close(&ours->front);
    rpmi_fd_close(&ours->epoll_fd);
    rpmi_fd_close(&ours->stop_fd);
    rpmi_free(ours);
    *agent = NULL;
}
