/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * path_model.h: a server with a DPU as stations that pieces of data pass one after another. A route
 * lists the stations of one kind of operation; a message is split into chunks of one PCIe
 * transaction of the host, which pass the stations singly.
 *
 * Tests: tests/unit/sim/path/
 */
#ifndef RPMI_SIM_PATH_MODEL_H
#define RPMI_SIM_PATH_MODEL_H

#include "base/select.h"
#include "sim/preset/params.h"
#include "sim/queue.h"

#include "base/assert.h"
#include "base/rng.h"

#include <librpm/chain.h>
#include <stdbool.h>

#define RPMI_PATH_FLOWS 8u
#define RPMI_PATH_HOPS 1008u    /* of all chains of a group */
#define RPMI_PATH_WIRES_MAX 64u /* units, cores or banks that work side by side */
#define RPMI_PATH_ALIGN 64u     /* operations begin at multiples of this */
#define RPMI_PATH_PIECES 4u     /* outstanding, unless the caller says */
#define RPMI_PATH_CHUNKS_MAX (1u << 22)

/* Of a flow, or of a group of chains. */
#define RPMI_PATH_THREADS_MAX 4096u
#define RPMI_PATH_DEPTH_MAX 64u
#define RPMI_PATH_OPS_MAX (1u << 20)
#define RPMI_PATH_INTERVAL_MAX UINT64_C(1000000000000)

/* Stations with a rate and one piece at a time. */
enum rpmi_path_wire {
    RPMI_NET_IN,
    RPMI_NET_OUT,
    RPMI_PCIE1_TO_NIC,
    RPMI_PCIE1_FROM_NIC,
    RPMI_PCIE0_TO_HOST,
    RPMI_PCIE0_FROM_HOST,
    RPMI_SOC_IN,
    RPMI_SOC_OUT,
    RPMI_SOC_MEMORY,
    RPMI_ENGINE, /* the copy engine does one copy at a time, in either direction */
    RPMI_PATH_WIRES
};

/* What a hop does with the message or chunk that reaches it. */
enum rpmi_hop_kind {
    RPMI_HOP_STEP, /* a step of a chain begins: a message of payload bytes, in rate bytes of memory;
                        station: its phase; to: the thread waits for it */
    RPMI_HOP_POST, /* message: the thread posts it, busy for ps */
    RPMI_HOP_DELAY,  /* it goes on after ps */
    RPMI_HOP_UNIT,   /* message: one of the NIC's units, busy for ps */
    RPMI_HOP_CORE,   /* message: one of the cores that answer, busy for ps */
    RPMI_HOP_SPLIT,  /* message: its chunks go on */
    RPMI_HOP_WIRE,   /* busy for ps a message, and for the bytes at a rate, in transactions */
    RPMI_HOP_MEMORY, /* chunk: banks and bus of SoC memory, of whose time ps are over */
    RPMI_HOP_TAKE,   /* chunk: waits for its part of a pool */
    RPMI_HOP_GIVE,   /* chunk: returns it */
    RPMI_HOP_BRANCH, /* chunk goes on; with the last one the message goes on at hop "to" */
    RPMI_HOP_JOIN,   /* chunks end here, with the last one the message goes on */
    RPMI_HOP_DONE,   /* message: its poster has its completion */
    RPMI_HOP_END     /* chunk: it is placed */
};

/* Pools that chunks hold a part of. */
enum rpmi_path_pool { RPMI_POOL_TAGS, RPMI_POOL_BUFFER, RPMI_PATH_POOLS };

/* Who is busy with an operation of a chain. The host's and the SoC's cores are numbered as stations
 * are. */
enum rpmi_path_worker { RPMI_WORKER_HOST, RPMI_WORKER_SOC, RPMI_WORKER_THREAD, RPMI_PATH_WORKERS };

struct rpmi_hop {
    enum rpmi_hop_kind kind;
    uint32_t station; /* wire, pool; of units and cores: 1 for those of the SoC */
    uint32_t to;
    uint64_t ps;
    uint64_t payload; /* most data in one transaction; 0: no transactions */
    uint64_t rate;    /* bytes per microsecond */
};

struct rpmi_route {
    struct rpmi_hop hop[RPMI_PATH_HOPS];
    uint32_t hops;
};

struct rpmi_line_of_work {
    uint64_t free_ps;
};

/* A message or a chunk on its way. */
struct rpmi_path_part {
    uint32_t lane;
    uint32_t hop;
    uint32_t bytes;
    uint64_t address;
};

struct rpmi_pool {
    uint64_t room;
    uint64_t taken;
    struct rpmi_path_part *waiting; /* a ring, oldest first */
    uint32_t ring;
    uint32_t head;
    uint32_t count;
};

/* One message of an operation at a time. */
struct rpmi_lane {
    uint32_t slot;
    uint32_t left; /* bytes of the message that have not reached its JOIN or BRANCH */
    uint32_t bytes;
};

/* One operation at a time. */
struct rpmi_path_slot {
    uint32_t flow;
    uint32_t thread;
    uint64_t start_ps;
    uint64_t address;
    uint64_t posted; /* bytes in messages so far */
    uint64_t left;   /* bytes whose messages are not done */

