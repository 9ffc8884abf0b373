/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * history.h: a fingerprint of all events of a world, and its last events as text. Two runs with the
 * same seed and the same calls have the same fingerprint.
 *
 * Tests: tests/unit/sim/device/world_test.cpp
 */
#ifndef RPMI_SIM_DEVICE_HISTORY_H
#define RPMI_SIM_DEVICE_HISTORY_H

#include "sim/queue.h"

#include <stddef.h>
#include <stdint.h>

#define RPMI_HISTORY_KEPT 64u /* events; a power of two */

struct rpmi_history {
    uint64_t print; /* the fingerprint */
    uint64_t count;
    struct rpmi_event last[RPMI_HISTORY_KEPT];
};

static inline void rpmi_history_mix(struct rpmi_history *history, uint64_t value)
{
    /* Multiplier of the 64-bit FNV hash: odd, spreads low bits upwards. */
    history->print = (history->print ^ value ^ (history->print >> 29)) * 0x100000001b3ull;
}

/* @event's time is the time at which it was processed. */
static inline void rpmi_history_add(struct rpmi_history *history, const struct rpmi_event *event)
{
    rpmi_history_mix(history, event->at);
    rpmi_history_mix(history,
                     ((uint64_t)event->kind << 48) ^ ((uint64_t)event->who << 32) ^ event->arg);
    history->last[history->count % RPMI_HISTORY_KEPT] = *event;
    history->count++;
}

/* The last events, one a line, oldest first. Returns the length as snprintf does. */
size_t rpmi_history_text(const struct rpmi_history *history, char *text, size_t bytes);

#endif
