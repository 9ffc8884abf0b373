/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.h: is a history serialisable, and in the order of real time?
 *
 * Reads of aborted transactions are not checked.
 *
 * Tests: tests/unit/dtx/history/directed_test.cpp, random_test.cpp
 */
#ifndef DTX_HISTORY_CHECK_H
#define DTX_HISTORY_CHECK_H

#include "history/graph.h"
#include "history/history.h"
#include "history/violation.h"

#include <array>
#include <cstdint>

namespace dtx::history
{

struct CheckOptions {
    bool strict = true;   /* order transactions by real time as well */
    bool partial = false; /* lines are missing: a killed run */
    uint64_t limit = 20;  /* violations of each kind that are kept in words */
};

struct CheckResult {
    explicit CheckResult(uint64_t limit) : violations(limit) {}

    std::array<uint64_t, 3> by_status = {}; /* transactions */
    uint64_t proven = 0;                    /* of unknown outcome that happened */
    uint64_t objects = 0;
    uint64_t reads = 0; /* of all transactions */
    uint64_t writes = 0;
    uint64_t final_objects = 0;
    std::array<uint64_t, kDeps> edges = {};
    uint64_t components = 0; /* strongly connected, of two transactions or more */
    Violations violations;

    bool good() const
    {
        return violations.total() == 0;
    }
};

CheckResult check(const History &history, const CheckOptions &options);

} // namespace dtx::history
#endif
