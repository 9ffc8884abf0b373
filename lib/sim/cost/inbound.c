/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inbound.c: the root complex: what NICs write into memory, in PCIe order.
 *
 * A write waits until all before it are placed. Past the caches a line is placed when its module's
 * controller has accepted it; into the cache, when there is a place for it, which may mean that
 * another line must be accepted first. A part of a line needs the line to be read before it, unless
 * the cache has it; such reads are sent ahead, for so many lines. A read request is behind every
 * write before it: that is what makes a READ push WRITEs.
 *
 * Tests: tests/unit/sim/cost/inbound_test.cpp
 */
#include "sim/cost/rig.h"

static struct rpmi_inbound *entry_at(struct rpmi_rig *rig, uint32_t nth)
{
    RPM_ASSERT(nth < rig->inbound_count);
    return &rig->inbound[(rig->inbound_head + nth) % rig->inbound_room];
}

static uint64_t first_of(const struct rpmi_inbound *entry)
{
    return entry->address / RPMI_LINE_BYTES;
}

static uint32_t lines_of(const struct rpmi_inbound *entry)
{
    uint64_t end = entry->address + entry->bytes + RPMI_LINE_BYTES - 1;

    return entry->bytes == 0 ? 0 : (uint32_t)(end / RPMI_LINE_BYTES - first_of(entry));
}

/* Send the reads for partial lines. */
static void start(struct rpmi_rig *rig, struct rpmi_inbound *entry, uint32_t place)
{
    uint64_t line = first_of(entry);

    for (uint32_t i = 0; i < lines_of(entry); i++, line++) {
        if (!rpmi_line_is_partial(line, entry->address, entry->address + entry->bytes))
            continue;
        rig->partial_words++;
        if (rig->ddio && (entry->dram || rpmi_llc_has(&rig->llc, line)))
            continue;
        entry->reads++;
        rpmi_rig_memory_read(rig, entry->dram, line, RPMI_OWNER(RPMI_OWNER_INBOUND, place), 0);
    }
}

static void start_ahead(struct rpmi_rig *rig)
{
    while (rig->inbound_started < rig->inbound_count &&
           rig->inbound_ahead < rig->params->inbound_lines) {
        struct rpmi_inbound *entry = entry_at(rig, rig->inbound_started);

        start(rig, entry, (uint32_t)(entry - rig->inbound));
        rig->inbound_ahead += lines_of(entry);
        rig->inbound_started++;
    }
}

/* False: a line is on its way to a controller that has yet to accept it. */
static bool place(struct rpmi_rig *rig, const struct rpmi_inbound *entry, uint64_t line)
{
    if (rig->ddio) {
        if (entry->dram || rpmi_llc_has(&rig->llc, line))
            return true;
        line = rpmi_llc_fill(&rig->llc, line, &rig->rng);
        if (line == UINT64_MAX)
            return true;
    }
    rpmi_rig_memory_write(rig, entry->dram, line, RPMI_OWNER(RPMI_OWNER_INBOUND, 0), 0);
    return false;
}

static void leave(struct rpmi_rig *rig)
{
    struct rpmi_inbound entry = *entry_at(rig, 0);

    rig->inbound_ahead -= lines_of(&entry);
    rig->inbound_started--;
    rig->inbound_head = (rig->inbound_head + 1) % rig->inbound_room;
    rig->inbound_count--;
    if (entry.bytes == 0)
        rpmi_rig_nic_fetch(rig, entry.slot);
    else if (entry.call)
        rpmi_rig_core_call(rig, entry.slot);
    rpmi_rig_nic_left(rig, &entry);
}

static void go_on(struct rpmi_rig *rig)
{
    start_ahead(rig);
    while (!rig->inbound_busy && rig->inbound_count > 0) {
        struct rpmi_inbound *entry = entry_at(rig, 0);

        if (entry->reads > 0)
            return;
        if (entry->placed == lines_of(entry)) {
            leave(rig);
            start_ahead(rig);
            continue;
        }
        rig->inbound_busy = !place(rig, entry, first_of(entry) + entry->placed++);
    }
}

void rpmi_rig_inbound_push(struct rpmi_rig *rig, const struct rpmi_inbound *entry)
{
    RPM_ASSERT(rig->inbound_count < rig->inbound_room);
    rig->inbound_count++;
    *entry_at(rig, rig->inbound_count - 1) = *entry;
    go_on(rig);
}

void rpmi_rig_inbound_read_back(struct rpmi_rig *rig, uint32_t place)
{
    RPM_ASSERT(place < rig->inbound_room && rig->inbound[place].reads > 0);
    rig->inbound[place].reads--;
    go_on(rig);
}

void rpmi_rig_inbound_placed(struct rpmi_rig *rig)
{
    RPM_ASSERT(rig->inbound_busy);
    rig->inbound_busy = false;
    go_on(rig);
}
