/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * station.c: the parts of the machine that messages and chunks pass: links, units, cores, banks.
 *
 * Invariant: a station serves in the order in which parts reach it.
 *
 * Tests: tests/unit/sim/path/station_test.cpp
 */
#include "sim/path/path_model.h"

uint64_t rpmi_station_pass(struct rpmi_line_of_work *work, uint64_t now_ps, uint64_t busy_ps)
{
    work->free_ps = (work->free_ps > now_ps ? work->free_ps : now_ps) + busy_ps;
    RPM_ASSERT(work->free_ps >= now_ps);
    return work->free_ps;
}

uint64_t rpmi_station_any(struct rpmi_line_of_work *work, uint32_t count, uint64_t now_ps,
                          uint64_t busy_ps)
{
    uint32_t first = 0;

    RPM_ASSERT(count > 0 && count <= RPMI_PATH_WIRES_MAX);
    for (uint32_t i = 1; i < count; i++)
        if (work[i].free_ps < work[first].free_ps)
            first = i;
    return rpmi_station_pass(&work[first], now_ps, busy_ps);
}

/* Units of the host's path come first, then those of both paths, then those of the SoC's. */
uint64_t rpmi_station_unit(struct rpmi_paths *paths, bool soc, uint64_t busy_ps)
{
    const struct rpmi_params *params = paths->params;
    uint32_t host = (uint32_t)params->nic_host_units;
    uint32_t own = (uint32_t)(soc ? params->nic_host_units : params->nic_soc_units);

    RPM_ASSERT(params->nic_host_units + params->nic_soc_units < params->nic_units);
    return rpmi_station_any(paths->unit + (soc ? host : 0), (uint32_t)params->nic_units - own,
                            paths->now_ps, busy_ps);
}

uint64_t rpmi_station_memory(struct rpmi_paths *paths, uint64_t address, uint32_t bytes)
{
    const struct rpmi_params *params = paths->params;
    uint64_t ready_ps = paths->now_ps;
    uint64_t last = (address + bytes - 1) / params->soc_bank_bytes;
    uint64_t moved = bytes < 64 ? 64 : bytes; /* a burst */

    RPM_ASSERT(bytes > 0);
    for (uint64_t i = address / params->soc_bank_bytes; i <= last; i++) {
        uint64_t at_ps = rpmi_station_pass(&paths->bank[i % params->soc_banks], paths->now_ps,
                                           params->soc_bank_busy);

        /* The bank's first word is on its way long before the bank is free for another row. */
        at_ps -= params->soc_bank_busy;
        ready_ps = at_ps > ready_ps ? at_ps : ready_ps;
    }
    return params->soc_dram_latency + rpmi_station_pass(&paths->wire[RPMI_SOC_MEMORY], ready_ps,
                                                        moved * 1000000u / params->soc_dram_rate);
}

uint64_t rpmi_station_busy_ps(const struct rpmi_params *params, const struct rpmi_hop *hop,
                              uint64_t bytes, uint64_t message)
{
    uint64_t transactions = hop->payload == 0 ? 0 : (bytes + hop->payload - 1) / hop->payload;
    uint64_t moved = bytes + transactions * params->pcie_header;

    RPM_ASSERT(hop->rate > 0 && message >= bytes);
    /* A message's own time is spread over its chunks. */
    return moved * 1000000u / hop->rate + hop->ps * bytes / message;
}

uint64_t rpmi_station_share(const struct rpmi_hop *hop, uint32_t bytes)
{
    if (hop->station == RPMI_POOL_TAGS)
        return (bytes + hop->payload - 1) / hop->payload;
    return bytes < 64 ? 64 : bytes;
}
