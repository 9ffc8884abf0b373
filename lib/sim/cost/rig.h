/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rig.h: a platform with a load on it: what the cost side of the model is made of. Parts pass lines
 * of 64 bytes to each other; every part is a server with a rate, a latency and a queue. No bytes.
 *
 * Invariants
 *   times are whole picoseconds and choices come from one seeded source: the same load on the same
 *   preset gives the same result on any machine
 *   time never goes back; nothing allocates after rpmi_rig_open()
 *
 * Tests: tests/unit/sim/cost/
 */
#ifndef RPMI_SIM_COST_RIG_H
#define RPMI_SIM_COST_RIG_H

#include "base/assert.h"
#include "base/limits.h"
#include "base/rng.h"
#include "sim/cost/llc.h"
#include "sim/cost/module.h"
#include "sim/params.h"
#include "sim/queue.h"

#include <librpm/model.h>

#define RPMI_RIG_MODULES 8u
#define RPMI_RIG_CORES 64u
#define RPMI_FETCH_LINES 64u  /* that one read of a NIC asks for at a time */
#define RPMI_RIG_UNITS 64u    /* for atomics, of a NIC */
#define RPMI_RIG_SLOTS 65536u /* operations of clients under way */

/* Who waits for a line: in the top bits of an owner word; the rest is that part's own number. */
enum rpmi_cost_owner {
    RPMI_OWNER_NONE = 0,
    RPMI_OWNER_CORE = 1,    /* a core's line: core */
    RPMI_OWNER_INBOUND = 2, /* the root complex's: place in its queue */
    RPMI_OWNER_VICTIM = 3,  /* a line that the cache gave up: who waits for its place */
    RPMI_OWNER_FETCH = 4,   /* a NIC's read of memory: operation */
    RPMI_OWNER_FILL = 5     /* a core's read for ownership: core */
};

#define RPMI_OWNER(kind, index) ((uint32_t)(kind) << 28 | (uint32_t)(index))
#define RPMI_OWNER_KIND(owner) ((enum rpmi_cost_owner)((owner) >> 28))
#define RPMI_OWNER_INDEX(owner) ((owner)&0x0fffffffu)

enum rpmi_rig_event {
    RPMI_RIG_WRITE = 1,    /* a line reaches a module's controller; arg line and flags, gen owner */
    RPMI_RIG_READ = 2,     /* a request for a line does */
    RPMI_RIG_DRAIN = 3,    /* the oldest line of a controller's queue is in the module */
    RPMI_RIG_MEDIA = 4,    /* the media end what they do */
    RPMI_RIG_DATA = 5,     /* a line that was read is back; gen owner */
    RPMI_RIG_CORE = 6,     /* a core goes on */
    RPMI_RIG_POST = 7,     /* a client's thread posts an operation */
    RPMI_RIG_MESSAGE = 8,  /* a message is through the server's NIC */
    RPMI_RIG_INBOUND = 9,  /* its payload is at the root complex */
    RPMI_RIG_FETCHED = 10, /* what a NIC read is back in the NIC */
    RPMI_RIG_DONE = 11,    /* a client's thread sees an operation's end */
    RPMI_RIG_UNIT = 12,    /* a unit for atomics is free */
    RPMI_RIG_ARRIVE = 13,  /* a client's message is at the server's port */
    RPMI_RIG_LEAVE = 14,   /* and at its own machine's; in plays */
    RPMI_RIG_SEND = 15     /* a thread comes to a doorbell that others ring too; in plays */
};

