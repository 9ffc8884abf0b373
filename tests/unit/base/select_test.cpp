// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/rng.h"
#include "base/select.h"
}
#include "support/catch.h"
#include "support/death.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace
{

rpmi_select selector(uint32_t count)
{
    rpmi_select select;

    rpmi_select_init(&select, 3);
    for (uint32_t i = 0; i < count; i++)
        REQUIRE(rpmi_select_add(&select, 3) == i);
    return select;
}

// Servers that take a time for each operation, a number of operations side by side, and let the
// others wait: a closed loop of clients over them, in rounds of one nanosecond.
struct Servers {
    struct Job {
        rpmi_pick pick;
        uint64_t begin;
        uint64_t end;
    };

    std::vector<uint64_t> takes_ns;
    std::vector<uint64_t> width;
    std::vector<std::vector<uint64_t>> free_at{ takes_ns.size() };
    std::vector<Job> jobs{};
    std::vector<uint64_t> done = std::vector<uint64_t>(takes_ns.size());
    uint64_t now = 0;
    uint64_t jitter = 0; // percent of a time that an operation may take longer
    rpmi_rng rng = { 1 };

    uint64_t time_of(uint32_t alternative)
    {
        uint64_t takes = takes_ns[alternative];

        return takes + takes * rpmi_rng_below(&rng, jitter + 1) / 100;
    }

    void start(rpmi_select *select)
    {
        rpmi_pick pick = rpmi_select_pick(select, 64);
        std::vector<uint64_t> &free = free_at[pick.alternative];

        free.resize(width[pick.alternative]);
        auto first = std::min_element(free.begin(), free.end());
        *first = std::max(*first, now) + time_of(pick.alternative);
        jobs.push_back({ pick, now, *first });
    }

    void run(rpmi_select *select, size_t clients, uint64_t operations)
    {
        while (jobs.size() < clients)
            start(select);
        for (uint64_t i = 0; i < operations; i++) {
            auto first = std::min_element(jobs.begin(), jobs.end(),
                                          [](const Job &a, const Job &b) { return a.end < b.end; });
            Job job = *first;

            jobs.erase(first);
            now = job.end;
            done[job.pick.alternative]++;
            rpmi_select_done(select, &job.pick, job.end - job.begin);
            start(select);
        }
    }

    double share(uint32_t alternative) const
    {
        return static_cast<double>(done[alternative]) /
               static_cast<double>(std::accumulate(done.begin(), done.end(), uint64_t{ 0 }));
    }
};

void end_all(rpmi_select *select, Servers *servers)
{
    for (const Servers::Job &job : servers->jobs)
        rpmi_select_lost(select, &job.pick);
    servers->jobs.clear();
}

} // namespace

TEST_CASE("select: each alternative is tried once, then the fastest is taken", "[unit]")
{
    rpmi_select select = selector(3);
    const uint64_t takes[] = { 300, 100, 200 };

    for (uint32_t i = 0; i < 3; i++) {
        rpmi_pick pick = rpmi_select_pick(&select, 64);
        CHECK(pick.alternative == i);
        rpmi_select_done(&select, &pick, takes[i]);
    }
    for (int i = 0; i < 50; i++) {
        rpmi_pick pick = rpmi_select_pick(&select, 64);
        CHECK(pick.alternative == 1);
        CHECK(pick.outstanding == 1);
        rpmi_select_done(&select, &pick, 100);
    }
}

TEST_CASE("select: with estimates the fastest is taken from the first operation on", "[unit]")
{
    rpmi_select select = selector(3);

    rpmi_select_expect(&select, 0, 0, 300);
    rpmi_select_expect(&select, 1, 0, 100);
    rpmi_select_expect(&select, 2, 0, 200);
    for (int i = 0; i < 50; i++) {
        rpmi_pick pick = rpmi_select_pick(&select, 64);
        CHECK(pick.alternative == 1);
        CHECK_FALSE(pick.probe);
        CHECK((rpmi_select_mean_ns(&select, 1, 64) == 0) == (i == 0)); // an estimate is no mean
        rpmi_select_done(&select, &pick, 100);
    }
    CHECK(rpmi_select_pick(&select, 65).probe); // of that size class nothing is known
}

