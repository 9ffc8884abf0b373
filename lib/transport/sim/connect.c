/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * connect.c: connections to a server of a world, as <librpm/sim.h> declares them.
 *
 * Invariant: the link of such a connection is the model's own, behind that of an agent if it has
 * one, and behind no other wrapper.
 *
 * Tests: tests/unit/transport/sim/connect_test.cpp
 */
#include "base/assert.h"
#include "base/err.h"
#include "conn/conn.h"
#include "transport/sim/sim.h"
#include "transport/wrap/carry.h"
#include "transport/wrap/faulty_agent.h"
#include "transport/wrap/order_link.h"
#include "transport/wrap/soc_agent.h"

#include <stdio.h>
#include <stdlib.h>

#define LATE_ONE_IN 8u /* one of so many lists of a writer is late at a SoC; a coarse choice */

_Static_assert((int)RPMI_SOC_COPYING == (int)RPMI_COPY_UNDER_WAY, "same numbers");
_Static_assert((int)RPMI_SOC_COPIED == (int)RPMI_COPY_DONE, "same numbers");
_Static_assert((int)RPMI_SOC_REFUSED == (int)RPMI_COPY_REFUSED, "same numbers");

static uint64_t soc_copy(void *context, uint32_t client, const struct rpmi_step *carry)
{
    const struct rpmi_sim_client *agent = context;

    return rpmi_engine_copy(agent->machine, client, carry);
}

static enum rpmi_soc_copy soc_state(void *context, uint64_t id)
{
    const struct rpmi_sim_client *agent = context;

    return (enum rpmi_soc_copy)rpmi_engine_state(agent->machine, id);
}

static uint64_t soc_travel_ns(void *context)
{
    const struct rpmi_sim_client *agent = context;
    const struct rpmi_delays *ns = &agent->world->preset.ns;
    bool late = rpmi_rng_below(&agent->world->rng, LATE_ONE_IN) == 0;

    return ns->post + ns->network +
           rpmi_rng_below(&agent->world->rng, late ? ns->nic_slow : ns->nic);
}

static uint64_t soc_below(void *context, uint64_t bound)
{
    const struct rpmi_sim_client *agent = context;

    return rpmi_rng_below(&agent->world->rng, bound);
}

/* The agent whose own connection to the server this is runs on the server's SoC. */
static int put_on_soc(struct rpmi_link **link)
{
    struct rpmi_sim_client *agent = rpmi_sim_link_of(*link)->client;
    const struct rpmi_soc_engine engine = { agent, soc_copy, soc_state, soc_travel_ns, soc_below };
    int err = rpmi_soc_open(*link, &engine, link);

    agent->on_soc = err == 0;
    return err;
}

/* The agent's own connection to the server whose number is the URL, with a 'c' behind it if it is
 * one that carries records. */
static int dial_agent(void *context, const char *url, const struct rpmi_link_opts *opts,
                      struct rpmi_link **link)
{
    struct rpm_sim *sim = context;
    struct rpmi_link *inner;
    char *end;
    uint32_t server = (uint32_t)strtoul(url, &end, 10);
    int err = rpmi_sim_link_open(sim, server, opts, &inner);

    if (err != 0)
        return err;
    err = *end == 'c' ? rpmi_carry_enrol(inner, RPMI_SIM_AGENT, opts->timeout_us) : 0;
    if (err != 0) {
        inner->ops->close(inner);
        return err;
    }
    if (sim->agent_on_soc)
        err = put_on_soc(&inner);
    if (err == 0 && sim->agent_faults_ppm != 0)
        err = rpmi_faulty_agent_open(inner, sim->agent_faults_ppm, rpmi_rng_next(&sim->world->rng),
                                     &inner);
    if (err == 0)
        *link = inner;
    else
        inner->ops->close(inner);
    return err;
}

int rpmi_sim_add_agent(struct rpm_sim *sim, uint32_t server, const struct rpmi_link_opts *opts,
                       bool carries, struct rpmi_link **link)
{
    struct rpmi_agent_address address = { .dial = dial_agent, .context = sim };
    struct rpmi_link *outer = NULL;
    int err;

    (void)snprintf(address.url, sizeof(address.url), "%u%s", server, carries ? "c" : "");
    (void)snprintf(address.carry, sizeof(address.carry), "%s", carries ? RPMI_SIM_AGENT : "");
    err = rpmi_order_open(*link, &address, opts->timeout_us, &outer);
    if (err != 0)
        (*link)->ops->close(*link);
    else
        *link = outer;
    return err;
}

static int connect_to(struct rpm_sim *sim, uint32_t server, const struct rpm_conn_opts *opts,
                      bool agent, struct rpm_conn **conn)
{
    struct rpmi_link_opts link_opts;
    struct rpmi_link *link;
    int err;

    RPM_ASSERT(sim != NULL && conn != NULL);
    err = rpmi_conn_link_opts(opts, &link_opts);
    if (err == 0)
        err = rpmi_sim_link_open(sim, server, &link_opts, &link);
    if (err == 0 && agent)
        err = rpmi_sim_add_agent(sim, server, &link_opts,
                                 opts != NULL && opts->method == RPM_METHOD_CARRY, &link);
    if (err != 0)
        return err;
    return rpmi_conn_wrap(link, opts, conn);
}

int rpm_sim_connect(struct rpm_sim *sim, uint32_t server, const struct rpm_conn_opts *opts,
                    struct rpm_conn **conn)
{
    rpmi_begin();
    return connect_to(sim, server, opts, false, conn);
}

int rpm_sim_connect_agent(struct rpm_sim *sim, uint32_t server, const struct rpm_conn_opts *opts,
                          struct rpm_conn **conn)
{
    rpmi_begin();
    return connect_to(sim, server, opts, true, conn);
}

/* The links of a client machine: its own, and that of an agent on it. One on the server's SoC does
 * not die with the client. */
static void each_link(struct rpm_conn *conn, void (*kill)(struct rpmi_link *, uint64_t),
                      uint64_t events)
{
    struct rpmi_order *order = (struct rpmi_order *)(void *)conn->link;
    struct rpmi_link *agent;

    if (conn->link->ops == &rpmi_sim_transport) {
        kill(conn->link, events);
        return;
    }
    RPM_ASSERT(order->wrap.inner->ops == &rpmi_sim_transport);
    kill(order->wrap.inner, events);
    agent = order->agent.link != NULL ? rpmi_faulty_agent_inner(order->agent.link) : NULL;
    if (agent != NULL && agent->ops == &rpmi_sim_transport)
        kill(agent, events);
}

static void kill_now(struct rpmi_link *link, uint64_t events)
{
    (void)events;
    rpmi_sim_link_kill(link);
}

void rpm_sim_kill_client(struct rpm_conn *conn)
{
    RPM_ASSERT(conn != NULL);
    each_link(conn, kill_now, 0);
    conn->link->lost = RPM_E_LOST;
}

void rpm_sim_kill_client_at(struct rpm_conn *conn, uint64_t events)
{
    RPM_ASSERT(conn != NULL);
    each_link(conn, rpmi_sim_link_kill_at, events);
}
