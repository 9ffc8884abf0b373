/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * server_model.h: one modelled server with a load on it, for the performance model. Its parts
 * (cores, caches, NIC, PCIe, memory modules) pass lines of 64 bytes to each other; each part has a
 * rate, a latency and a queue. Contents are not modelled.
 *
 * Invariants
 *   times are whole picoseconds and choices come from one seeded source: the same load on the same
 *   preset gives the same result on any machine
 *   time never goes back; nothing allocates after rpmi_server_open(),
 *     except that a server of a cluster grows when more operations are outstanding than before
 *
 * Tests: tests/unit/sim/perf/
 */
#ifndef RPMI_SIM_PERF_SERVER_MODEL_H
#define RPMI_SIM_PERF_SERVER_MODEL_H

#include "base/assert.h"
#include "base/canary.h"
#include "base/limits.h"
#include "base/rng.h"
#include "sim/perf/earliest.h"
#include "sim/perf/llc.h"
#include "sim/perf/module.h"
#include "sim/preset/params.h"
#include "sim/queue.h"

#include <librpm/model.h>

#define RPMI_SERVER_MODULES 8u
#define RPMI_SERVER_CORES 64u
#define RPMI_FETCH_LINES 64u     /* lines that one read of a NIC requests at a time */
#define RPMI_SERVER_UNITS 64u    /* atomics that a NIC carries out at a time */
#define RPMI_SERVER_SLOTS 65536u /* outstanding operations of all clients */

/* The owner of a line: the part that waits for it. The top bits of an owner word hold the kind, the
 * others the number of that part or operation. */
enum rpmi_perf_owner {
    RPMI_OWNER_NONE = 0,
    RPMI_OWNER_CORE = 1,    /* a core, for its line; number: core */
    RPMI_OWNER_INBOUND = 2, /* the root complex; number: index in its queue */
    RPMI_OWNER_VICTIM = 3,  /* a core, for the write of an evicted line; number: core */
    RPMI_OWNER_FETCH = 4,   /* a NIC, for its read of memory; number: slot */
    RPMI_OWNER_FILL = 5,    /* a core, for its read for ownership; number: core */
    RPMI_OWNER_GRANT = 6    /* a core, for the directory state of a line that it will stream to the
                             * other socket's memory; number: core */
};

#define RPMI_OWNER(kind, index) ((uint32_t)(kind) << 28 | (uint32_t)(index))
#define RPMI_OWNER_KIND(owner) ((enum rpmi_perf_owner)((owner) >> 28))
#define RPMI_OWNER_INDEX(owner) ((owner)&0x0fffffffu)

enum rpmi_perf_event {
    RPMI_PERF_EV_WRITE = 1, /* a line reaches a controller; arg: line and flags, gen: owner */
    RPMI_PERF_EV_READ = 2,  /* a read request reaches a controller; as above */
    RPMI_PERF_EV_LINE_DRAINED = 3, /* the oldest line of a controller's queue is in the module */
    RPMI_PERF_EV_MEDIA_DONE = 4,   /* the media complete a read or write */
    RPMI_PERF_EV_LINE_READ = 5,    /* a line that was read is back; gen: owner */
    RPMI_PERF_EV_CORE_ACCESS = 6,  /* a core executes its next access */
    RPMI_PERF_EV_POST = 7,         /* a client's thread posts an operation */
    RPMI_PERF_EV_NIC_MESSAGE = 8,  /* the server's NIC has received a message */
    RPMI_PERF_EV_TLP_ARRIVED = 9,  /* a transaction of the NIC reaches the root complex; arg: tlp */
    RPMI_PERF_EV_NIC_FETCHED = 10, /* bytes that a NIC read have arrived in the NIC */
    RPMI_PERF_EV_COMPLETION = 11,  /* a client's thread polls an operation's completion */
    RPMI_PERF_EV_ATOMIC_DONE = 12, /* a unit for atomics has changed its word */
    RPMI_PERF_EV_AT_SERVER_PORT = 13, /* a client's message is at the server's port */
    RPMI_PERF_EV_AT_CLIENT_PORT = 14, /* a message is at its client machine's port; with scripts */
    RPMI_PERF_EV_DOORBELL = 15,       /* a thread reaches a shared doorbell; with scripts */
    /* Never in the queue: rpmi_server_dispatch() handles them at once. */
    RPMI_PERF_EV_LINE_ACCEPTED = 16, /* a controller accepted a line; gen: owner */
    RPMI_PERF_EV_READ_REQUEST =
        17,                        /* a read request is the oldest in the root complex; arg: slot */
    RPMI_PERF_EV_TLP_LEFT = 18,    /* a transaction left the root complex; arg: its bytes */
    RPMI_PERF_EV_CALL_MESSAGE = 19 /* a call's message is in memory; arg: slot */
};

