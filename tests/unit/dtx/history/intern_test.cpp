// SPDX-License-Identifier: BSD-3-Clause
#include "history/intern.h"
#include "support/catch.h"

using dtx::history::Interner;
using dtx::history::kNone;

TEST_CASE("intern: numbers have indices in the order of first occurrence", "[unit]")
{
    Interner table;

    REQUIRE(table.find(0) == kNone);
    REQUIRE(table.intern(0) == 0);
    REQUIRE(table.intern(UINT64_MAX) == 1);
    REQUIRE(table.intern(0) == 0);
    REQUIRE(table.find(UINT64_MAX) == 1);
    REQUIRE(table.find(1) == kNone);
    REQUIRE(table.key(1) == UINT64_MAX);
    REQUIRE(table.size() == 2);
}

TEST_CASE("intern: a hundred thousand neighbours keep their indices", "[unit]")
{
    Interner table;
    constexpr uint32_t kCount = 100000;
    uint32_t wrong = 0;

    for (uint32_t i = 0; i < kCount; i++)
        table.intern(static_cast<uint64_t>(i % 3) << 56 | i / 3);
    for (uint32_t i = 0; i < kCount; i++)
        wrong += table.find(static_cast<uint64_t>(i % 3) << 56 | i / 3) != i;
    REQUIRE(wrong == 0);
    REQUIRE(table.size() == kCount);
}
