/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inbound.c: the root complex: writes of NICs to memory, in PCIe order.
 *
 * A write waits until all writes before it are placed. Without DDIO a line is placed when its
 * module's controller has accepted it; with DDIO when the cache has room for it, for which a
 * controller may have to accept an evicted line first. A part of a line needs the line to be read
 * first, unless the cache has it; the root complex sends such reads ahead, for inbound_lines lines.
 * A read request stays behind every write before it: so a READ pushes WRITEs.
 *
 * Tests: tests/unit/sim/perf/inbound_test.cpp
 */
#include "sim/perf/server_model.h"

static struct rpmi_inbound *entry_at(struct rpmi_server_model *server, uint32_t nth)
{
    RPM_ASSERT(nth < server->inbound_count);
    return &server->inbound[(server->inbound_head + nth) % server->inbound_room];
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

/* Send the reads for partial lines, and for lines that the other socket must grant. */
static void start(struct rpmi_server_model *server, struct rpmi_inbound *entry, uint32_t place)
{
    uint64_t line = first_of(entry);
    bool needs_grant = rpmi_server_memory_needs_grant(server, entry->dram);

    for (uint32_t i = 0; i < lines_of(entry); i++, line++) {
        bool partial = rpmi_line_is_partial(line, entry->address, entry->address + entry->bytes);

        if (!partial && !needs_grant)
            continue;
        server->partial_words += partial;
        if (!needs_grant && RPMI_CANARY(MODEL_NO_PARTIAL_READ))
            continue;
        if (server->ddio && (entry->dram || rpmi_llc_has(&server->llc, line)))
            continue;
        entry->reads++;
        rpmi_server_memory_read(server, entry->dram, line, RPMI_OWNER(RPMI_OWNER_INBOUND, place),
                                0);
    }
}

static void start_ahead(struct rpmi_server_model *server)
{
    while (server->inbound_started < server->inbound_count &&
           server->inbound_ahead < server->params->inbound_lines) {
        struct rpmi_inbound *entry = entry_at(server, server->inbound_started);

        start(server, entry, (uint32_t)(entry - server->inbound));
        server->inbound_ahead += lines_of(entry);
        server->inbound_started++;
    }
}

/* Place a line. False: it waits until a controller accepts it. */
static bool place(struct rpmi_server_model *server, const struct rpmi_inbound *entry, uint64_t line)
{
    if (server->ddio && !RPMI_CANARY(MODEL_NO_DDIO)) {
        if (entry->dram || rpmi_llc_has(&server->llc, line))
            return true;
        line = rpmi_llc_fill(&server->llc, line, &server->rng);
        if (line == UINT64_MAX)
            return true;
    }
    rpmi_server_memory_write(server, entry->dram, line, RPMI_OWNER(RPMI_OWNER_INBOUND, 0), 0);
    return false;
}

static void leave(struct rpmi_server_model *server)
{
    struct rpmi_inbound entry = *entry_at(server, 0);

    server->inbound_ahead -= lines_of(&entry);
    server->inbound_started--;
    server->inbound_head = (server->inbound_head + 1) % server->inbound_room;
    server->inbound_count--;
    if (entry.bytes == 0)
        rpmi_server_dispatch(server, RPMI_PERF_EV_READ_REQUEST, 0, entry.slot);
    else if (entry.call)
        rpmi_server_dispatch(server, RPMI_PERF_EV_CALL_MESSAGE, 0, entry.slot);
    rpmi_server_dispatch(server, RPMI_PERF_EV_TLP_LEFT, 0, entry.bytes);
}

static void go_on(struct rpmi_server_model *server)
{
    start_ahead(server);
    while (!server->inbound_busy && server->inbound_count > 0) {
        struct rpmi_inbound *entry = entry_at(server, 0);

        if (entry->reads > 0)
            return;
        if (entry->placed == lines_of(entry)) {
            leave(server);
            start_ahead(server);
            continue;
        }
        server->inbound_busy = !place(server, entry, first_of(entry) + entry->placed++);
    }
}

void rpmi_server_inbound_push(struct rpmi_server_model *server, const struct rpmi_inbound *entry)
{
    RPM_ASSERT(server->inbound_count < server->inbound_room);
    if (entry->bytes == 0 && RPMI_CANARY(MODEL_READ_PASSES)) {
        rpmi_server_dispatch(server, RPMI_PERF_EV_READ_REQUEST, 0, entry->slot);
        return;
    }
    server->inbound_count++;
    *entry_at(server, server->inbound_count - 1) = *entry;
    go_on(server);
}

void rpmi_server_inbound_read_back(struct rpmi_server_model *server, uint32_t place)
{
    RPM_ASSERT(place < server->inbound_room && server->inbound[place].reads > 0);
    server->inbound[place].reads--;
    go_on(server);
}

void rpmi_server_inbound_placed(struct rpmi_server_model *server)
{
    RPM_ASSERT(server->inbound_busy);
    server->inbound_busy = false;
    go_on(server);
}
