// SPDX-License-Identifier: BSD-3-Clause
#include "engine/base/canaries.h"

#include "support/catch.h"

#include <set>

TEST_CASE("dtx: each canary has one name on the command line", "[unit]")
{
    std::set<uint32_t> named;

    for (const auto &[name, canary] : dtx::kCanaryNames) {
        CAPTURE(name);
        CHECK(canary > dtx::kCanaryNone);
        CHECK(canary <= dtx::kCanarySpare);
        CHECK(named.insert(canary).second);
    }
    CHECK(named.size() == dtx::kCanarySpare);
}
