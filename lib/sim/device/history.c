/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * history.c: the last events of a world as text, for the report of a failed run.
 *
 * Invariant: recording never changes an event.
 *
 * Tests: tests/unit/sim/device/world_test.cpp
 */
#include "sim/device/history.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const NAMES[RPMI_EV_KINDS] = {
    "?",    "send", "arrive", "ack",  "go-back",     "answer",     "timer", "issue", "read",
    "pcie", "cpu",  "evict",  "dial", "dial-answer", "cpu-access", "power", "death", "engine",
};

size_t rpmi_history_text(const struct rpmi_history *history, char *text, size_t bytes)
{
    uint64_t first = history->count > RPMI_HISTORY_KEPT ? history->count - RPMI_HISTORY_KEPT : 0;
    size_t used = 0;

    if (bytes > 0)
        text[0] = '\0';
    for (uint64_t i = first; i < history->count; i++) {
        const struct rpmi_event *event = &history->last[i % RPMI_HISTORY_KEPT];
        const char *name = event->kind < RPMI_EV_KINDS ? NAMES[event->kind] : NAMES[0];
        int n =
            snprintf(used < bytes ? text + used : NULL, used < bytes ? bytes - used : 0,
                     "%" PRIu64 " ns %s %u %" PRIx64 "\n", event->at, name, event->who, event->arg);

        used += n > 0 ? (size_t)n : 0;
    }
    return used;
}
