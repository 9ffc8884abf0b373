/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agent.h: an agent: a process beside a server, on its machine, on another one or on a DPU, that
 * has the server certify the records of many writers at once. A writer names it in the URL of its
 * connection: "verbs://HOST:7471,agent=tcp://HOST:7480". It is worth running where a READ proves
 * nothing, so that the server CPU must flush (rpm_explain() says where), and writers are many.
 *
 * A writer that also names the agent, "...,agent=URL,carry=NAME", sends it the bytes of its records
 * (method carry), which the server then stores and certifies by one message. The server must
 * declare an agent of that name. It stores only what the writer made, and only while the writer's
 * claim lasts, so that an agent that is late, or lies, costs time and no record.
 *
 * An order is a writer's request to certify some of its records. The agent sends the orders of many
 * writers to the server as one list. It keeps nothing: each certificate has a proof that only the
 * server and the writer can make. The writer measures how long agent and server take, and asks the
 * faster one; with RPM_METHOD_ORDER in its options it always asks the agent. If the agent has not
 * answered within eight times its average time, at least 1 ms and at most 10 ms, or has answered
 * wrongly, the writer has the server flush the records. If the agent answers nothing in time for
 * 10 ms, or four times its average time, the writer sends it no order for 1 s, and for twice as
 * long after each further failure, up to about a minute.
 *
 * A writer without a calibration first has the server flush its records, and asks the agent about
 * one group of records in a hundred to measure how long it takes. With
 * "...,agent=URL,calibration=FILE" it begins with the times that rpm-pathbench --calibrate has
 * written to FILE, asks the faster of the two from the first group on, and replaces these times by
 * what it measures.
 *
 * An agent has three loops: the two of its front, which is a server (<librpm/server.h>) that its
 * clients connect to, and rpm_agent_work().
 */
#ifndef LIBRPM_AGENT_H
#define LIBRPM_AGENT_H

#include <librpm/server.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rpm_agent;

enum rpm_agent_flag {
    RPM_AGENT_ON_DEMAND = 1u << 16 /* stage a decision (<librpm/decision.h>) only after a writer has
                                      asked for one */
};

struct rpm_agent_opts {
    size_t size;          /* sizeof this struct as the caller compiled it */
    const char *server;   /* URL of the server; over shm: with mode=ring. Borrowed until return */
    const char *secret;   /* of the server, and of the agent's clients; NULL: none. Borrowed until
                            return */
    const char *listen;   /* addresses of the front, as rpm_server_opts.listen. Borrowed until
                            return */
    const char *tls_cert; /* as in rpm_server_opts, and the next four */
    const char *tls_key;
    uint32_t clients_max; /* at most 1023: the agent is one client of its front */
    uint32_t socket_mode;
    uint32_t flags;      /* RPM_SERVER_NO_SPIN, enum rpm_agent_flag */
    uint64_t timeout_us; /* how long dialling the server may take; 0: 5 s */
    const char *name; /* by which the server declares this agent (rpm_server_opts.agents), so that
                            it may carry records; NULL: it only has them certified. Borrowed until
                            return */
};

static inline struct rpm_agent_opts rpm_agent_opts_init(void)
{
    struct rpm_agent_opts opts;

    memset(&opts, 0, sizeof(opts));
    opts.size = sizeof(opts);
    return opts;
}

struct rpm_agent_stats {
    size_t size;         /* sizeof this struct as the caller compiled it */
    uint64_t orders;     /* answered; each certifies the records of one or several flushes */
    uint64_t lists;      /* sent to the server; each has the records of one or several orders */
    uint64_t failed;     /* orders that could not be answered, because the server was away */
    uint64_t dials;      /* connections made to the server */
    uint64_t staged;     /* decisions of its logs, see <librpm/decision.h> */
    uint64_t carried;    /* pieces of logs, of one or several records each, sent to the server */
    uint64_t setup_ns;   /* how long the last connect to the server took */
    uint64_t hold_ns;    /* sum over all lists answered: from the first order until the list was
                            sent, */
    uint64_t execute_ns; /* and from then until the server's answer */
};

static inline struct rpm_agent_stats rpm_agent_stats_init(void)
{
    struct rpm_agent_stats stats;

    memset(&stats, 0, sizeof(stats));
    stats.size = sizeof(stats);
    return stats;
}

/**
 * rpm_agent_open: connect to the server, and listen.
 *
 * @opts   Borrowed until return.
 * @agent  out, set only on 0. Taken by the caller: rpm_agent_close().
 *
 * Durable:  changes nothing.
 * Errors:   as rpm_conn_open() of the server, RPM_E_NOCAP (the server's pool is mapped: connect
 *           with mode=ring), RPM_E_DENIED (the server declares no agent of this name), and as
 *           rpm_server_open() of the front.
 * Threads:  setup only.
 * Cost:     blocks up to timeout_us.
 */
RPM_MUST_CHECK int rpm_agent_open(const struct rpm_agent_opts *opts, struct rpm_agent **agent);

/**
 * rpm_agent_front: the server that the agent's clients connect to, to run its two loops and for
 * its addresses and counters. Its pool is empty memory.
 *
 * @agent  Borrowed; so is the result, until rpm_agent_close().
 *
 * Threads:  any.
 */
struct rpm_server *rpm_agent_front(struct rpm_agent *agent);

/**
 * rpm_agent_work: hand orders to the server and answers back, until rpm_agent_stop(). If the
 * server is away it is dialled again, every 100 ms to 10 s; orders are refused meanwhile.
 *
 * @agent  Borrowed.
 *
 * Errors:   RPM_E_IO. No message of a client or of the server makes it return.
 * Threads:  one thread, beside the two of the front.
 * Cost:     spins about 50 us after the last order, then sleeps; with RPM_SERVER_NO_SPIN it sleeps
 *           at once.
 */
RPM_MUST_CHECK int rpm_agent_work(struct rpm_agent *agent);

/**
 * rpm_agent_stop: make all three loops return soon.
 *
 * @agent  Borrowed.
 *
 * Threads:  any; safe in a signal handler.
 */
void rpm_agent_stop(struct rpm_agent *agent);

/**
 * rpm_agent_stats: counters since the start.
 *
 * @agent  Borrowed.
 * @stats  in: its size field; out: the rest.
 *
 * Errors:   RPM_E_INVAL.
 * Threads:  any.
 */
RPM_MUST_CHECK int rpm_agent_stats(const struct rpm_agent *agent, struct rpm_agent_stats *stats);

/**
 * rpm_agent_close: disconnect. Safe on NULL.
 *
 * @agent  Taken; set to NULL. All three loops must have returned.
 *
 * Threads:  setup only.
 */
void rpm_agent_close(struct rpm_agent **agent);

#ifdef __cplusplus
}
#endif
#endif