struct rpmi_core {
    uint64_t begin; /* bytes of the operation */
    uint64_t end;
    uint64_t line;      /* next line to issue */
    uint64_t lines;     /* lines left to issue */
    uint64_t start_ps;  /* of the operation */
    uint64_t first_ps;  /* start of the first operation since the last fence */
    uint64_t next_ps;   /* earliest time of the next line */
    uint64_t unfenced;  /* bytes since the last fence */
    uint32_t under_way; /* lines that a fence waits for */
    uint32_t fills;     /* outstanding reads for ownership */
    uint32_t slot;      /* the call that it serves */
    const struct rpmi_op_class *op_class;
    uint32_t op_classes; /* parts of the call that follow this one */
    uint16_t module;     /* the module that it may write to, with writers_max */
    bool writes;
    bool wrote; /* a part of the call was or is a write */
    bool over;  /* the operation has ended; the next event begins another */
    bool idle;  /* waits for a call, or for a place at a module */
    bool armed; /* an event is pending */
    bool holds; /* one of the writers_max places at that module */
};

/* A class of operations with equal parameters. */
struct rpmi_op_class {
    uint32_t by;           /* enum rpm_load_by */
    uint32_t op;           /* enum rpm_load_op */
    uint32_t copy;         /* enum rpm_copy */
    uint32_t persist;      /* enum rpm_load_persist */
    uint32_t memory;       /* enum rpm_load_memory */
    uint32_t flush_memory; /* the same */
    uint32_t pattern;      /* enum rpm_load_pattern */
    uint32_t word;         /* scripts: the shared word that it accesses; 0: none */
    uint64_t bytes;
    uint64_t written; /* bytes of a write with its padding */
    uint64_t align;   /* scripts: operations begin at multiples of this */
};

/* One operation of a client. */
struct rpmi_slot_op {
    const struct rpmi_op_class *op_class; /* of a call: the first of its parts */
    uint32_t op_classes;
    uint32_t coroutine; /* scripts: the coroutine that posted it */
    uint64_t start_ps;
    uint64_t address;
    uint32_t thread;
    uint64_t line; /* of a read: next line to request */
    uint64_t end;
    uint32_t lines; /* lines requested that have not arrived */
    bool write;
    bool rings;    /* scripts: its post rings the doorbell, for all of its phase at that server */
    bool flushing; /* the write is acknowledged, its READ is under way */
};

/* A transaction that waits in the root complex, in PCIe order. */
struct rpmi_inbound {
    uint64_t address;
    uint32_t bytes; /* 0: a read request, which pushes the writes before it */
    uint32_t slot;
    uint32_t reads;  /* lines to be read before this may be written */
    uint32_t placed; /* lines placed so far */
    bool dram;
    bool call; /* the last transaction of a call: a core serves the call when it is placed */
};

struct rpmi_cluster_model; /* see cluster_model.h */

enum rpmi_message { RPMI_MESSAGE_WRITE = 0, RPMI_MESSAGE_READ = 1, RPMI_MESSAGE_CALL = 2 };

/* A resource that serves one request at a time, in order of arrival. */
struct rpmi_wire {
    uint64_t free_ps;
};

/* A ring of waiting slots, or of words that describe them. */
struct rpmi_fifo {
    uint32_t *word;
    uint32_t room;
    uint32_t head;
    uint32_t count;
};

/* Outstanding reads of memory by a NIC, and slots that wait for one of them to end. */
struct rpmi_fetches {
    uint32_t under_way;
    struct rpmi_fifo waiting;
};

/* At how many addresses operations of a load may start. */
struct rpmi_load_starts {
    uint64_t area_bytes; /* of each area of a sequential load */
    uint64_t in_area;    /* starts in an area */
    uint64_t in_region;
    uint64_t in_chunk; /* of the interleaving, for loads on a single module */
};

