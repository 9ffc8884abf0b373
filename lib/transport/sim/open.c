/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * open.c: worlds, as <librpm/sim.h> declares them.
 *
 * Invariant: a world with open links is never closed.
 *
 * Tests: tests/unit/transport/sim/open_test.cpp
 */
#include "transport/sim/sim.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/opts.h"

#include <inttypes.h>

#define POOL_DEFAULT (1u << 20)
#define DRAM_DEFAULT (64u << 10)
#define STOP_NS_MAX UINT64_C(1000000000)

_Static_assert((int)RPM_CUT_NONE == (int)RPMI_CUT_NONE, "same numbers");
_Static_assert((int)RPM_CUT_DROP == (int)RPMI_CUT_DROP, "same numbers");
_Static_assert((int)RPM_CUT_TEAR == (int)RPMI_CUT_TEAR, "same numbers");
_Static_assert((int)RPM_CUT_REORDER == (int)RPMI_CUT_REORDER, "same numbers");
_Static_assert((int)RPM_CUT_KILL == (int)RPMI_CUT_KILL, "same numbers");

static int world_opts(const struct rpm_sim_opts *wanted, struct rpmi_world_opts *opts)
{
    memset(opts, 0, sizeof(*opts));
    opts->seed = wanted->seed;
    opts->preset = wanted->preset != NULL ? wanted->preset : "adr";
    opts->servers = wanted->servers != 0 ? wanted->servers : 1;
    opts->pool_bytes = wanted->pool_bytes != 0 ? wanted->pool_bytes : POOL_DEFAULT;
    opts->dram_bytes = wanted->dram_bytes != 0 ? wanted->dram_bytes : DRAM_DEFAULT;
    opts->loss_ppm = wanted->loss_ppm;
    opts->duplicate_ppm = wanted->duplicate_ppm;
    opts->delay_ns = wanted->delay_ns;
    opts->native_flush = wanted->native_flush != 0;
    if (opts->dram_bytes < RPMI_LINE_BYTES)
        return rpmi_fail(RPM_E_INVAL, "sim: a DRAM area of %" PRIu64 " bytes, minimum %u",
                         opts->dram_bytes, RPMI_LINE_BYTES);
    return 0;
}

int rpm_sim_open(const struct rpm_sim_opts *given, struct rpm_sim **out)
{
    rpmi_begin();

    struct rpm_sim_opts wanted = rpm_sim_opts_init();
    struct rpmi_world_opts opts;
    struct rpm_sim *sim;
    int err = rpmi_opts_in(&wanted, sizeof(wanted), given);

    RPM_ASSERT(out != NULL);
    if (err == 0)
        err = world_opts(&wanted, &opts);
    if (err != 0)
        return err;
    sim = rpmi_alloc(sizeof(*sim), 64);
    if (sim == NULL)
        return RPM_E_NOMEM;
    opts.host = rpmi_sim_server_host(sim);
    err = rpmi_world_open(&opts, &sim->world);
    if (err == 0) {
        sim->servers = opts.servers;
        sim->agent_faults_ppm = wanted.agent_faults_ppm;
        sim->agent_on_soc = wanted.agent_on_soc != 0;
        err = rpmi_sim_server_open(sim, opts.seed);
    }
    if (err != 0) {
        rpm_sim_close(&sim);
        return err;
    }
    *out = sim;
    return 0;
}

void rpm_sim_close(struct rpm_sim **out)
{
    struct rpm_sim *sim = *out;

    if (sim == NULL)
        return;
    RPM_ASSERT(sim->links == 0);
    for (uint32_t i = 0; i < sim->servers; i++)
        rpmi_sim_server_close(&sim->server[i]);
    rpmi_world_close(&sim->world);
    rpmi_free(sim);
    *out = NULL;
}

static struct rpmi_machine *machine_of(const struct rpm_sim *sim, uint32_t server)
{
    RPM_ASSERT(sim != NULL && server < sim->servers);
    return &sim->world->machine[server];
}

void rpm_sim_cut_at(struct rpm_sim *sim, uint32_t server, uint64_t events, enum rpm_cut cut)
{
    RPM_ASSERT(machine_of(sim, server) != NULL);
    rpmi_world_cut_at(sim->world, server, events, (enum rpmi_cut)cut);
}

void rpm_sim_power_cut(struct rpm_sim *sim, uint32_t server, enum rpm_cut cut)
{
    rpmi_power_cut(machine_of(sim, server), (enum rpmi_cut)cut);
    rpmi_world_tick(sim->world, RPMI_EV_POWER, server, cut);
}

void rpm_sim_kill_server(struct rpm_sim *sim, uint32_t server)
{
    rpmi_power_kill(machine_of(sim, server));
    rpmi_world_tick(sim->world, RPMI_EV_POWER, server, UINT64_MAX);
}

void rpm_sim_kill_agent(struct rpm_sim *sim, uint32_t server)
{
    rpmi_power_kill_agent(machine_of(sim, server));
    rpmi_world_tick(sim->world, RPMI_EV_DEATH, server, UINT64_MAX);
}

void rpm_sim_stop_server(struct rpm_sim *sim, uint32_t server, uint64_t ns)
{
    struct rpmi_machine *machine = machine_of(sim, server);

    RPM_ASSERT(ns <= STOP_NS_MAX);
    machine->stopped_ns = sim->world->now_ns + ns;
    rpmi_world_tick(sim->world, RPMI_EV_POWER, server, ns);
}

int rpm_sim_restart(struct rpm_sim *sim, uint32_t server)
{
    rpmi_begin();
    if (machine_of(sim, server)->serving)
        return 0;
    rpmi_world_tick(sim->world, RPMI_EV_POWER, server, UINT64_MAX - 1);
    return rpmi_sim_server_start(&sim->server[server]);
}

int rpm_sim_step(struct rpm_sim *sim)
{
    return rpmi_world_step(sim->world) ? 1 : 0;
}

uint64_t rpm_sim_events(const struct rpm_sim *sim)
{
    return sim->world->events;
}

uint64_t rpm_sim_now_ns(const struct rpm_sim *sim)
{
    return sim->world->now_ns;
}

int rpm_sim_cut_happened(const struct rpm_sim *sim, uint32_t server)
{
    return machine_of(sim, server)->running ? 0 : 1;
}
