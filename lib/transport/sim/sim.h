/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim.h: the device model as a transport. A world contains server machines, on whose modelled CPUs
 * the real pool service runs, and a client machine for each link.
 *
 * Invariants
 *   a world outlives its links; a link opened by URL owns a world of its own
 *   a service is opened only while its machine has power, and never called afterwards
 *
 * Tests: tests/unit/transport/sim/
 */
#ifndef RPMI_TRANSPORT_SIM_H
#define RPMI_TRANSPORT_SIM_H

#include "pool/service.h"
#include "sim/device/world.h"
#include "transport/transport.h"

#include <librpm/sim.h>

#define RPMI_SIM_AGENT "agent" /* the agent that each server declares */

/* One area of a machine as the service sees it: through that machine's CPU. */
struct rpmi_sim_mem {
    struct rpmi_mem mem;
    struct rpmi_machine *machine;
    enum rpmi_sim_place place;
};

/* The server process of one machine. */
struct rpmi_sim_server {
    struct rpmi_sim_mem pool;
    struct rpmi_sim_mem dram;
    struct rpmi_service *service; /* NULL: it was not started yet, or its start failed */
    struct rpmi_rng entropy;
    uint32_t epoch;
};

struct rpm_sim {
    struct rpmi_world *world;
    struct rpmi_sim_server server[RPMI_SIM_SERVERS_MAX];
    uint32_t servers;
    uint32_t links;            /* open */
    uint32_t agent_faults_ppm; /* of rpm_sim_opts */
    bool agent_on_soc;         /* of rpm_sim_opts */
};

/* A staged block; the user's bytes follow. */
struct rpmi_staged {
    struct rpmi_staged *next;
    uint64_t bytes;
    unsigned char fill[48]; /* so that the user's bytes begin on a line of their own */
};

struct rpmi_sim_link {
    struct rpmi_link link;
    struct rpm_sim *sim;
    bool owns_world;
    struct rpmi_sim_client *client;
    struct rpmi_staged *staged;
    uint64_t staged_bytes;
    uint64_t staging_bytes;
};

extern const struct rpmi_transport_ops rpmi_sim_transport;

/* Format the pool of every machine and start its server process. */
int rpmi_sim_server_open(struct rpm_sim *sim, uint64_t seed);

/* Start the server process of a machine that has none. RPM_E_LOST: the power was cut meanwhile. */
int rpmi_sim_server_start(struct rpmi_sim_server *server);
void rpmi_sim_server_close(struct rpmi_sim_server *server);

/* What the model calls back; its context is the sim. */
struct rpmi_host rpmi_sim_server_host(struct rpm_sim *sim);

/* A link to a server of a world. Errors as connect. */
int rpmi_sim_link_open(struct rpm_sim *sim, uint32_t server, const struct rpmi_link_opts *opts,
                       struct rpmi_link **link);

/* The same; @owns_world: it closes the world with itself, also if this fails. */
int rpmi_sim_link_make(struct rpm_sim *sim, bool owns_world, uint32_t server,
                       const struct rpmi_link_opts *opts, struct rpmi_link **link);

/* Put an agent beside the link, which carries records if @carries. On failure it is closed. */
int rpmi_sim_add_agent(struct rpm_sim *sim, uint32_t server, const struct rpmi_link_opts *opts,
                       bool carries, struct rpmi_link **link);

/* Connect by URL. */
int rpmi_sim_url_connect(const struct rpmi_url *url, const struct rpmi_link_opts *opts,
                         struct rpmi_link **link);

/* The client machine of a link dies: now, or after a number of further events (0: disarm). */
void rpmi_sim_link_kill(struct rpmi_link *link);
void rpmi_sim_link_kill_at(struct rpmi_link *link, uint64_t events);

/* The rest of the ops table, see post.c, poll.c, mr.c. */
int rpmi_sim_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n);
int rpmi_sim_poll(struct rpmi_link *link, struct rpmi_done *done, uint32_t n);
int rpmi_sim_wait(struct rpmi_link *link, uint64_t deadline_ns);
int rpmi_sim_watch(struct rpmi_link *link, int epoll_fd);
int rpmi_sim_arm(struct rpmi_link *link, uint64_t *by_ns);
int rpmi_sim_call(struct rpmi_link *link, const struct rpmi_call *call, struct rpmi_reply *reply,
                  uint64_t deadline_ns);
uint64_t rpmi_sim_now(struct rpmi_link *link);
void rpmi_sim_pause(struct rpmi_link *link, uint64_t ns);
void *rpmi_sim_stage(struct rpmi_link *link, uint64_t bytes);
void rpmi_sim_unstage(struct rpmi_link *link, void *ptr);
void rpmi_sim_unstage_all(struct rpmi_sim_link *link);
bool rpmi_sim_is_staged(const struct rpmi_sim_link *link, const void *ptr, uint64_t bytes);

static inline struct rpmi_sim_link *rpmi_sim_link_of(struct rpmi_link *link)
{
    return (struct rpmi_sim_link *)(void *)((unsigned char *)link -
                                            offsetof(struct rpmi_sim_link, link));
}

#endif
