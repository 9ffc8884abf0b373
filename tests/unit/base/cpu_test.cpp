// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/cpu.h"
}
#include "support/catch.h"

#include <sched.h>
#include <thread>

TEST_CASE("cpu: a thread is bound if it may run on one CPU only", "[unit]")
{
    cpu_set_t before;

    REQUIRE(sched_getaffinity(0, sizeof(before), &before) == 0);
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        cpu_set_t one;
        int err = -1;
        uint32_t found = 0;

        if (!CPU_ISSET(cpu, &before))
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        std::thread([&] {
            err = sched_setaffinity(0, sizeof(one), &one);
            found = rpmi_bound_cpu();
        }).join();
        REQUIRE(err == 0);
        CHECK(found == cpu + 1);
    }
    CHECK((rpmi_bound_cpu() == 0) == (CPU_COUNT(&before) > 1));
}
