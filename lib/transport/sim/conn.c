/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conn.c: links: a client machine in a world, shared or of its own.
 *
 * Invariant: a link's staging memory keeps its address across a reconnect.
 *
 * Tests: tests/unit/transport/sim/conn_test.cpp
 */
#include "base/bytes.h"
#include "base/err.h"
#include "base/mem.h"
#include "transport/sim/sim.h"

/* Dial, and run the world until there is an answer or the deadline has passed. */
static int dial(struct rpmi_sim_link *ours, uint64_t deadline_ns)
{
    struct rpmi_sim_client *client = ours->client;
    struct rpmi_world *world = ours->sim->world;
    int err = rpmi_client_dial(client);

    if (err != 0)
        return err;
    while (client->dialling && rpmi_world_step_until(world, deadline_ns))
        ;
    if (client->dialling) {
        client->dialling = false;
        rpmi_world_run_until(world, deadline_ns);
        return rpmi_fail(RPM_E_TIMEDOUT, "sim: server %u does not answer", client->machine->index);
    }
    if (client->refused == RPM_E_REFUSED)
        return rpmi_fail(RPM_E_REFUSED,
                         "sim: no server listens on machine %u; start it with rpm_sim_restart()",
                         client->machine->index);
    if (client->refused != 0)
        return client->refused;
    ours->link.client = client->id;
    ours->link.server_epoch = client->epoch;
    ours->link.facts.pool_starts =
        rpmi_service_starts(ours->sim->server[client->machine->index].service);
    ours->link.lost = 0;
    return 0;
}

static void link_free(struct rpmi_sim_link *ours)
{
    if (ours->client != NULL) {
        RPM_ASSERT(ours->sim->links > 0); /* the world is not closed before its links */
        rpmi_client_close(ours->client);
        ours->sim->links--;
    }
    rpmi_sim_unstage_all(ours);
    if (ours->owns_world)
        rpm_sim_close(&ours->sim);
    rpmi_free(ours);
}

int rpmi_sim_link_make(struct rpm_sim *sim, bool owns_world, uint32_t server,
                       const struct rpmi_link_opts *opts, struct rpmi_link **link)
{
    struct rpmi_world *world = sim->world;
    struct rpmi_sim_link *ours = rpmi_alloc(sizeof(*ours), 64);
    int err;

    RPM_ASSERT(server < sim->servers);
    if (ours == NULL) {
        if (owns_world)
            rpm_sim_close(&sim);
        return RPM_E_NOMEM;
    }
    ours->sim = sim;
    ours->owns_world = owns_world;
    ours->staging_bytes = rpmi_align_up(opts->staging_bytes, RPMI_LINE_BYTES);
    ours->link.ops = &rpmi_sim_transport;
    ours->link.depth = opts->depth;
    ours->link.flags = RPMI_LINK_STEPS | RPMI_LINK_SUM | RPMI_LINK_CARRY | RPMI_LINK_COMPARE;
    rpmi_preset_facts(&world->preset, world->opts.native_flush, &ours->link.facts);
    err = rpmi_client_open(world, server, opts->depth, &ours->client);
    if (err == 0) {
        sim->links++;
        err = dial(ours, world->now_ns + opts->timeout_us * 1000);
    }
    if (err != 0) {
        link_free(ours);
        return err;
    }
    *link = &ours->link;
    return 0;
}

int rpmi_sim_link_open(struct rpm_sim *sim, uint32_t server, const struct rpmi_link_opts *opts,
                       struct rpmi_link **link)
{
    RPM_ASSERT(sim != NULL && server < sim->servers);
    return rpmi_sim_link_make(sim, false, server, opts, link);
}

void rpmi_sim_link_kill(struct rpmi_link *link)
{
    struct rpmi_sim_link *ours = rpmi_sim_link_of(link);

    rpmi_client_kill(ours->client);
    link->lost = RPM_E_LOST;
}

void rpmi_sim_link_kill_at(struct rpmi_link *link, uint64_t events)
{
    rpmi_world_kill_at(rpmi_sim_link_of(link)->client, events);
}

static int sim_reconnect(struct rpmi_link *link, uint64_t deadline_ns)
{
    struct rpmi_sim_link *ours = rpmi_sim_link_of(link);

    if (ours->client->dead)
        return rpmi_fail(RPM_E_LOST, "sim: this client machine is dead");
    link->lost = RPM_E_LOST;
    return dial(ours, deadline_ns);
}

static void sim_close(struct rpmi_link *link)
{
    link_free(rpmi_sim_link_of(link));
}

static const void *sim_peek(struct rpmi_link *link, uint32_t key, uint64_t offset, uint64_t len)
{
    (void)link;
    (void)key;
    (void)offset;
    (void)len;
    return NULL; /* memory of another machine is not mapped */
}

const struct rpmi_transport_ops rpmi_sim_transport = {
    .size = sizeof(struct rpmi_transport_ops),
    .scheme = "sim",
    .connect = rpmi_sim_url_connect,
    .reconnect = sim_reconnect,
    .post = rpmi_sim_post,
    .poll = rpmi_sim_poll,
    .wait = rpmi_sim_wait,
    .watch = rpmi_sim_watch,
    .arm = rpmi_sim_arm,
    .call = rpmi_sim_call,
    .stage = rpmi_sim_stage,
    .unstage = rpmi_sim_unstage,
    .peek = sim_peek,
    .now_ns = rpmi_sim_now,
    .pause = rpmi_sim_pause,
    .close = sim_close,
};