struct rpmi_core {
    uint64_t begin; /* bytes of the operation */
    uint64_t end;
    uint64_t line;      /* next line of it */
    uint64_t lines;     /* left of it */
    uint64_t start_ps;  /* of the operation */
    uint64_t first_ps;  /* since the last fence */
    uint64_t next_ps;   /* no line earlier than that */
    uint64_t unfenced;  /* bytes */
    uint32_t under_way; /* lines that a fence waits for */
    uint32_t fills;     /* reads for ownership */
    uint32_t slot;      /* that it serves, for calls */
    const struct rpmi_act *work;
    uint32_t works;  /* behind it, for calls */
    uint16_t module; /* it holds a place of, with writers_max */
    bool writes;
    bool wrote; /* so did something since the call was taken up, or does now */
    bool over;  /* the operation is; the next event begins another */
    bool idle;  /* waits for a call, or for a place at a module */
    bool armed; /* an event is pending */
    bool holds; /* such a place */
};

/* What operations that are alike do. */
struct rpmi_act {
    uint32_t by;           /* enum rpm_load_by */
    uint32_t op;           /* enum rpm_load_op */
    uint32_t copy;         /* enum rpm_copy */
    uint32_t persist;      /* enum rpm_load_persist */
    uint32_t memory;       /* enum rpm_load_memory */
    uint32_t flush_memory; /* the same */
    uint32_t pattern;      /* enum rpm_load_pattern */
    uint32_t word;         /* scripts: that others touch too; 0: none */
    uint64_t bytes;
    uint64_t written; /* bytes of a write with its padding */
    uint64_t align;   /* scripts: where one may begin */
};

/* One operation of a client. */
struct rpmi_slot_op {
    const struct rpmi_act *work; /* of a call, one after another */
    uint32_t works;
    uint32_t coroutine; /* scripts: whose it is */
    uint64_t start_ps;
    uint64_t address;
    uint32_t thread;
    uint64_t line; /* of a read: next to ask for */
    uint64_t end;
    uint32_t lines; /* of it still to come back */
    bool write;
    bool rings;    /* scripts: its post rings the doorbell, for those of its phase behind it, too */
    bool flushing; /* the write is acknowledged, its READ is under way */
};

/* What waits in the root complex, in PCIe order. */
struct rpmi_inbound {
    uint64_t address;
    uint32_t bytes; /* 0: a read request, which pushes the writes before it */
    uint32_t slot;
    uint32_t reads;  /* lines that must come before this may be written */
    uint32_t placed; /* lines that were */
    bool dram;
    bool call; /* a core learns of it */
};

struct rpmi_play; /* see play.h */

enum rpmi_message { RPMI_MESSAGE_WRITE = 0, RPMI_MESSAGE_READ = 1, RPMI_MESSAGE_CALL = 2 };

struct rpmi_wire {
    uint64_t free_ps;
};

/* A ring of slots, or of words about them, that wait for their turn. */
struct rpmi_fifo {
    uint32_t *word;
    uint32_t room;
    uint32_t head;
    uint32_t count;
};

/* Reads of memory that a NIC has under way, and slots that wait for one of them to end. */
struct rpmi_fetches {
    uint32_t under_way;
    struct rpmi_fifo waiting;
};

/* Where operations of a load may begin. */
struct rpmi_places {
    uint64_t area_bytes; /* of each thread, for sequential ones */
    uint64_t of_area;    /* places to begin in it */
    uint64_t of_region;
    uint64_t of_chunk; /* of the interleaving, for loads that stay on one module */
};

struct rpmi_rig {
    const struct rpmi_params *params;
    struct rpm_load load;
    struct rpmi_act work;   /* of the load */
    struct rpmi_play *play; /* of which this is one server; NULL: the load is all there is */
    bool ddio;
    uint64_t now_ps;
    uint64_t events;
    struct rpmi_rng rng;
    struct rpmi_queue queue;
    struct rpmi_module module[2 * RPMI_RIG_MODULES]; /* of the pool, then DRAM channels */
    uint32_t modules;                                /* of each */
    struct rpmi_llc llc;
    struct rpmi_core core[RPMI_RIG_CORES];
    uint32_t cores;
    uint16_t writers[RPMI_RIG_MODULES]; /* cores that stream to a module, with writers_max */