struct rpmi_server_model {
    const struct rpmi_params *params;
    struct rpm_load load;
    struct rpmi_op_class op_class;      /* of the load */
    struct rpmi_cluster_model *cluster; /* that this server is part of; NULL: none */
    struct rpmi_earliest *earliest;     /* of the cluster's servers; NULL: no cluster */
    uint32_t index;                     /* in the cluster */
    bool ddio;
    uint64_t now_ps;
    uint64_t events;
    struct rpmi_rng rng;
    struct rpmi_queue queue;
    /* Calls the handler of this kind of event. */
    void (*dispatch)(struct rpmi_server_model *server, const struct rpmi_event *event);
    struct rpmi_module module[2 * RPMI_SERVER_MODULES]; /* of the pool, then DRAM channels */
    uint32_t modules;                                   /* of each */
    struct rpmi_llc llc;
    struct rpmi_core core[RPMI_SERVER_CORES];
    uint32_t cores;
    uint16_t writers[RPMI_SERVER_MODULES]; /* cores that stream to a module, with writers_max */

    struct rpmi_slot_op *slot;
    uint32_t slots;
    struct rpmi_load_starts starts;
    uint64_t *position; /* number of the next operation in each area */
    struct rpmi_wire *thread;
    uint64_t *next_start_ps; /* earliest start of the next operation of each thread */
    struct rpmi_wire nic_in, wire_in, wire_out, pcie_in, pcie_out;
    struct rpmi_wire link_there, link_back; /* between the sockets */
    struct rpmi_inbound *inbound;           /* a ring */
    struct rpmi_inbound *tlp;               /* transactions on their way to the root complex */
    uint64_t tlps;
    uint32_t inbound_room, inbound_head, inbound_count;
    uint32_t inbound_started; /* entries whose reads were sent */
    uint32_t inbound_ahead;   /* lines of these entries */
    bool inbound_busy;        /* the head waits for a line to be accepted */
    uint64_t inbound_bytes;   /* of the NIC's buffer, occupied up to the root complex */
    struct rpmi_fifo backlog; /* messages that wait for that buffer: slot << 2 | message */
    struct rpmi_fetches reads, atomics;
    uint32_t atomic_word[RPMI_SERVER_UNITS]; /* words of the outstanding atomics */
    struct rpmi_fifo calls;                  /* slots that wait for a core */

    uint64_t warm_up; /* operations that are not measured */
    uint64_t finished;
    uint64_t begin_ps;
    uint64_t partial_words;
    struct rpm_cost before; /* counters when the warm-up ended */
    uint64_t *latency_ps;   /* of each measured operation */
};

/* server_run.c */
int rpmi_server_open(const struct rpmi_params *params, bool ddio, const struct rpm_load *load,
                     struct rpmi_server_model **server);

/* Server @index of @cluster, with room for @slots outstanding operations of clients. Only the
 * fields of @load that describe the server and the largest write are used. */
int rpmi_server_open_server(const struct rpmi_params *params, const struct rpm_load *load,
                            uint32_t slots, struct rpmi_cluster_model *cluster, uint32_t index,
                            struct rpmi_server_model **server);
void rpmi_server_close(struct rpmi_server_model **server);
void rpmi_server_run(struct rpmi_server_model *server, struct rpm_cost *cost);

/* slots.c: events that @slots outstanding operations have pending, at most; make room for @slots,
 * in all but the queue of events. */
uint64_t rpmi_slots_events(const struct rpmi_params *params, uint64_t slots);
int rpmi_slots_grow(struct rpmi_server_model *server, uint32_t slots);

/* A run, event by event: start it; process the next event. False: no event is left. */
void rpmi_server_start(struct rpmi_server_model *server);
bool rpmi_server_step(struct rpmi_server_model *server);
/* totals.c */
void rpmi_server_counters(const struct rpmi_server_model *server, struct rpm_cost *cost);

/* Sorts the cost->ops latencies in place and writes their mean and percentiles to @cost. */
void rpmi_server_latencies(uint64_t *latency_ps, struct rpm_cost *cost);
/* An operation has ended. */
void rpmi_server_finish(struct rpmi_server_model *server, uint64_t start_ps, uint64_t end_ps);

