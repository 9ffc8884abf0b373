/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * module.h: one memory module and the queue that its controller keeps for it.
 *
 * Lines wait outside, in slices of the cache, until the controller's queue has room, and then count
 * as accepted (the domain that survives a power loss begins there). The queue drains in order into
 * the module's buffer of media lines. The media read or write one media line at a time.
 *
 * Invariants
 *   a media line is at most once among those written, and at most once among those read
 *   lines of one media line that are in the buffer together cost one write
 *   each waiting line is in the chain of one slice
 *
 * Tests: tests/unit/sim/perf/module_test.cpp
 */
#ifndef RPMI_SIM_PERF_MODULE_H
#define RPMI_SIM_PERF_MODULE_H

#include "sim/perf/buffer.h"

#define RPMI_MODULE_QUEUE 256u    /* lines in a controller's queue, at most */
#define RPMI_MODULE_OUTSIDE 8192u /* lines that wait for room in that queue */
#define RPMI_MODULE_SLICES 64u    /* slices of the cache in which they wait, at most */
#define RPMI_MODULE_JOINED 16384u /* reads that wait for a media read of another one */
#define RPMI_MODULE_WORK 16384u   /* pending reads and writes of the media */

struct rpmi_line {
    uint64_t arg;   /* number and flags, see server_model.h */
    uint32_t owner; /* see server_model.h */
};

/* A line that waits, in a chain; places are counted from 1, and 0 is the end. */
struct rpmi_waiting {
    struct rpmi_line line;
    uint16_t next;
};

struct rpmi_slice {
    uint16_t first;
    uint16_t last;
};

enum rpmi_work_kind {
    RPMI_WORK_READ = 0,  /* read a media line for an owner */
    RPMI_WORK_EVICT = 1, /* write an entry chosen at random, so that one is free */
    RPMI_WORK_FULL = 2   /* write a full entry, when idle */
};

struct rpmi_work {
    uint8_t kind;
    uint32_t number; /* of the 64-byte line that is read */
    uint32_t owner;  /* of a read */
};

struct rpmi_module_counts {
    uint64_t media_reads; /* media lines */
    uint64_t media_writes;
    uint64_t reads; /* 64-byte lines requested */
    uint64_t writes;
};

struct rpmi_module {
    uint16_t number;
    uint32_t share;       /* 64-byte lines in a media line */
    uint32_t queue_lines; /* of the controller */
    uint64_t read_ps;     /* media busy */
    uint64_t write_ps;
    uint64_t fill_ps;       /* saved from write_ps for each 64-byte line read before the write */
    uint64_t read_tail_ps;  /* from the end of a media read until the requester has the data */
    uint64_t hit_ps;        /* from a read of a buffered line until the requester has the data */
    uint64_t line_ps;       /* one line on the bus to the module */
    uint64_t remote_writes; /* further media writes of an entry with a line from the other socket */

    struct rpmi_waiting outside[RPMI_MODULE_OUTSIDE];
    uint32_t places;   /* used so far */
    uint16_t spare;    /* a chain of those that are free again */
    uint32_t outsides; /* lines that wait */
    struct rpmi_slice slice[RPMI_MODULE_SLICES];
    uint32_t slices;
    uint32_t turn; /* the slice from which the next line is accepted, modulo slices */
    struct rpmi_line queue[RPMI_MODULE_QUEUE];
    uint32_t queue_head, queued;
    bool draining; /* the oldest line is on the bus */

    struct rpmi_buffer dirty;       /* media lines that were written */
    struct rpmi_buffer clean;       /* media lines that were read */
    uint16_t full[RPMI_BUFFER_MAX]; /* a ring of dirty entries that became full */
    bool is_full[RPMI_BUFFER_MAX];  /* the entry is in that ring; its line may have changed since */
    uint32_t full_head, fulls;

    struct rpmi_work work[RPMI_MODULE_WORK]; /* a ring */
    uint32_t work_head, works;
    struct rpmi_work current;
    uint16_t current_entry;
    bool busy;
    bool evicting;   /* an eviction is pending */
    uint16_t victim; /* the entry that it writes and frees */
    struct rpmi_line
        joined[RPMI_MODULE_JOINED]; /* reads that wait for a media line that is being read */
    uint32_t joins;
    struct rpmi_module_counts count;
};

struct rpmi_server_model;
struct rpmi_params;

/* @module is zero. */
void rpmi_module_open(struct rpmi_module *module, uint16_t number, bool dram,
                      const struct rpmi_params *params);

/* Called by the server model's event dispatch. */
void rpmi_module_write(struct rpmi_server_model *server, struct rpmi_module *module, uint64_t arg,
                       uint32_t owner);
void rpmi_module_read(struct rpmi_server_model *server, struct rpmi_module *module, uint64_t arg,
                      uint32_t owner);
void rpmi_module_drained(struct rpmi_server_model *server, struct rpmi_module *module);
void rpmi_module_media(struct rpmi_server_model *server, struct rpmi_module *module);

#endif
