/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * buffer.h: a buffer of media lines: find one by its number, take and give back entries, or pick
 * one at random.
 *
 * Invariant: spares and used entries add up to all; each used entry is in one chain of the index.
 *
 * Tests: tests/unit/sim/perf/buffer_test.cpp
 */
#ifndef RPMI_SIM_PERF_BUFFER_H
#define RPMI_SIM_PERF_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#define RPMI_BUFFER_MAX 1025u   /* the parameter's limit, and one entry being written */
#define RPMI_BUFFER_INDEX 4096u /* places of the hash, a power of two */

struct rpmi_rng;

struct rpmi_buffer_entry {
    uint32_t line; /* of the media */
    uint8_t held;  /* bit for each of its 64-byte lines in the buffer */
    bool busy;     /* it is being written or read, and cannot be evicted */
    bool whole;    /* the rest of the line was read before it was written */
    bool remote;   /* a line from the other socket: the directory is written with it */
    uint16_t next; /* in its chain, + 1 */
};

struct rpmi_buffer {
    struct rpmi_buffer_entry entry[RPMI_BUFFER_MAX];
    uint16_t used[RPMI_BUFFER_MAX]; /* in no order */
    uint16_t used_at[RPMI_BUFFER_MAX];
    uint16_t spare[RPMI_BUFFER_MAX];
    uint32_t useds;
    uint32_t spares;
    uint16_t index[RPMI_BUFFER_INDEX];
};

void rpmi_buffer_open(struct rpmi_buffer *buffer, uint32_t entries);

/* NULL if the line is not in the buffer. */
struct rpmi_buffer_entry *rpmi_buffer_find(struct rpmi_buffer *buffer, uint32_t line);

/* The caller has checked that there is a spare entry. */
struct rpmi_buffer_entry *rpmi_buffer_take(struct rpmi_buffer *buffer, uint32_t line);
void rpmi_buffer_give(struct rpmi_buffer *buffer, struct rpmi_buffer_entry *entry);

/* An entry that is not busy, chosen at random; NULL if all are busy. */
struct rpmi_buffer_entry *rpmi_buffer_any(struct rpmi_buffer *buffer, struct rpmi_rng *rng);

#endif
