/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * buffer.c: the entries of a module's buffer of media lines.
 *
 * Tests: tests/unit/sim/perf/buffer_test.cpp
 */
#include "sim/perf/buffer.h"

#include "base/assert.h"
#include "base/canary.h"
#include "base/rng.h"

#include <string.h>

void rpmi_buffer_open(struct rpmi_buffer *buffer, uint32_t entries)
{
    RPM_ASSERT(entries > 0 && entries <= RPMI_BUFFER_MAX);
    memset(buffer, 0, sizeof(*buffer));
    for (uint32_t i = 0; i < entries; i++)
        buffer->spare[buffer->spares++] = (uint16_t)i;
}

static uint16_t *chain_of(struct rpmi_buffer *buffer, uint32_t line)
{
    return &buffer->index[line * 2654435761u >> 20 & (RPMI_BUFFER_INDEX - 1)];
}

struct rpmi_buffer_entry *rpmi_buffer_find(struct rpmi_buffer *buffer, uint32_t line)
{
    uint16_t at = *chain_of(buffer, line);

    while (at != 0 && buffer->entry[at - 1].line != line)
        at = buffer->entry[at - 1].next;
    return at == 0 ? NULL : &buffer->entry[at - 1];
}

struct rpmi_buffer_entry *rpmi_buffer_take(struct rpmi_buffer *buffer, uint32_t line)
{
    uint16_t *head = chain_of(buffer, line);
    struct rpmi_buffer_entry *entry;
    uint16_t at;

    RPM_ASSERT(buffer->spares > 0);
    at = buffer->spare[--buffer->spares];
    entry = &buffer->entry[at];
    memset(entry, 0, sizeof(*entry));
    entry->line = line;
    entry->next = *head;
    *head = (uint16_t)(at + 1);
    buffer->used_at[at] = (uint16_t)buffer->useds;
    buffer->used[buffer->useds++] = at;
    return entry;
}

void rpmi_buffer_give(struct rpmi_buffer *buffer, struct rpmi_buffer_entry *entry)
{
    uint16_t at = (uint16_t)(entry - buffer->entry);
    uint16_t *link = chain_of(buffer, entry->line);
    uint16_t moved;

    RPM_ASSERT(buffer->useds > 0);
    while (*link != at + 1)
        link = &buffer->entry[*link - 1].next;
    *link = entry->next;
    moved = buffer->used[--buffer->useds];
    buffer->used[buffer->used_at[at]] = moved;
    buffer->used_at[moved] = buffer->used_at[at];
    buffer->spare[buffer->spares++] = at;
    entry->held = 0;
}

struct rpmi_buffer_entry *rpmi_buffer_any(struct rpmi_buffer *buffer, struct rpmi_rng *rng)
{
    uint32_t newest = buffer->useds - 1;
    uint32_t start =
        RPMI_CANARY(MODEL_NEWEST_VICTIM) ? newest : (uint32_t)rpmi_rng_below(rng, buffer->useds);

    for (uint32_t i = 0; i < buffer->useds; i++) {
        struct rpmi_buffer_entry *entry = &buffer->entry[buffer->used[(start + i) % buffer->useds]];

        if (!entry->busy)
            return entry;
    }
    return NULL;
}
