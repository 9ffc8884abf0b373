/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine.h: the SoC beside a server's NIC: its memory, which is lost with the server's power, and
 * its copy engine, which writes from that memory to the server's, past the NIC (path 3D).
 *
 * The engine shares no queue with the NIC: its lines arrive in memory in any order among themselves
 * and with the lines of packets, and no READ of a client pushes them. A copy has completed when its
 * last line is on PCIe, which may be before that line is in memory. For each line that it hands to
 * PCIe the engine asks the host whether the agent may still write there, as a NIC checks a key; and
 * the server answers a call that takes this right away only when the lines handed over before have
 * arrived.
 *
 * Invariants
 *   a line is in SoC memory, or on PCIe, or in the server's memory; a cut loses the first
 *   at most RPMI_SIM_POSTED_LINES lines are on PCIe
 *
 * Tests: tests/unit/sim/device/engine_test.cpp
 */
#ifndef RPMI_SIM_DEVICE_ENGINE_H
#define RPMI_SIM_DEVICE_ENGINE_H

#include "base/limits.h"
#include "wire/steps.h"

#include <stdbool.h>
#include <stdint.h>

#define RPMI_SIM_COPIES 16u      /* of one SoC, under way at once */
#define RPMI_SIM_POSTED_LINES 4u /* a transaction of 256 bytes */

enum rpmi_copy_state {
    RPMI_COPY_UNDER_WAY = 0,
    RPMI_COPY_DONE = 1,   /* all lines are on PCIe, or in memory */
    RPMI_COPY_REFUSED = 2 /* some lines were left out: the agent may not write them (any more), or
                             the copy was dropped */
};

struct rpmi_copy {
    uint64_t id;                            /* 0: this place is free */
    uint32_t client;                        /* the agent, as the server knows it */
    uint64_t waiting;                       /* bit for each line that is in SoC memory only */
    struct rpmi_step step;                  /* a CARRY, */
    unsigned char memory[RPMI_STEPS_BYTES]; /* as it is encoded in a list */
};

struct rpmi_posted_line {
    uint64_t number; /* counts the lines that were handed to PCIe, from 1 */
    uint64_t offset; /* in the pool */
    uint32_t bytes;
    unsigned char data[RPMI_LINE_BYTES];
};

struct rpmi_engine {
    uint64_t ids;     /* of copies so far */
    uint64_t refused; /* bit (number modulo 64) of each of the last 64 copies: it was refused */
    bool armed;       /* an event is pending */
    uint64_t lines;   /* handed to PCIe so far */
    uint32_t posted;
    struct rpmi_posted_line line[RPMI_SIM_POSTED_LINES];
    struct rpmi_copy copy[RPMI_SIM_COPIES];
};

struct rpmi_machine;

/* Begin to copy the bytes of a CARRY, which was decoded from a list, as the agent that the server
 * knows as @client. Returns the copy's number, or 0: RPMI_SIM_COPIES are under way, or there is no
 * power. */
uint64_t rpmi_engine_copy(struct rpmi_machine *machine, uint32_t client,
                          const struct rpmi_step *carry);

enum rpmi_copy_state rpmi_engine_state(const struct rpmi_machine *machine, uint64_t id);

/* Event: a line is handed to PCIe, or arrives in memory. False: there was nothing to do. */
bool rpmi_engine_step(struct rpmi_machine *machine);

/* Are all of the first @lines that were handed to PCIe in memory? */
bool rpmi_engine_settled(const struct rpmi_machine *machine, uint64_t lines);

/* The agent's process dies: each of its copies goes on or stops, at random. */
void rpmi_engine_orphan(struct rpmi_machine *machine);

/* The power is cut, and what was on PCIe was settled before: drop all copies and lines. */
void rpmi_engine_drop(struct rpmi_machine *machine);

#endif
