// SPDX-License-Identifier: BSD-3-Clause
// tally.h: how many runs had which faults.
#ifndef TESTS_CRASH_FS_TALLY_H
#define TESTS_CRASH_FS_TALLY_H

#include <cstdint>
#include <string>

namespace crash
{

struct Tally {
    uint64_t points = 0;
    uint64_t good = 0; // of them without a fault
    uint64_t lost = 0; // runs with a fault of that kind
    uint64_t half = 0;
    uint64_t leaked = 0;
    uint64_t stuck = 0;

    // @faults: of Scene::run().
    void add(const std::string &faults)
    {
        auto has = [&](const char *kind) -> uint64_t {
            return faults.rfind(kind, 0) == 0 ||
                   faults.find(std::string("\n") + kind) != faults.npos;
        };

        points++;
        good += faults.empty();
        lost += has("lost:");
        half += has("half:");
        leaked += has("leaked:");
        stuck += has("stuck:");
    }
};

} // namespace crash
#endif
