/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * connect.c: connections to a server of a world, as <librpm/sim.h> declares them.
 *
 * Invariant: the link of such a connection is the model's own, without a wrapper around it.
 *
 * Tests: tests/unit/transport/sim/connect_test.cpp
 */
#include "base/assert.h"
#include "base/err.h"
#include "conn/conn.h"
#include "transport/sim/sim.h"

int rpm_sim_connect(struct rpm_sim *sim, uint32_t server, const struct rpm_conn_opts *opts,
                    struct rpm_conn **conn)
{
    rpmi_begin();

    struct rpmi_link_opts link_opts;
    struct rpmi_link *link;
    int err;

    RPM_ASSERT(sim != NULL && conn != NULL);
    err = rpmi_conn_link_opts(opts, &link_opts);
    if (err == 0)
        err = rpmi_sim_link_open(sim, server, &link_opts, &link);
    if (err != 0)
        return err;
    return rpmi_conn_wrap(link, opts, conn);
}

void rpm_sim_kill_client(struct rpm_conn *conn)
{
    RPM_ASSERT(conn != NULL && conn->link->ops == &rpmi_sim_transport);
    rpmi_sim_link_kill(conn->link);
}

void rpm_sim_kill_client_at(struct rpm_conn *conn, uint64_t events)
{
    RPM_ASSERT(conn != NULL && conn->link->ops == &rpmi_sim_transport);
    rpmi_sim_link_kill_at(conn->link, events);
}
