/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * play.h: transactions on several servers: coroutines of client threads carry out scripts, each
 * server is a rig, and one clock goes through all.
 *
 * Invariants
 *   a coroutine posts a phase when the last operation of the one before has ended, not earlier
 *   no server's clock is ahead of an event of another
 *
 * Tests: tests/unit/sim/cost/play_test.cpp
 */
#ifndef RPMI_SIM_COST_PLAY_H
#define RPMI_SIM_COST_PLAY_H

#include "sim/cost/rig.h"

#include <librpm/script.h>

#define RPMI_PLAY_SERVERS 64u
#define RPMI_PLAY_PHASE 64u               /* operations of one */
#define RPMI_PLAY_LOG ((uint64_t)1 << 20) /* of a thread on a server, see address_of() */

/* A script as it is played: some of all works. */
struct rpmi_script {
    uint32_t first;
    uint32_t count;
    uint64_t until; /* sum of the weights up to this one's */
    uint64_t bytes; /* that it asks for */
};

/* Where a work belongs. */
struct rpmi_cue {
    uint32_t phase;
    uint32_t server;
};

struct rpmi_coroutine {
    uint64_t start_ps;
    uint32_t script;
    uint32_t next;    /* work */
    uint32_t pending; /* operations of its phase */
};

/* A client machine. */
struct rpmi_machine {
    struct rpmi_wire wire_out, nic_out, wire_in;
};

struct rpmi_play {
    const struct rpmi_params *params;
    struct rpm_script_load load; /* with defaults; the caller's scripts are not used any more */
    struct rpmi_rig *rig[RPMI_PLAY_SERVERS];
    uint64_t now_ps;
    struct rpmi_rng rng;

    struct rpmi_script *script;
    struct rpmi_act *work;
    struct rpmi_cue *cue; /* of each work */
    uint32_t works;
    uint64_t weights; /* their sum */

    struct rpmi_coroutine *coroutine;
    uint32_t coroutines; /* of all threads */
    struct rpmi_wire *thread;
    struct rpmi_machine *machine;
    struct rpmi_fifo spare[RPMI_PLAY_SERVERS]; /* slots of no operation */
    uint64_t *position;                        /* in the log of a thread, by server */

    uint64_t warm_up; /* transactions that do not count */
    uint64_t finished;
    uint64_t begin_ps;
    uint64_t bytes;
    uint64_t requests;
    uint64_t before_requests;
    uint64_t before_bytes;
    struct rpm_cost before[RPMI_PLAY_SERVERS]; /* counters when the warm-up ended */
    uint64_t *latency_ps;                      /* of each transaction that counts */
};

/* script.c: defaults, and refusals. Then room for all scripts is known. */
int rpmi_script_check(struct rpm_script_load *load);
uint64_t rpmi_script_works(const struct rpm_script_load *load);
/* The scripts as works of the play, which has room for them. */
void rpmi_script_take(struct rpmi_play *play);
/* Most operations that a phase has under way at one server. */
uint32_t rpmi_script_widest(const struct rpmi_play *play);

/* play.c */
int rpmi_play_open(const struct rpmi_params *params, bool ddio, const struct rpm_script_load *load,
                   struct rpmi_play **play);
void rpmi_play_close(struct rpmi_play **play);
void rpmi_play_run(struct rpmi_play *play, struct rpm_cost *cost);
void rpmi_play_start(struct rpmi_play *play); /* and so many steps are a run */
void rpmi_play_step(struct rpmi_play *play);

/* client.c and core.c ask. */
void rpmi_play_begin(struct rpmi_play *play, uint32_t coroutine);
struct rpmi_wire *rpmi_play_thread(const struct rpmi_play *play, uint32_t coroutine);
bool rpmi_play_has_port(const struct rpmi_play *play); /* do its client machines? */
uint64_t rpmi_play_leave(struct rpmi_rig *rig, uint32_t slot, uint64_t bytes);
void rpmi_play_poll(struct rpmi_rig *rig, uint32_t slot); /* its thread sees a completion */
void rpmi_play_done(struct rpmi_rig *rig, uint32_t slot);
uint64_t rpmi_play_address(struct rpmi_rig *rig, uint32_t slot, const struct rpmi_act *work);

#endif
