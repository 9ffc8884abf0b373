/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cluster_model.h: transactions on several modelled servers. Coroutines of client threads carry
 * out scripts; each server is a server model, and all share one clock.
 *
 * Invariants
 *   a coroutine posts a phase only when the last operation of the phase before has ended
 *   no server's clock is ahead of an event of another
 *
 * Tests: tests/unit/sim/perf/cluster_run_test.cpp
 */
#ifndef RPMI_SIM_PERF_CLUSTER_MODEL_H
#define RPMI_SIM_PERF_CLUSTER_MODEL_H

#include "sim/perf/server_model.h"

#include <librpm/script.h>

#define RPMI_CLUSTER_SERVERS 1024u
#define RPMI_CLUSTER_PHASE 64u               /* operations of a phase, at most */
#define RPMI_CLUSTER_LOG ((uint64_t)1 << 20) /* bytes of a thread's log on a server */

/* A script: a range of the cluster's operation classes. */
struct rpmi_script {
    uint32_t first;
    uint32_t count;
    uint64_t weight;
    uint64_t bytes; /* of all its operations */
};

/* A step of a script: the phase, server and role of an operation. */
struct rpmi_script_step {
    uint32_t phase;
    uint32_t server;
    uint32_t role; /* enum rpm_script_role */
};

/* A word that transactions share: the lock and the version of a row. */
struct rpmi_shared_word {
    uint32_t holder; /* coroutine + 1; 0: free */
    uint32_t changes;
};

/* The version of a word when a transaction first accessed it. */
struct rpmi_word_version {
    uint32_t word;
    uint32_t changes;
};

struct rpmi_coroutine {
    uint64_t start_ps;
    uint32_t script;
    uint32_t next;    /* step */
    uint32_t pending; /* messages of its phase outstanding */
    uint32_t waiting; /* coroutine + 1 that is next in the list of its rpmi_thread; 0: none */
    uint32_t failures;
    struct rpmi_word_version *version; /* room for cluster->versions of them */
    uint32_t versions;
    bool failed;    /* a word conflicted; the phase still completes */
    bool releasing; /* the phase releases the words that it held when it failed */
    bool retries;   /* the next transaction runs the same script again */
};

struct rpmi_thread {
    struct rpmi_wire time; /* the core, busy with posts, polls and switches */
    uint64_t rings_ps;     /* it is at a doorbell until this time */
    uint32_t under_way;    /* messages */
    uint32_t first;        /* list of coroutines (+ 1) that wait for messages to end; 0: none */
    uint32_t last;
};

/* A doorbell that threads share, and how long the last post held its lock. */
struct rpmi_doorbell {
    uint64_t free_ps;
    uint64_t held_ps;
};

/* A client machine. */
struct rpmi_client_machine {
    struct rpmi_wire wire_out, nic_out, wire_in;
    uint64_t under_way; /* messages */
};

/* One of several things to draw by their weights. */
struct rpmi_choice {
    uint64_t until; /* sum of the weights up to and including this one */
    uint32_t which; /* number of a script, or of an operation class */
};

struct rpmi_cluster_model {
    const struct rpmi_params *params;
    struct rpm_script_load load; /* with defaults; the caller's scripts are not used any more */
    struct rpmi_server_model **server;
    struct rpmi_earliest earliest; /* of their events */
    uint64_t now_ps;
    struct rpmi_rng rng;

    struct rpmi_script *script;
    struct rpmi_op_class *op_class; /* one for each operation of each script */
    struct rpmi_script_step *step;  /* of each operation class */
    uint32_t op_classes;
    struct rpmi_choice *choice; /* of the scripts */
    struct rpmi_choice *filler; /* of the operations that leave lines in a cache, by servers */
    uint32_t *first_filler;     /* of each server, and the end */

    struct rpmi_coroutine *coroutine;
    uint32_t coroutines; /* of all threads */
    struct rpmi_thread *thread;
    struct rpmi_client_machine *machine;
    struct rpmi_doorbell *doorbell;    /* of each machine */
    struct rpmi_shared_word *word;     /* 1 to load.words */
    struct rpmi_word_version *version; /* of all coroutines */
    uint32_t versions;                 /* of each, at most */
    struct rpmi_fifo *spare;           /* free slots of each server */
    uint32_t slots_max;                /* of each server */
    uint64_t *rung;                    /* of each server: the phase that last rang for it */
    uint64_t phases;                   /* that were posted */
    int err;                           /* RPM_E_NOMEM: a server found no memory to grow */
    uint32_t *position; /* next byte of the log of each thread on each server, + 1; 0: unused */

