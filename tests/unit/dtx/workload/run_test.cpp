// SPDX-License-Identifier: BSD-3-Clause
// run_test.cpp: a run ends at its limits, counts all transactions, and throws the failures of
// threads.
#include "servers.h"
#include "workload/smallbank/smallbank.h"

#include <chrono>

using namespace dtx;

namespace
{

smallbank::Parameters few_accounts()
{
    smallbank::Parameters parameters;

    parameters.accounts = 100;
    parameters.hot = 50;
    return parameters;
}

// SmallBank, but a terminal fails after some transactions.
class Failing : public smallbank::SmallBank
{
  public:
    explicit Failing(int code) : SmallBank(few_accounts()), code_(code) {}
    std::unique_ptr<Terminal> terminal(Session &session, Tally &tally,
                                       const TerminalPlace &place) override
    {
        auto inner = SmallBank::terminal(session, tally, place);

        if (place.thread != 1 || place.coroutine != 1)
            return inner;
        return std::make_unique<Broken>(std::move(inner), code_);
    }

  private:
    class Broken : public Terminal
    {
      public:
        Broken(std::unique_ptr<Terminal> inner, int code) : inner_(std::move(inner)), code_(code) {}
        Task<Ended> next() override
        {
            if (++times_ == 20)
                throw Error(code_, "broken for a test");
            return inner_->next();
        }

      private:
        std::unique_ptr<Terminal> inner_;
        int code_;
        uint32_t times_ = 0;
    };

    int code_;
};

struct World {
    support::Servers servers{ 1, 64 << 20 };
    Failing failing{ RPM_E_CORRUPT };
    Failing filling{ RPM_E_NOSPACE };
    smallbank::SmallBank workload{ few_accounts() };
    Cluster cluster = servers.cluster(workload, 1);

    World()
    {
        cluster.create();
        dtx::load(workload, cluster, 1);
    }
};

} // namespace

TEST_CASE("run: any number of threads runs as many transactions as asked for")
{
    World world;
    RunOptions options;

    options.threads = 3;
    options.coroutines = 2;
    for (uint64_t transactions : { 1, 100, 101 }) {
        options.transactions = transactions;
        RunResult result = run(world.workload, world.cluster, options);
        uint64_t ended = 0;

        for (const KindCounts &counts : result.tally.counts)
            ended += counts.committed + counts.aborted;
        CHECK(ended == transactions);
        CHECK(result.latency.count == transactions);
        CHECK(result.counters.committed + result.counters.aborted == transactions);
        CHECK(result.counters.remote > 0);
        REQUIRE(result.samples.size() == 1);
        CHECK(result.samples[0].counts.committed + result.samples[0].counts.aborted ==
              transactions);
    }
}

TEST_CASE("run: it lasts as long as asked, and reports samples meanwhile")
{
    World world;
    RunOptions options;
    std::vector<Sample> samples;

    options.seconds = 0.5;
    options.interval = 0.1;
    options.on_sample = [&](const Sample &sample) { samples.push_back(sample); };
    RunResult result = run(world.workload, world.cluster, options);

    CHECK(result.seconds >= 0.5);
    CHECK(result.seconds < 5);
    REQUIRE(samples.size() >= 2);
    CHECK(result.samples.size() == samples.size() + 1);
    for (size_t i = 1; i < result.samples.size(); i++) {
        CHECK(result.samples[i].seconds > result.samples[i - 1].seconds);
        CHECK(result.samples[i].counts.committed >= result.samples[i - 1].counts.committed);
    }
    CHECK(result.samples.back().counts.committed > 0);
}

TEST_CASE("run: it ends early when options.stop is set")
{
    World world;
    RunOptions options;
    std::atomic<bool> stop = false;

    options.seconds = 100;
    options.interval = 0.05;
    options.stop = &stop;
    options.on_sample = [&](const Sample &) { stop = true; };
    CHECK(run(world.workload, world.cluster, options).seconds < 20);
}

TEST_CASE("run: a failure in one terminal ends all threads and reaches the caller")
{
    World world;
    RunOptions options;

    options.threads = 2;
    options.coroutines = 2;
    options.seconds = 100;
    try {
        run(world.failing, world.cluster, options);
        FAIL("went on");
    } catch (const Error &error) {
        CHECK(error.code() == RPM_E_CORRUPT);
    }
    // All sessions have closed: their coordinators can be claimed again.
    options.transactions = 10;
    CHECK(run(world.workload, world.cluster, options).latency.count == 10);
}

TEST_CASE("run: a full table ends it, and committed transactions count")
{
    World world;
    RunOptions options;

    options.threads = 2;
    options.coroutines = 2;
    options.seconds = 100;
    RunResult result = run(world.filling, world.cluster, options);

    CHECK(result.full == "broken for a test");
    CHECK(result.seconds < 20);
    CHECK(result.latency.count >= 19);
    CHECK(result.counters.committed > 0);
    options.seconds = 0;
    options.transactions = 10;
    CHECK(run(world.workload, world.cluster, options).full.empty());
}

TEST_CASE("run: a thread that cannot join ends all others")
{
    World world;
    RunOptions options;

    options.threads = 2;
    options.coordinator = world.cluster.options().coordinators - 1;
    options.seconds = 100;
    CHECK_THROWS_AS(run(world.workload, world.cluster, options), Error);
}

TEST_CASE("run: equal seeds give equal transactions")
{
    auto outcome = [](uint64_t seed) {
        World world;
        RunOptions options;

        options.coroutines = 1;
        options.transactions = 300;
        options.seed = seed;
        RunResult result = run(world.workload, world.cluster, options);
        return std::make_pair(result.tally.ledger.committed(),
                              world.workload.totals(world.cluster, 0));
    };

    CHECK(outcome(1) == outcome(1));
    CHECK(outcome(1) != outcome(2));
}
