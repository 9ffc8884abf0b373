/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim.h: the device model. A world is a set of modelled client and server machines with virtual
 * time, a seed and power cuts, against which users can test their own recovery. It runs in one
 * thread; all times are virtual.
 *
 * Link with librpm-sim: it has these functions, and those of model.h, script.h, path.h and chain.h
 * (pkg-config librpm-sim, CMake librpm::sim). A program that only opens sim: addresses is linked
 * with librpm alone, which then loads librpm-sim.
 */
#ifndef LIBRPM_SIM_H
#define LIBRPM_SIM_H

#include <librpm/conn.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rpm_sim;

/* What happens to bytes outside the persistence domain when the power or the server process
 * fails. */
enum rpm_cut {
    RPM_CUT_NONE = 0,    /* all of them reach the media: the best case */
    RPM_CUT_DROP = 1,    /* none of them does */
    RPM_CUT_TEAR = 2,    /* any subset of their aligned 8-byte words does */
    RPM_CUT_REORDER = 3, /* any subset of whole lines does, in any order */
    RPM_CUT_KILL = 4     /* power stays on: only the server process dies */
};

struct rpm_sim_opts {
    size_t size;            /* sizeof this struct as the caller compiled it */
    uint64_t seed;          /* of every choice the model makes */
    const char *preset;     /* "adr", "adr-noddio", "eadr", "msync" or a path, and replaced numbers,
                               as for rpm_model_open(). NULL: "adr". Borrowed until return */
    uint32_t servers;       /* machines with a pool; 0: 1 */
    uint64_t pool_bytes;    /* of each; 0: 1 MiB */
    uint64_t dram_bytes;    /* of each; 0: 64 KiB */
    uint32_t loss_ppm;      /* packets lost per million; the NIC retries */
    uint32_t duplicate_ppm; /* packets delivered twice per million; the NIC drops one */
    uint32_t delay_ns;      /* longest extra delay of a packet; each is random */
    uint32_t native_flush;  /* 1: the NIC has FLUSH(persistence) */
    uint32_t agent_faults_ppm; /* lists per million that an agent answers wrongly or not at all */
    uint32_t agent_on_soc;     /* 1: agents run on a SoC in their server, see
                                  rpm_sim_connect_agent(); 0: on the client's machine */
};

static inline struct rpm_sim_opts rpm_sim_opts_init(void)
{
    struct rpm_sim_opts opts;

    memset(&opts, 0, sizeof(opts));
    opts.size = sizeof(opts);
    return opts;
}

/**
 * rpm_sim_open: create a world whose servers have formatted, empty pools.
 *
 * @opts  NULL: defaults. Borrowed until return.
 * @sim   out, set only on 0. Taken by the caller: rpm_sim_close().
 *
 * Errors:   RPM_E_INVAL (a preset that is unknown or wrong, or whose memory survives no power
 *           cut), RPM_E_NOENT, RPM_E_IO (the preset's file), RPM_E_OPTS, RPM_E_NOMEM.
 * Threads:  one per object.
 */
RPM_MUST_CHECK int rpm_sim_open(const struct rpm_sim_opts *opts, struct rpm_sim **sim);

/**
 * rpm_sim_connect: connect a new client machine to a server of the world.
 *
 * @sim     Borrowed until rpm_conn_close().
 * @server  0..servers - 1.
 * @opts    NULL: defaults. Borrowed until return.
 * @conn    out, set only on 0. Taken by the caller.
 *
 * Errors:   as rpm_conn_open().
 * Threads:  one per object.
 */
RPM_MUST_CHECK int rpm_sim_connect(struct rpm_sim *sim, uint32_t server,
                                   const struct rpm_conn_opts *opts, struct rpm_conn **conn);

/**
 * rpm_sim_connect_agent: the same, with an agent, so that RPM_METHOD_ORDER can be used. With
 * RPM_METHOD_CARRY in @opts the server declares the agent, which carries records.
 *
 * The agent runs on the client's machine and dies with it, but sends its orders to the server on a
 * connection of its own, which has no order with the client's. With rpm_sim_opts.agent_on_soc it
 * runs on a SoC in the server instead: a power cut of the server, or rpm_sim_kill_agent(), ends the
 * agent and loses its memory. The agent stores the bytes that it carries by the SoC's copy engine,
 * which writes to the server's memory in no order with the NIC. With rpm_sim_opts.agent_faults_ppm
 * the agent leaves out answers, invents them, repeats old ones or changes a bit of them.
 *
 * @sim     Borrowed until rpm_conn_close().
 * @server  0..servers - 1.
 * @opts    NULL: defaults. Borrowed until return.
 * @conn    out, set only on 0. Taken by the caller.
 *
 * Errors:   as rpm_conn_open().
 * Threads:  one per object.
 */
