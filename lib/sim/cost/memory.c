/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory.c: which module a line belongs to, and the way there from the socket of the NIC and cores.
 *
 * A pool is interleaved over its modules. From the other socket every line crosses the link between
 * them, which takes time each way, and a write also changes the directory that the modules hold.
 *
 * Tests: tests/unit/sim/cost/memory_test.cpp
 */
#include "sim/cost/rig.h"

struct rpmi_module *rpmi_rig_memory_module(struct rpmi_rig *rig, bool dram, uint64_t line)
{
    uint64_t chunk = line * RPMI_LINE_BYTES / rig->params->interleave;

    return &rig->module[(dram ? RPMI_RIG_MODULES : 0) + chunk % rig->modules];
}

/* Modules know a line by its number in the pool: no interleaving divides a media line. */
static uint64_t flags_of(const struct rpmi_rig *rig, uint64_t line)
{
    RPM_ASSERT(line <= UINT32_MAX);
    return line | (rig->load.far != 0 ? RPMI_LINE_REMOTE : 0);
}

uint64_t rpmi_rig_memory_hop_ps(const struct rpmi_rig *rig)
{
    return rig->load.far != 0 ? rig->params->upi_latency / 2 : 0;
}

/* When a line that sets out in @in_ps is through the link between the sockets. */
static uint64_t through_ps(struct rpmi_rig *rig, struct rpmi_wire *link, uint64_t in_ps)
{
    if (rig->load.far == 0)
        return rig->now_ps + in_ps;
    return rpmi_wire_pass(link, rig->now_ps + in_ps,
                          rpmi_rate_ps(RPMI_LINE_BYTES, rig->params->upi_rate));
}

/* A NIC's writes cross the link one behind the other, without waiting for each to be accepted:
 * their hop is part of their way to the root complex, see nic.c. */
void rpmi_rig_memory_write(struct rpmi_rig *rig, bool dram, uint64_t line, uint32_t owner,
                           uint64_t in_ps)
{
    const struct rpmi_module *module = rpmi_rig_memory_module(rig, dram, line);
    uint64_t at_ps = through_ps(rig, &rig->link_there, in_ps);

    if (RPMI_OWNER_KIND(owner) != RPMI_OWNER_INBOUND)
        at_ps += rpmi_rig_memory_hop_ps(rig);
    rpmi_rig_at(rig, at_ps, RPMI_RIG_WRITE, module->number, owner, flags_of(rig, line));
}

/* The link's way back is charged here already: what counts is its rate and the sum of both ways. */
void rpmi_rig_memory_read(struct rpmi_rig *rig, bool dram, uint64_t line, uint32_t owner,
                          uint64_t in_ps)
{
    const struct rpmi_module *module = rpmi_rig_memory_module(rig, dram, line);
    uint64_t at_ps = through_ps(rig, &rig->link_back, in_ps) + rpmi_rig_memory_hop_ps(rig);

    if (RPMI_OWNER_KIND(owner) != RPMI_OWNER_FETCH) /* whose way there was a NIC's, as above */
        at_ps += rpmi_rig_memory_hop_ps(rig);
    rpmi_rig_at(rig, at_ps, RPMI_RIG_READ, module->number, owner, flags_of(rig, line));
}

void rpmi_rig_memory_accepted(struct rpmi_rig *rig, uint32_t owner)
{
    uint32_t index = RPMI_OWNER_INDEX(owner);

    switch (RPMI_OWNER_KIND(owner)) {
    case RPMI_OWNER_CORE:
        rpmi_rig_core_line(rig, index);
        return;
    case RPMI_OWNER_INBOUND:
        rpmi_rig_inbound_placed(rig);
        return;
    case RPMI_OWNER_VICTIM:
        rpmi_rig_core_evicted(rig, index);
        return;
    default:
        RPM_ASSERT(RPMI_OWNER_KIND(owner) == RPMI_OWNER_NONE);
    }
}