    uint64_t warm_up; /* transactions that are not measured */
    uint64_t finished;
    uint64_t begin_ps;
    uint64_t bytes;
    uint64_t requests;
    uint64_t failures;
    uint64_t failures_in_row; /* since the last transaction that ended */
    uint64_t before_failures;
    uint64_t before_requests;
    uint64_t before_bytes;
    struct rpm_cost *before; /* counters of each server when the warm-up ended */
    uint64_t *latency_ps;    /* of each measured transaction */
};

/* script.c: set defaults, and refuse a load that is invalid. */
int rpmi_script_check(struct rpm_script_load *load);
uint64_t rpmi_script_op_classes(const struct rpm_script_load *load);
/* Writes the scripts' operations to @cluster, which has room for them. */
void rpmi_script_take(struct rpmi_cluster_model *cluster);
/* The largest number of operations that a phase has outstanding at one server. */
uint32_t rpmi_script_widest(const struct rpmi_cluster_model *cluster);
/* The largest number of operations of a script that name a word. */
uint32_t rpmi_script_versions(const struct rpm_script_load *load);

/* Draw one of @count choices by their weights, the sum of which is not 0. */
uint32_t rpmi_script_draw(struct rpmi_cluster_model *cluster, const struct rpmi_choice *choice,
                          uint32_t count);
/* The address of an operation of a thread on server @index, in bytes. */
uint64_t rpmi_script_address(struct rpmi_cluster_model *cluster, uint32_t thread, uint32_t index,
                             const struct rpmi_op_class *op_class);
/* The same for one part of the call in @slot. */
uint64_t rpmi_cluster_address(struct rpmi_server_model *server, uint32_t slot,
                              const struct rpmi_op_class *op_class);

/* slots.c */
/* A free slot of server @index, which gets more if it has none. UINT32_MAX: there is no memory, and
 * cluster->err is set. */
uint32_t rpmi_slots_take(struct rpmi_cluster_model *cluster, uint32_t index);
/* The slots of server @index from @first on are free. */
int rpmi_slots_spare(struct rpmi_cluster_model *cluster, uint32_t index, uint32_t first);

/* cluster_run.c */
int rpmi_cluster_open(const struct rpmi_params *params, bool ddio,
                      const struct rpm_script_load *load, struct rpmi_cluster_model **cluster);
void rpmi_cluster_close(struct rpmi_cluster_model **cluster);
/* Runs the load. RPM_E_INVAL: no transaction commits, all of them meet conflicts at their words. */
int rpmi_cluster_run(struct rpmi_cluster_model *cluster, struct rpm_cost *cost);
/* A run, event by event: start it; process the earliest event of all servers. */
void rpmi_cluster_start(struct rpmi_cluster_model *cluster);
void rpmi_cluster_step(struct rpmi_cluster_model *cluster);

static inline uint32_t rpmi_cluster_thread(const struct rpmi_cluster_model *cluster,
                                           uint32_t coroutine)
{
    return coroutine / cluster->load.coroutines;
}

/* transaction.c, events: the coroutine begins a transaction; the slot's operation has ended. */
void rpmi_cluster_begin(struct rpmi_cluster_model *cluster, uint32_t coroutine);
void rpmi_cluster_done(struct rpmi_server_model *server, uint32_t slot);

/* machine.c: a thread prepares a post, reaches the doorbell, and posts for @busy_ps; its message
 * leaves the machine; the thread polls the completion. */
bool rpmi_machine_has_port(const struct rpmi_cluster_model *cluster);
/* False: not yet; an event is scheduled for the time at which it may. */
bool rpmi_machine_may_send(struct rpmi_server_model *server, uint32_t slot, uint64_t busy_ps);
bool rpmi_machine_may_ring(struct rpmi_server_model *server, uint32_t slot);
uint64_t rpmi_machine_post(struct rpmi_server_model *server, uint32_t slot, uint64_t busy_ps);
uint64_t rpmi_machine_leave(struct rpmi_server_model *server, uint32_t slot, uint64_t bytes);
void rpmi_machine_poll(struct rpmi_server_model *server, uint32_t slot);

/* words.c: read or change the operation's word, when a NIC carries the operation out. */
void rpmi_cluster_touch(struct rpmi_server_model *server, uint32_t slot);
/* Does this step release a word that the coroutine holds? */
bool rpmi_cluster_holds(const struct rpmi_cluster_model *cluster, uint32_t coroutine,
                        uint32_t step);
/* Picoseconds until the coroutine runs its script again after a failure. */
uint64_t rpmi_cluster_backoff_ps(struct rpmi_cluster_model *cluster, uint32_t coroutine);

#endif
