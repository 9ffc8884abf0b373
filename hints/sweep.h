/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sweep.h: points that no experiment has: every combination of what the command line lists.
 */
#ifndef RPM_HINTS_SWEEP_H
#define RPM_HINTS_SWEEP_H

#include "harness/point.h"

#include <vector>

namespace hints
{

/* What was not given is left to the hints, or to the load's defaults. */
struct Sweep {
    std::string by = "nic";
    std::string op = "write";
    std::vector<std::string> bytes;
    std::vector<uint32_t> threads;
    std::vector<std::string> patterns;
    std::vector<std::string> persists;
    std::vector<std::string> copies;
    std::vector<uint32_t> dimms;
    std::string memory;
    std::string flush;
    std::string fence;
    std::string ddio;
    std::string socket;
    std::string align;
    std::string pad;
    std::string region;
    uint64_t skew = 0;
    uint32_t depth = 1;
    uint32_t cores = 10;
    uint32_t write_percent = 50;
    uint32_t one_dimm = 0;
    uint32_t writers_max = 0;
    uint64_t ops = 0;
    bool reduced = false;
};

std::vector<Point> sweep_points(const rpm_facts &facts, uint32_t hints, const Sweep &sweep);

} // namespace hints

#endif
