// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/assert.h"
}
#include "support/catch.h"
#include "support/death.h"

static int looked;

static bool look()
{
    looked++;
    return true;
}

TEST_CASE("assert: a false invariant names itself and its place, and aborts", "[unit]")
{
    std::string said = death_of([] { RPM_ASSERT(1 + 1 == 3); });

    REQUIRE(said.find("assertion failed: 1 + 1 == 3") != std::string::npos);
    REQUIRE(said.find("assert_test.cpp:") != std::string::npos);
}

TEST_CASE("assert: a true invariant is evaluated once and does nothing", "[unit]")
{
    looked = 0;
    RPM_ASSERT(look());
    REQUIRE(looked == 1);
}

TEST_CASE("assert: a very long expression still ends the line", "[unit]")
{
    std::string expr(2000, 'x');
    std::string said = death_of([&] { rpmi_assert_failed(expr.c_str(), "file.c", 7); });

    REQUIRE(said.size() == 511);
    REQUIRE(said.back() == '\n');
}

TEST_CASE("assert: slow assertions are on in the testing library", "[unit]")
{
    REQUIRE(death_of([] { RPM_ASSERT_SLOW(1 + 1 == 3); }) != "");
}