    struct rpmi_slot_op *slot;
    uint32_t slots;
    struct rpmi_places places;
    uint64_t *position; /* of each thread or core, in operations */
    struct rpmi_wire *thread;
    struct rpmi_wire nic_in, wire_in, wire_out, pcie_in, pcie_out;
    struct rpmi_wire link_there, link_back; /* between the sockets */
    struct rpmi_inbound *inbound;           /* a ring */
    struct rpmi_inbound *tlp;               /* as many, on their way there */
    uint64_t tlps;
    uint32_t inbound_room, inbound_head, inbound_count;
    uint32_t inbound_started; /* entries whose reads were sent */
    uint32_t inbound_ahead;   /* their lines */
    bool inbound_busy;        /* the head waits for a line to be accepted */
    uint64_t inbound_bytes;   /* in the NIC's buffer: there, or on their way */
    struct rpmi_fifo backlog; /* messages that wait for room there: slot << 2 | message */
    struct rpmi_fetches reads, atomics;
    uint32_t atomic_word[RPMI_RIG_UNITS]; /* of those under way */
    struct rpmi_fifo calls;               /* slots that wait for a core */

    uint64_t warm_up; /* operations that do not count */
    uint64_t finished;
    uint64_t begin_ps;
    uint64_t partial_words;
    struct rpm_cost before; /* counters when the warm-up ended */
    uint64_t *latency_ps;   /* of each operation that counts */
};

/* rig.c */
int rpmi_rig_open(const struct rpmi_params *params, bool ddio, const struct rpm_load *load,
                  struct rpmi_rig **rig);

/* One server of a play, for so many operations of clients under way. Of the load count what it says
 * of the server, and the largest write. */
int rpmi_rig_open_server(const struct rpmi_params *params, const struct rpm_load *load,
                         uint32_t slots, struct rpmi_play *play, struct rpmi_rig **rig);
void rpmi_rig_counters(const struct rpmi_rig *rig, struct rpm_cost *cost);

/* Those of all operations of @cost, which is told about them; they are sorted. */
void rpmi_rig_latencies(uint64_t *latency_ps, struct rpm_cost *cost);
void rpmi_rig_close(struct rpmi_rig **rig);
void rpmi_rig_run(struct rpmi_rig *rig, struct rpm_cost *cost);
void rpmi_rig_start(struct rpmi_rig *rig); /* and so many steps are a run */
bool rpmi_rig_step(struct rpmi_rig *rig);  /* one event; false when none is left */
void rpmi_rig_at(struct rpmi_rig *rig, uint64_t at_ps, enum rpmi_rig_event kind, uint32_t who,
                 uint32_t owner, uint64_t arg);
void rpmi_rig_finish(struct rpmi_rig *rig, uint64_t start_ps, uint64_t end_ps);

/* load.c */
void rpmi_load_places(struct rpmi_rig *rig);

/* Where the next operation of a thread starts, in bytes. */
uint64_t rpmi_load_address(struct rpmi_rig *rig, uint32_t thread);
void rpmi_load_start(struct rpmi_rig *rig);  /* positions; caches as a long run leaves them */
bool rpmi_load_writes(struct rpmi_rig *rig); /* does the next operation? */
uint64_t rpmi_load_written(const struct rpm_load *load); /* bytes of a write with its padding */
int rpmi_load_check(const struct rpmi_params *params, struct rpm_load *load);

/* A server with a rate: when what comes now, and keeps it busy for so long, is through. */
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

/* There is one. */
static inline uint32_t rpmi_fifo_pop(struct rpmi_fifo *fifo)
{
    uint32_t word = fifo->word[fifo->head];

    RPM_ASSERT(fifo->count > 0);
    fifo->head = (fifo->head + 1) % fifo->room;
    fifo->count--;
    return word;
}

/* Is the line at most in part within these bytes? */
static inline bool rpmi_line_is_partial(uint64_t line, uint64_t begin, uint64_t end)
{
    return line * RPMI_LINE_BYTES < begin || (line + 1) * RPMI_LINE_BYTES > end;
}