    /* Of a chain's operation. */
    struct rpmi_pick pick;
    uint32_t phase; /* of the step that is under way */
    bool waits;     /* the thread waits for that step */
    uint64_t step_ps;
    uint64_t moved;
    uint64_t phase_ps[RPM_CHAIN_PHASES];
    uint64_t busy_ps[RPMI_PATH_WORKERS];
};

struct rpmi_flow {
    struct rpm_path_flow is; /* with defaults in place of zeros */
    struct rpmi_route route;
    struct rpmi_line_of_work *thread;
    uint64_t *next_start_ps;
    uint64_t *latency_ps;
    uint32_t first_lane;
    uint32_t first_slot;
    uint32_t lanes_each; /* lanes of a slot */
    uint64_t finished;
    uint64_t measured;
    uint64_t pcie_bytes[2];

    /* Of a group of chains. */
    uint32_t chains; /* 0: this is a flow of single operations */
    uint32_t steps;
    uint32_t first_hop[RPM_CHAIN_ALTERNATIVES];
    uint32_t share[RPM_CHAIN_ALTERNATIVES];
    int64_t credit[RPM_CHAIN_ALTERNATIVES];
    uint64_t shares;
    bool select;
    struct rpmi_select selector;
    uint64_t chosen[RPM_CHAIN_ALTERNATIVES];
    uint64_t took_ps[RPM_CHAIN_ALTERNATIVES];
    uint64_t moved;
    uint64_t phase_ps[RPM_CHAIN_PHASES];
    uint64_t busy_ps[RPMI_PATH_WORKERS];
};

struct rpmi_paths {
    const struct rpmi_params *params;
    struct rpmi_flow flow[RPMI_PATH_FLOWS];
    uint32_t flows;
    struct rpmi_line_of_work wire[RPMI_PATH_WIRES];
    struct rpmi_line_of_work unit[RPMI_PATH_WIRES_MAX];
    struct rpmi_line_of_work core[2][RPMI_PATH_WIRES_MAX]; /* host, SoC */
    struct rpmi_line_of_work bank[RPMI_PATH_WIRES_MAX];
    struct rpmi_pool pool[RPMI_PATH_POOLS];
    struct rpmi_lane *lane;
    struct rpmi_path_slot *slot;
    struct rpmi_path_part *part; /* of each event, by its number */
    uint32_t *free_part;         /* numbers of those not in use */
    uint32_t free_parts;
    struct rpmi_queue queue;
    struct rpmi_rng rng;
    uint64_t now_ps;
    uint64_t begin_ps;
    bool measuring;
};

/* route.c: the hops of a flow's operations. RPM_E_INVAL: the platform has no such path. */
int rpmi_route_make(const struct rpmi_params *params, const struct rpm_path_flow *flow,
                    struct rpmi_route *route);

/* station.c: when a part leaves a station that it reaches now. */
uint64_t rpmi_station_pass(struct rpmi_line_of_work *work, uint64_t now_ps, uint64_t busy_ps);
/* The same at the one of @count that is free first. */
uint64_t rpmi_station_any(struct rpmi_line_of_work *work, uint32_t count, uint64_t now_ps,
                          uint64_t busy_ps);
uint64_t rpmi_station_unit(struct rpmi_paths *paths, bool soc, uint64_t busy_ps);
uint64_t rpmi_station_memory(struct rpmi_paths *paths, uint64_t address, uint32_t bytes);
/* The time that a wire is busy with @bytes of a message of @message bytes. */
uint64_t rpmi_station_busy_ps(const struct rpmi_params *params, const struct rpmi_hop *hop,
                              uint64_t bytes, uint64_t message);
/* What a chunk takes of a pool. */
uint64_t rpmi_station_share(const struct rpmi_hop *hop, uint32_t bytes);

/* flow.c: fill in the defaults of @theirs; RPM_E_INVAL. */
int rpmi_flow_check(const struct rpmi_params *params, uint32_t number,
                    const struct rpm_path_flow *theirs, struct rpm_path_flow *ours);
uint32_t rpmi_flow_message_max(const struct rpm_path_flow *flow);
/* Room for the flow's threads and latencies. RPM_E_NOMEM. */
int rpmi_flow_open(struct rpmi_flow *flow);
void rpmi_flow_close(struct rpmi_flow *flow);
void rpmi_flow_cost(struct rpmi_flow *flow, uint64_t duration_ps, struct rpm_path_cost *cost);

/* chain.c: check the group and make the routes of its chains; RPM_E_INVAL, RPM_E_NOMEM. */
int rpmi_chain_open(const struct rpmi_params *params, uint32_t number,
                    const struct rpm_chain_group *group, struct rpmi_flow *flow);
void rpmi_chain_choose(struct rpmi_flow *flow, struct rpmi_pick *pick);
void rpmi_chain_ended(struct rpmi_flow *flow, const struct rpmi_path_slot *slot, uint64_t took_ps,
                      bool measuring);
void rpmi_chain_cost(struct rpmi_flow *flow, uint64_t duration_ps, struct rpm_chain_cost *cost);

/* path.c */
int rpmi_chains_run(const struct rpmi_params *params, const struct rpm_chain_load *load,
                    struct rpm_chain_cost *costs);
int rpmi_paths_run(const struct rpmi_params *params, const struct rpm_path_load *load,
                   struct rpm_path_cost *costs);

#endif