TEST_CASE("select: a wrong estimate is replaced by what is measured", "[unit]")
{
    for (uint64_t wrong : { uint64_t{ 1 }, uint64_t{ RPMI_SELECT_GIVEN_MAX } }) {
        rpmi_select select = selector(2);
        Servers servers{ { 100, 300 }, { 1, 1 } };

        // The slow one looks fast, or the fast one slow: a few operations, or probes, tell.
        rpmi_select_expect(&select, 0, 0, wrong == 1 ? 200 : wrong);
        rpmi_select_expect(&select, 1, 0, wrong == 1 ? wrong : 300);
        servers.run(&select, 1, RPMI_SELECT_TRUST * RPMI_SELECT_PROBE);
        servers.done = { 0, 0 };
        servers.run(&select, 1, 10000);
        CHECK(servers.share(0) == Approx(0.99).margin(0.002));
    }
}

TEST_CASE("select: one slow operation does not outweigh an estimate", "[unit]")
{
    rpmi_select select = selector(2);

    rpmi_select_expect(&select, 0, 0, 100);
    rpmi_select_expect(&select, 1, 0, 200);
    rpmi_pick pick = rpmi_select_pick(&select, 64);
    rpmi_select_done(&select, &pick, 500);
    CHECK(rpmi_select_pick(&select, 64).alternative == 0); // (7 x 100 + 500) / 8 = 150
}

TEST_CASE("select: one operation of a hundred goes to the others, each in its turn", "[unit]")
{
    rpmi_select select = selector(3);
    Servers servers{ { 100, 300, 200 }, { 1, 1, 1 } };

    servers.run(&select, 1, 10000);
    CHECK(servers.share(0) == Approx(0.99).margin(0.002));
    CHECK(servers.done[1] == Approx(50).margin(2));
    CHECK(servers.done[2] == Approx(50).margin(2));
}

TEST_CASE("select: the best is taken until its queue is saturated, then the next is added",
          "[unit]")
{
    rpmi_select select = selector(2);
    Servers servers{ { 100, 400 }, { 4, 64 } };

    servers.run(&select, 3, 4000);
    CHECK(servers.share(0) > 0.98);

    /* 64 clients are 16 times what the first serves at once, and the second serves them all. */
    end_all(&select, &servers);
    Servers full{ { 100, 400 }, { 4, 64 } };
    full.run(&select, 64, 40000);
    double rate = static_cast<double>(40000) / static_cast<double>(full.now);
    double first = 4.0 / 100;
    double second = 60.0 / 400;
    CHECK(rate > 0.9 * (first + second));
    CHECK(full.share(0) > 0.15);
    CHECK(full.share(0) < 0.30);
}

TEST_CASE("select: times that differ without a queue are not taken for one", "[unit]")
{
    rpmi_select select = selector(2);
    Servers servers{ { 1000, 1500 }, { 8, 8 } };

    servers.jitter = 30;
    servers.run(&select, 6, 2000);
    servers.done = { 0, 0 };
    servers.run(&select, 6, 4000);
    CHECK(servers.share(0) > 0.9);
}

TEST_CASE("select: a queue that lasts does not count as the alternative's own time", "[unit]")
{
    rpmi_select select = selector(2);
    Servers servers{ { 100, 150 }, { 4, 64 } };

    servers.run(&select, 20, 50000);
    CHECK(select.of[0].time[0].idle < 116 * RPMI_SELECT_FORGET);
    double rate = 50000.0 / static_cast<double>(servers.now);
    CHECK(rate > 0.94 * (4.0 / 100 + 16.0 / 150));
}

TEST_CASE("select: beyond all queues, rates are those of the alternatives", "[unit]")
{
    rpmi_select select = selector(3);
    Servers servers{ { 100, 150, 300 }, { 4, 3, 3 } };

    servers.run(&select, 200, 60000);
    double rate = 60000.0 / static_cast<double>(servers.now);
    double all = 4.0 / 100 + 3.0 / 150 + 3.0 / 300;
    CHECK(rate > 0.95 * all);
}

