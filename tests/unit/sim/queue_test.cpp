// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "support/death.h"

extern "C" {
#include "base/rng.h"
#include "sim/queue.h"
}

#include <algorithm>
#include <vector>

static rpmi_event at(uint64_t ns, uint64_t arg)
{
    rpmi_event event = {};

    event.at = ns;
    event.arg = arg;
    return event;
}

TEST_CASE("queue: events come out by time, and in order of insertion within one instant", "[unit]")
{
    rpmi_queue queue = {};
    rpmi_rng rng;
    rpmi_event event;
    std::vector<std::pair<uint64_t, uint64_t>> expected;

    rpmi_rng_seed(&rng, 3);
    REQUIRE(rpmi_queue_reserve(&queue, 500) == 0);
    for (uint64_t i = 0; i < 500; i++) {
        event = at(rpmi_rng_below(&rng, 40), i);
        expected.emplace_back(event.at, i);
        rpmi_queue_push(&queue, &event);
    }
    std::stable_sort(expected.begin(), expected.end());
    for (const auto &want : expected) {
        REQUIRE(rpmi_queue_next(&queue) == want.first);
        REQUIRE(rpmi_queue_pop(&queue, &event));
        REQUIRE(event.at == want.first);
        REQUIRE(event.arg == want.second);
    }
    REQUIRE_FALSE(rpmi_queue_pop(&queue, &event));
    REQUIRE(rpmi_queue_next(&queue) == UINT64_MAX);
    rpmi_queue_close(&queue);
}

TEST_CASE("queue: reserving more keeps what is pending", "[unit]")
{
    rpmi_queue queue = {};
    rpmi_event event = at(5, 1);

    REQUIRE(rpmi_queue_reserve(&queue, 1) == 0);
    rpmi_queue_push(&queue, &event);
    REQUIRE(rpmi_queue_reserve(&queue, 100) == 0);
    REQUIRE(queue.room >= 101);
    REQUIRE(rpmi_queue_pop(&queue, &event));
    REQUIRE(event.arg == 1);
    rpmi_queue_close(&queue);
}

TEST_CASE("queue: pushing into a full queue is an assertion", "[unit]")
{
    REQUIRE(death_of([] {
                rpmi_queue queue = {};
                rpmi_event event = at(5, 1);

                if (rpmi_queue_reserve(&queue, 1) == 0)
                    for (int i = 0; i < 2; i++)
                        rpmi_queue_push(&queue, &event);
            }).find("queue->count < queue->room") != std::string::npos);
}