/* Picoseconds for some bytes; a rate is bytes per microsecond. */
static inline uint64_t rpmi_rate_ps(uint64_t bytes, uint64_t rate)
{
    return bytes * 1000000u / rate;
}

/* memory.c: lines on their way. */
#define RPMI_LINE_REMOTE ((uint64_t)1 << 40) /* beside a line's number */
#define RPMI_LINE_NUMBER(arg) ((uint32_t)(arg))

struct rpmi_module *rpmi_rig_memory_module(struct rpmi_rig *rig, bool dram, uint64_t line);
void rpmi_rig_memory_write(struct rpmi_rig *rig, bool dram, uint64_t line, uint32_t owner,
                           uint64_t in_ps);
void rpmi_rig_memory_read(struct rpmi_rig *rig, bool dram, uint64_t line, uint32_t owner,
                          uint64_t in_ps);

/* From one socket to the other; nothing where both are one. */
uint64_t rpmi_rig_memory_hop_ps(const struct rpmi_rig *rig);

/* A line's way into the module is free: for its owner. */
void rpmi_rig_memory_accepted(struct rpmi_rig *rig, uint32_t owner);

/* core.c */
void rpmi_rig_core_start(struct rpmi_rig *rig);
void rpmi_rig_core_event(struct rpmi_rig *rig, uint32_t core);
void rpmi_rig_core_line(struct rpmi_rig *rig, uint32_t core); /* one of its lines is done */
void rpmi_rig_core_filled(struct rpmi_rig *rig, uint32_t core, uint64_t line);
void rpmi_rig_core_evicted(struct rpmi_rig *rig, uint32_t core);
void rpmi_rig_core_call(struct rpmi_rig *rig, uint32_t slot);

/* inbound.c */
void rpmi_rig_inbound_push(struct rpmi_rig *rig, const struct rpmi_inbound *entry);
void rpmi_rig_inbound_read_back(struct rpmi_rig *rig, uint32_t place);
void rpmi_rig_inbound_placed(struct rpmi_rig *rig);

/* nic.c */
void rpmi_rig_nic_message(struct rpmi_rig *rig, uint32_t slot, enum rpmi_message message);
void rpmi_rig_nic_inbound(struct rpmi_rig *rig, uint64_t tlp); /* one is at the root complex */
void rpmi_rig_nic_left(struct rpmi_rig *rig, const struct rpmi_inbound *tlp);
void rpmi_rig_nic_fetch(struct rpmi_rig *rig, uint32_t slot); /* a read request is its turn there */
void rpmi_rig_nic_data(struct rpmi_rig *rig, uint32_t slot);  /* one line of it is read */
void rpmi_rig_nic_fetched(struct rpmi_rig *rig, uint32_t slot); /* all of it is in the NIC */
void rpmi_rig_nic_changed(struct rpmi_rig *rig, uint32_t slot); /* an atomic did what it does */
void rpmi_rig_nic_answer(struct rpmi_rig *rig, uint32_t slot, uint64_t in_ps, uint64_t bytes);

/* client.c */
void rpmi_rig_client_start(struct rpmi_rig *rig);
void rpmi_rig_client_post(struct rpmi_rig *rig, uint32_t slot);
void rpmi_rig_client_leave(struct rpmi_rig *rig, uint32_t slot, enum rpmi_message message);
void rpmi_rig_client_arrive(struct rpmi_rig *rig, uint32_t slot, enum rpmi_message message);
void rpmi_rig_client_done(struct rpmi_rig *rig, uint32_t slot);
void rpmi_rig_client_send(struct rpmi_rig *rig, uint32_t slot); /* what the slot says, now */
uint64_t rpmi_rig_client_post_ps(const struct rpmi_rig *rig, uint32_t slot);     /* of its thread */
uint64_t rpmi_rig_client_call_bytes(const struct rpmi_rig *rig, uint32_t slot);  /* of a request */
void rpmi_rig_client_reply(struct rpmi_rig *rig, uint32_t slot, uint64_t in_ps); /* of a core */

#endif