TEST_CASE("select: one that is better by less than 15 % does not pass another", "[unit]")
{
    rpmi_select select = selector(2);
    Servers servers{ { 100, 95 }, { 1, 1 } };

    servers.run(&select, 1, 1000);
    CHECK(servers.share(0) > 0.98);
    servers.takes_ns[1] = 80;
    servers.run(&select, 1, 8000);
    servers.done = { 0, 0 };
    servers.run(&select, 1, 1000);
    CHECK(servers.share(1) > 0.98);
}

TEST_CASE("select: one that has become slower is left", "[unit]")
{
    rpmi_select select = selector(2);
    Servers servers{ { 100, 150 }, { 1, 1 } };

    servers.run(&select, 1, 1000);
    CHECK(servers.share(0) > 0.98);
    servers.takes_ns[0] = 1000;
    servers.done = { 0, 0 };
    servers.run(&select, 1, 5000);
    CHECK(servers.share(1) > 0.95);
}

TEST_CASE("select: sizes are ranked by themselves", "[unit]")
{
    const uint64_t below[] = { 64, 256, 1024, 4096, 65536, 1048576 };
    rpmi_select select = selector(2);

    for (uint64_t bytes : below) {
        rpmi_pick small = rpmi_select_pick(&select, bytes);
        rpmi_pick large = rpmi_select_pick(&select, bytes + 1);
        CHECK(large.size_class == small.size_class + 1);
        rpmi_select_lost(&select, &small);
        rpmi_select_lost(&select, &large);
    }
    for (uint64_t bytes : { 64, 4096 })
        for (int i = 0; i < 2; i++) {
            rpmi_pick pick = rpmi_select_pick(&select, bytes);
            rpmi_select_done(&select, &pick, (bytes == 64) == (pick.alternative == 0) ? 10 : 100);
        }
    CHECK(rpmi_select_pick(&select, 64).alternative == 0);
    CHECK(rpmi_select_pick(&select, 4096).alternative == 1);
}

TEST_CASE("select: an operation for which the caller has chosen counts like any other", "[unit]")
{
    rpmi_select select = selector(2);
    rpmi_pick pick = rpmi_select_take(&select, 1, 64);

    CHECK(pick.alternative == 1);
    CHECK_FALSE(pick.probe);
    CHECK(select.outstanding[1] == 1);
    CHECK(rpmi_select_mean_ns(&select, 1, 64) == 0);
    rpmi_select_done(&select, &pick, 50);
    CHECK(rpmi_select_mean_ns(&select, 1, 64) == 50);
    CHECK(rpmi_select_mean_ns(&select, 1, 65) == 0);
    CHECK(rpmi_select_pick(&select, 64).probe); // of the other one, which is not known yet
    CHECK_FALSE(rpmi_select_pick(&select, 64).probe);
    rpmi_select_lose_all(&select);
    CHECK(select.outstanding[0] == 0);
    CHECK(select.outstanding[1] == 0);
}

TEST_CASE("select: a lost operation says nothing of its time, and leaves the queue", "[unit]")
{
    rpmi_select select = selector(1);
    rpmi_pick pick = rpmi_select_pick(&select, 64);

    rpmi_select_lost(&select, &pick);
    CHECK(select.of[0].time[0].idle == 0);
    CHECK(select.outstanding[0] == 0);
}

TEST_CASE("select: an alternative with another promise is refused, as is ending a pick twice",
          "[unit]")
{
    CHECK_FALSE(death_of([] {
                    rpmi_select select = selector(1);
                    rpmi_select_add(&select, 4);
                }).empty());
    CHECK_FALSE(death_of([] {
                    rpmi_select select = selector(1);
                    rpmi_pick pick = rpmi_select_pick(&select, 64);
                    rpmi_select_lost(&select, &pick);
                    rpmi_select_lost(&select, &pick);
                }).empty());
}
