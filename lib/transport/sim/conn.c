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

#include <inttypes.h>

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

static int link_make(struct rpm_sim *sim, bool owns_world, uint32_t server,
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
    ours->link.flags = RPMI_LINK_STEPS | RPMI_LINK_SUM | RPMI_LINK_CARRY;
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
    return link_make(sim, false, server, opts, link);
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

/* A number among the URL's options; @fallback when it is not there. */
static int number(const struct rpmi_url *url, const char *key, uint64_t fallback, uint64_t max,
                  uint64_t *value)
{
    const char *text = rpmi_url_get(url, key, NULL);
    int err;

    *value = fallback;
    if (text == NULL)
        return 0;
    err = rpmi_parse_bytes(text, value);
    if (err != 0)
        return err;
    if (*value > max)
        return rpmi_fail(RPM_E_INVAL, "sim: %s of %" PRIu64 ", maximum %" PRIu64, key, *value, max);
    return 0;
}

static int url_read(const struct rpmi_url *url, struct rpm_sim_opts *opts)
{
    static const char *const known[] = { "seed", "preset", "pool",  "dram",
                                         "loss", "dup",    "delay", "native_flush" };
    uint64_t value[4] = { 0 };
    int err = rpmi_url_known(url, known, sizeof(known) / sizeof(known[0]));

    *opts = rpm_sim_opts_init();
    if (err == 0 && url->address[0] != '\0')
        err = rpmi_fail(RPM_E_INVAL, "sim: \"%s\" is not an option, such as seed=1", url->address);
    if (err == 0)
        err = number(url, "seed", 0, UINT64_MAX, &opts->seed);
    if (err == 0)
        err = number(url, "pool", 0, UINT64_MAX, &opts->pool_bytes);
    if (err == 0)
        err = number(url, "dram", 0, UINT64_MAX, &opts->dram_bytes);
    if (err == 0)
        err = number(url, "loss", 0, 1000000, &value[0]);
    if (err == 0)
        err = number(url, "dup", 0, 1000000, &value[1]);
    if (err == 0)
        err = number(url, "delay", 0, 1000000000, &value[2]);
    if (err == 0)
        err = number(url, "native_flush", 0, 1, &value[3]);
    opts->preset = rpmi_url_get(url, "preset", "adr");
    opts->loss_ppm = (uint32_t)value[0];
    opts->duplicate_ppm = (uint32_t)value[1];
    opts->delay_ns = (uint32_t)value[2];
    opts->native_flush = (uint32_t)value[3];
    return err;
}

static int sim_connect(const struct rpmi_url *url, const struct rpmi_link_opts *opts,
                       struct rpmi_link **link)
{
    struct rpm_sim_opts sim_opts;
    struct rpm_sim *sim;
    int err = url_read(url, &sim_opts);

    if (err == 0)
        err = rpm_sim_open(&sim_opts, &sim);
    if (err != 0)
        return err;
    return link_make(sim, true, 0, opts, link);
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
    .connect = sim_connect,
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