/* clock.c: queue an event for @at_ps; and handle one before the function returns. */
void rpmi_server_at(struct rpmi_server_model *server, uint64_t at_ps, enum rpmi_perf_event kind,
                    uint32_t who, uint32_t owner, uint64_t arg);
void rpmi_server_dispatch(struct rpmi_server_model *server, enum rpmi_perf_event kind,
                          uint32_t owner, uint64_t arg);
/* Take the earliest event from the queue. False: it is empty. */
bool rpmi_server_take(struct rpmi_server_model *server, struct rpmi_event *event);

/* load.c */
void rpmi_load_count_starts(struct rpmi_server_model *server);

/* Areas of a sequential load: one of each thread, or two in a mix. */
uint32_t rpmi_load_areas(const struct rpm_load *load);

/* Where the next operation of a thread starts, in bytes; @writes: the operation is a write. */
uint64_t rpmi_load_address(struct rpmi_server_model *server, uint32_t thread, bool writes);
/* Does an operation take its address when it reaches the server, and not when it is posted? */
bool rpmi_load_appends(const struct rpmi_server_model *server);
/* The number of the word that an atomic swaps, from 1; 0: atomics on it are not ordered. */
uint32_t rpmi_load_word(const struct rpmi_server_model *server, const struct rpmi_slot_op *op);
/* Within so many picoseconds the threads start. */
uint64_t rpmi_load_stagger_ps(const struct rpmi_server_model *server);
/* Draw the threads' positions, and fill the caches as a long run leaves them. */
void rpmi_load_start(struct rpmi_server_model *server);
bool rpmi_load_writes(
    struct rpmi_server_model *server); /* draws whether the next operation writes */
uint64_t rpmi_load_written(const struct rpm_load *load); /* bytes of a write with its padding */
/* Bytes of a call's message, and of the answer to it. */
uint64_t rpmi_load_call_bytes(const struct rpmi_slot_op *op);
uint64_t rpmi_load_answer_bytes(const struct rpmi_slot_op *op);
int rpmi_load_check(const struct rpmi_params *params, struct rpm_load *load);

/* The time at which a request leaves that arrives at @now_ps and keeps the resource busy for
 * @busy_ps. */
static inline uint64_t rpmi_wire_pass(struct rpmi_wire *wire, uint64_t now_ps, uint64_t busy_ps)
{
    wire->free_ps = (wire->free_ps > now_ps ? wire->free_ps : now_ps) + busy_ps;
    return wire->free_ps;
}

static inline void rpmi_fifo_push(struct rpmi_fifo *fifo, uint32_t word)
{
    RPM_ASSERT(fifo->count < fifo->room);
    fifo->word[(fifo->head + fifo->count++) % fifo->room] = word;
}

/* The oldest word; the ring is not empty. */
static inline uint32_t rpmi_fifo_pop(struct rpmi_fifo *fifo)
{
    uint32_t word = fifo->word[fifo->head];

    RPM_ASSERT(fifo->count > 0);
    fifo->head = (fifo->head + 1) % fifo->room;
    fifo->count--;
    return word;
}

/* Do these bytes leave a part of the line out? */
static inline bool rpmi_line_is_partial(uint64_t line, uint64_t begin, uint64_t end)
{
    return line * RPMI_LINE_BYTES < begin || (line + 1) * RPMI_LINE_BYTES > end;
}

/* Picoseconds that @bytes take at @rate bytes per microsecond. */
static inline uint64_t rpmi_rate_ps(uint64_t bytes, uint64_t rate)
{
    return bytes * 1000000u / rate;
}

/* The time that a port takes for the bytes. */
static inline uint64_t rpmi_port_ps(const struct rpmi_params *params, uint64_t bytes)
{
    return RPMI_CANARY(MODEL_NO_PORT_RATE) ? 0 : rpmi_rate_ps(bytes, params->network_rate);
}

/* The time a NIC takes to read the payload that it sends from memory; 0 if the payload came with
 * the doorbell. */
static inline uint64_t rpmi_payload_ps(const struct rpmi_params *params, bool chain, uint64_t bytes)
{
    return chain || bytes > params->nic_inline ? params->pcie_read + params->llc_latency : 0;
}

