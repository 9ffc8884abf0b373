/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sweep.h: a sweep: a point for every combination of the values on the command line.
 */
#ifndef RPM_HINTS_SWEEP_H
#define RPM_HINTS_SWEEP_H

#include "harness/point.h"

#include <algorithm>
#include <string>
#include <vector>

namespace hints
{

/* The words that an option accepts: the names of the values @first to @last. */
struct Words {
    const char *(*name_of)(uint32_t);
    uint32_t first;
    uint32_t last;

    std::vector<std::string> all() const
    {
        std::vector<std::string> names;

        for (uint32_t i = first; i <= last; i++)
            names.push_back(name_of(i));
        return names;
    }
    /* The value of a word. */
    uint32_t value(const std::string &word) const
    {
        const std::vector<std::string> names = all();

        return first +
               static_cast<uint32_t>(std::find(names.begin(), names.end(), word) - names.begin());
    }
};

const char *ddio_name(uint32_t ddio);
const char *socket_name(uint32_t remote);

constexpr Words kByWords{ by_name, RPM_BY_CORE, RPM_BY_CALL };
constexpr Words kOpWords{ op_name, 0, 3 };
constexpr Words kPatternWords{ pattern_name, 0, 2 };
constexpr Words kPersistWords{ persist_name, 0, 2 };
constexpr Words kCopyWords{ copy_name, 1, 3 };
constexpr Words kMemoryWords{ memory_name, 0, 1 };
constexpr Words kDdioWords{ ddio_name, RPM_NO, RPM_YES };
constexpr Words kSocketWords{ socket_name, 0, 1 };

/* The hints, or the load's defaults, decide the options that were not given. */
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
    uint32_t use_dimms = 0;
    bool own_dimms = false;
    uint32_t passes = 0;
    uint32_t words = 0;
    uint64_t interval_ns = 0;
    uint32_t writers_max = 0;
    uint64_t ops = 0;
    bool reduced = false;
};

std::vector<Point> sweep_points(const rpm_facts &facts, uint32_t hints, const Sweep &sweep);

} // namespace hints

#endif
