// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/clock.h"
}
#include "support/catch.h"

#include <atomic>
#include <thread>

static std::atomic<uint64_t> fake_now;

static uint64_t fake_clock()
{
    return fake_now;
}

// Restores the system clock at the end, also if a check fails.
struct FakeClock {
    FakeClock()
    {
        rpmi_clock_replace(fake_clock);
    }
    ~FakeClock()
    {
        rpmi_clock_replace(nullptr);
    }
};

TEST_CASE("clock: real time does not go back", "[unit]")
{
    uint64_t last = rpmi_clock_ns();

    for (int i = 0; i < 100000; i++) {
        uint64_t now = rpmi_clock_ns();

        REQUIRE(now >= last);
        last = now;
    }
}

TEST_CASE("clock: a replaced clock that goes backwards is held", "[unit]")
{
    FakeClock fake;

    fake_now = 1000;
    REQUIRE(rpmi_clock_ns() == 1000);
    fake_now = 400;
    REQUIRE(rpmi_clock_ns() == 1000);
    fake_now = 1001;
    REQUIRE(rpmi_clock_ns() == 1001);
}

TEST_CASE("clock: each thread has its own floor", "[unit]")
{
    FakeClock fake;
    uint64_t elsewhere = 0;

    fake_now = 5000;
    REQUIRE(rpmi_clock_ns() == 5000);
    fake_now = 100;
    std::thread([&] { elsewhere = rpmi_clock_ns(); }).join();
    REQUIRE(elsewhere == 100);
    REQUIRE(rpmi_clock_ns() == 5000);
}

TEST_CASE("clock: replacing it begins a new time line", "[unit]")
{
    {
        FakeClock fake;

        fake_now = UINT64_MAX - 1;
        REQUIRE(rpmi_clock_ns() == UINT64_MAX - 1);
    }
    REQUIRE(rpmi_clock_ns() < UINT64_MAX - 1);
    FakeClock fake;
    fake_now = 1;
    REQUIRE(rpmi_clock_ns() == 1);
}

TEST_CASE("clock: sleeping lets about that much time pass", "[unit]")
{
    uint64_t before = rpmi_clock_ns();

    rpmi_clock_sleep_ns(2000000);
    REQUIRE(rpmi_clock_ns() - before >= 1000000);
    rpmi_clock_sleep_ns(0);
}