/* memory.c: lines on their way to and from the memory modules. */
#define RPMI_LINE_REMOTE                                                                           \
    ((uint64_t)1 << 40) /* flag beside a line's number: written or read from the remote socket */
#define RPMI_LINE_NUMBER(arg) ((uint32_t)(arg))

struct rpmi_module *rpmi_server_memory_module(struct rpmi_server_model *server, bool dram,
                                              uint64_t line);
void rpmi_server_memory_write(struct rpmi_server_model *server, bool dram, uint64_t line,
                              uint32_t owner, uint64_t in_ps);
void rpmi_server_memory_read(struct rpmi_server_model *server, bool dram, uint64_t line,
                             uint32_t owner, uint64_t in_ps);

/* The latency of the link between the sockets, one way; 0 if the load runs on the local socket. */
uint64_t rpmi_server_memory_hop_ps(const struct rpmi_server_model *server);

/* Must a writer read a line's directory state before it may write the whole line? */
bool rpmi_server_memory_needs_grant(const struct rpmi_server_model *server, bool dram);

/* core.c */
void rpmi_server_core_start(struct rpmi_server_model *server);
void rpmi_server_core_event(struct rpmi_server_model *server, uint32_t core);
/* One of the core's lines was read, or accepted by a controller. */
void rpmi_server_core_line(struct rpmi_server_model *server, uint32_t core);
void rpmi_server_core_filled(struct rpmi_server_model *server, uint32_t core, uint64_t line);
void rpmi_server_core_granted(struct rpmi_server_model *server, uint32_t core, uint64_t line);
void rpmi_server_core_evicted(struct rpmi_server_model *server, uint32_t core);
void rpmi_server_core_call(struct rpmi_server_model *server, uint32_t slot);

/* inbound.c */
void rpmi_server_inbound_push(struct rpmi_server_model *server, const struct rpmi_inbound *entry);
void rpmi_server_inbound_read_back(struct rpmi_server_model *server, uint32_t place);
void rpmi_server_inbound_placed(struct rpmi_server_model *server);

/* nic.c */
void rpmi_server_nic_message(struct rpmi_server_model *server, uint32_t slot,
                             enum rpmi_message message);
/* A transaction arrived at the root complex. */
void rpmi_server_nic_inbound(struct rpmi_server_model *server, uint64_t tlp);
/* A transaction of @bytes left the root complex: its room in the NIC's buffer is free. */
void rpmi_server_nic_left(struct rpmi_server_model *server, uint64_t bytes);
/* A read request is the oldest one in the root complex: request its lines. */
void rpmi_server_nic_fetch(struct rpmi_server_model *server, uint32_t slot);
void rpmi_server_nic_data(struct rpmi_server_model *server, uint32_t slot); /* one line arrived */
/* All lines of a read are in the NIC. */
void rpmi_server_nic_fetched(struct rpmi_server_model *server, uint32_t slot);
/* An atomic changed its word: its unit is free. */
void rpmi_server_nic_changed(struct rpmi_server_model *server, uint32_t slot);
void rpmi_server_nic_answer(struct rpmi_server_model *server, uint32_t slot, uint64_t in_ps,
                            uint64_t bytes);
/* A core replies to the slot's call after @in_ps. */
void rpmi_server_nic_reply(struct rpmi_server_model *server, uint32_t slot, uint64_t in_ps);

/* client.c */
void rpmi_server_client_start(struct rpmi_server_model *server);
void rpmi_server_client_post(struct rpmi_server_model *server, uint32_t slot);
/* An operation has ended: the thread posts the next one, at once or as interval_ps allows. */
void rpmi_server_client_next(struct rpmi_server_model *server, uint32_t slot);
void rpmi_server_client_leave(struct rpmi_server_model *server, uint32_t slot,
                              enum rpmi_message message);
void rpmi_server_client_arrive(struct rpmi_server_model *server, uint32_t slot,
                               enum rpmi_message message);
/* A thread polls a completion. True: the slot's operation has ended. */
bool rpmi_server_client_done(struct rpmi_server_model *server, uint32_t slot);
/* Send the slot's messages; with scripts, when its thread has the doorbell. */
void rpmi_server_client_send(struct rpmi_server_model *server, uint32_t slot);
/* The slot's thread reaches the doorbell. */
void rpmi_server_client_ring(struct rpmi_server_model *server, uint32_t slot);

#endif
