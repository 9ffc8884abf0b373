/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory.c: the module of a line, and the path to it from the socket of the NIC and cores.
 *
 * A pool is interleaved over its modules. From the remote socket every line crosses the link
 * between the sockets, which takes time each way. The modules hold a directory of the lines that
 * another socket owns: a write from there waits until the line's state is read, and changes it.
 *
 * Tests: tests/unit/sim/perf/memory_test.cpp
 */
#include "sim/perf/server_model.h"

struct rpmi_module *rpmi_server_memory_module(struct rpmi_server_model *server, bool dram,
                                              uint64_t line)
{
    uint64_t chunk = RPMI_CANARY(MODEL_NO_INTERLEAVING)
                         ? 0
                         : line * RPMI_LINE_BYTES / server->params->interleave;

    return &server->module[(dram ? RPMI_SERVER_MODULES : 0) + chunk % server->modules];
}

/* Modules use the number of a line in the pool: no interleaving divides a media line. */
static uint64_t flags_of(const struct rpmi_server_model *server, uint64_t line)
{
    RPM_ASSERT(line <= UINT32_MAX);
    return line | (server->load.remote_socket != 0 && !RPMI_CANARY(MODEL_NO_DIRECTORY_WRITE)
                       ? RPMI_LINE_REMOTE
                       : 0);
}

uint64_t rpmi_server_memory_hop_ps(const struct rpmi_server_model *server)
{
    return server->load.remote_socket != 0 && !RPMI_CANARY(MODEL_NO_LINK)
               ? server->params->upi_latency / 2
               : 0;
}

/* DRAM's directory is left out: it costs no media time that matters. */
bool rpmi_server_memory_needs_grant(const struct rpmi_server_model *server, bool dram)
{
    return server->load.remote_socket != 0 && !RPMI_CANARY(MODEL_NO_DIRECTORY_READ) && !dram &&
           server->params->directory != 0;
}

/* The time until a line that starts after @in_ps has crossed the link between the sockets. */
static uint64_t through_ps(struct rpmi_server_model *server, struct rpmi_wire *link, uint64_t in_ps)
{
    if (server->load.remote_socket == 0 || RPMI_CANARY(MODEL_NO_LINK))
        return server->now_ps + in_ps;
    return rpmi_wire_pass(link, server->now_ps + in_ps,
                          rpmi_rate_ps(RPMI_LINE_BYTES, server->params->upi_rate));
}

/* A NIC's writes cross the link one behind another, without waiting for each to be accepted: the
 * latency of the link is part of their path to the root complex, see nic.c. */
void rpmi_server_memory_write(struct rpmi_server_model *server, bool dram, uint64_t line,
                              uint32_t owner, uint64_t in_ps)
{
    const struct rpmi_module *module = rpmi_server_memory_module(server, dram, line);
    uint64_t at_ps = through_ps(server, &server->link_there, in_ps);

    if (RPMI_OWNER_KIND(owner) != RPMI_OWNER_INBOUND)
        at_ps += rpmi_server_memory_hop_ps(server);
    rpmi_server_at(server, at_ps, RPMI_PERF_EV_WRITE, module->number, owner,
                   flags_of(server, line));
}

/* The return over the link is charged here already: only its rate and the sum of both directions
 * matter. */
void rpmi_server_memory_read(struct rpmi_server_model *server, bool dram, uint64_t line,
                             uint32_t owner, uint64_t in_ps)
{
    const struct rpmi_module *module = rpmi_server_memory_module(server, dram, line);
    uint64_t at_ps =
        through_ps(server, &server->link_back, in_ps) + rpmi_server_memory_hop_ps(server);

    if (RPMI_OWNER_KIND(owner) != RPMI_OWNER_FETCH) /* nic.c charges a NIC's way there */
        at_ps += rpmi_server_memory_hop_ps(server);
    rpmi_server_at(server, at_ps, RPMI_PERF_EV_READ, module->number, owner, flags_of(server, line));
}