RPM_MUST_CHECK int rpm_sim_connect_agent(struct rpm_sim *sim, uint32_t server,
                                         const struct rpm_conn_opts *opts, struct rpm_conn **conn);

/**
 * rpm_sim_cut_at: arm a power cut of a server after a number of further events.
 *
 * @sim     Borrowed.
 * @server  0..servers - 1.
 * @events  1: at the next event; 0: disarm.
 * @cut     what survives.
 *
 * Threads:  one per object.
 */
void rpm_sim_cut_at(struct rpm_sim *sim, uint32_t server, uint64_t events, enum rpm_cut cut);

/**
 * rpm_sim_kill_client_at: arm the death of a client machine after a number of further events.
 *
 * @conn    of this world. Borrowed.
 * @events  1: at the next event; 0: disarm.
 *
 * Threads:  one per object.
 */
void rpm_sim_kill_client_at(struct rpm_conn *conn, uint64_t events);

/**
 * rpm_sim_power_cut: cut the power of a server now.
 *
 * @sim     Borrowed.
 * @server  0..servers - 1.
 * @cut     what survives.
 *
 * Durable:  bytes in the persistence domain survive, and of the others what @cut says.
 * Threads:  one per object.
 */
void rpm_sim_power_cut(struct rpm_sim *sim, uint32_t server, enum rpm_cut cut);

/**
 * rpm_sim_kill_server: the server process dies; memory and caches of its machine stay.
 *
 * @sim     Borrowed.
 * @server  0..servers - 1.
 *
 * Threads:  one per object.
 */
void rpm_sim_kill_server(struct rpm_sim *sim, uint32_t server);

/**
 * rpm_sim_kill_agent: kill the agents on the SoC of a server, and nothing else.
 *
 * Their connections are lost. Each of their copies that the copy engine has not completed either
 * goes on or stops, by the world's random numbers.
 *
 * @sim     Borrowed.
 * @server  0..servers - 1.
 *
 * Threads:  one per object.
 */
void rpm_sim_kill_agent(struct rpm_sim *sim, uint32_t server);

/**
 * rpm_sim_stop_server: suspend the CPU of a server for a time, as SIGSTOP and SIGCONT do. Its NIC
 * and its copy engine go on meanwhile.
 *
 * @sim     Borrowed.
 * @server  0..servers - 1.
 * @ns      how long, virtual nanoseconds, at most 10^9; replaces the rest of an earlier call.
 *
 * Threads:  one per object.
 */
void rpm_sim_stop_server(struct rpm_sim *sim, uint32_t server, uint64_t ns);

/**
 * rpm_sim_restart: restore the power, and start the server process again on the pool that survived.
 *
 * @sim     Borrowed.
 * @server  0..servers - 1.
 *
 * Errors:   RPM_E_CORRUPT and others of rpm_server_open(): the pool did not survive.
 * Threads:  one per object.
 */
RPM_MUST_CHECK int rpm_sim_restart(struct rpm_sim *sim, uint32_t server);

/**
 * rpm_sim_kill_client: a client machine dies: operations that its NIC has not sent yet are never
 * sent.
 *
 * @conn  of this world. Borrowed: the handle stays, every call on it gives RPM_E_LOST.
 *
 * Threads:  one per object.
 */
void rpm_sim_kill_client(struct rpm_conn *conn);

/**
 * rpm_sim_step: process the next event.
 *
 * @sim  Borrowed.
 *
 * Returns 1, or 0 when no event is left.
 * Threads:  one per object.
 */
int rpm_sim_step(struct rpm_sim *sim);

/**
 * rpm_sim_events: number of events processed since rpm_sim_open().
 *
 * @sim  Borrowed.
 *
 * Threads:  one per object.
 */
uint64_t rpm_sim_events(const struct rpm_sim *sim);

/**
 * rpm_sim_now_ns: virtual time in nanoseconds since rpm_sim_open().
 *
 * @sim  Borrowed.
 *
 * Threads:  one per object.
 */
uint64_t rpm_sim_now_ns(const struct rpm_sim *sim);

/**
 * rpm_sim_cut_happened: has the armed power cut happened?
 *
 * @sim     Borrowed.
 * @server  0..servers - 1.
 *
 * Returns 1 once the server has lost power, or its process, and was not restarted.
 * Threads:  one per object.
 */
int rpm_sim_cut_happened(const struct rpm_sim *sim, uint32_t server);

/**
 * rpm_sim_close: free the world. Safe on NULL; sets @sim to NULL. Close its connections before.
 *
 * @sim  Taken.
 *
 * Threads:  one per object.
 */
void rpm_sim_close(struct rpm_sim **sim);

#ifdef __cplusplus
}
#endif
#endif
