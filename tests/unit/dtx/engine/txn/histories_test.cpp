// SPDX-License-Identifier: BSD-3-Clause
#include "unit/dtx/engine/histories.h"

#include "support/rounds.h"

#include <thread>

namespace
{

dtx::Options adversarial(uint64_t seed, uint32_t canary)
{
    dtx::Options options;

    options.seed = seed;
    options.interleave = 90;
    options.canary = canary;
    options.conflicts_max = 1000;
    options.replicas = 1 + seed % 2;
    options.phases = dtx::Phases::parse(seed % 4 < 2 ? "one-sided" : "call");
    return options;
}

// Runs many small sets of transactions, each with a seed of its own, on one database, and checks
// them as one history. Returns the violations.
std::string verdicts(uint64_t first, uint64_t histories, uint32_t canary)
{
    Database db(2, adversarial(first, canary), Tables(200));
    Recorder recorder;

    for (uint64_t seed = first; seed < first + histories; seed++) {
        dtx::Options options = db.cluster->options();

        options.seed = seed;

        dtx::Cluster cluster(db.tables.schema, options);
        dtx::Session session(cluster, 0, &recorder);

        try {
            run_random(session, db.tables, seed, 4, 5);
        } catch (const dtx::Error &) {
            /* Without a rule a database may become so damaged that no session can go on. */
            REQUIRE(canary != dtx::kCanaryNone);
            break;
        }
    }
    recorder.add_final_state(*db.cluster);
    return recorder.verdict();
}

} // namespace

TEST_CASE("dtx: random interleavings are strictly serialisable", "[unit]")
{
    uint64_t seed = GENERATE(1u, 1001u, 2002u, 3003u);

    CHECK(verdicts(first_seed(seed), rounds(100), dtx::kCanaryNone) == "");
}

TEST_CASE("dtx: the checker detects each canary", "[unit]")
{
    auto canary =
        GENERATE(dtx::kCanaryValidate, dtx::kCanaryLock, dtx::kCanaryVersion, dtx::kCanaryPhantom,
                 dtx::kCanaryDropCommit, dtx::kCanaryGiveUp, dtx::kCanaryUnlockEarly);

    /* A violation appears only after hundreds of seeds. */
    if (kSlow && canary == dtx::kCanaryGiveUp)
        return;
    CAPTURE(canary);
    CHECK(verdicts(1, canary == dtx::kCanaryGiveUp ? 500 : 300, canary) != "");
}

// Two transactions on two servers each write the row that the other reads. Both can commit only if
// each validates its read before the other has locked the row.
TEST_CASE("dtx: two transactions that each write what the other read do not both commit", "[unit]")
{
    auto canary = GENERATE(dtx::kCanaryNone, dtx::kCanaryValidateEarly);
    dtx::Options options;

    options.interleave = 128;
    options.phases = dtx::Phases::parse("call");
    options.canary = canary;
    Database db(2, options, Tables(200));
    auto accounts = db.tables.accounts;
    const uint64_t keys[] = { in_partition(0, 1), in_partition(1, 1) };
    uint64_t skewed = 0;

    for (uint64_t round = 1; round <= rounds(400); round++) {
        options = db.cluster->options();
        options.seed = round;

        dtx::Cluster cluster(db.tables.schema, options);
        dtx::Session session(cluster, 0);
        std::vector<dtx::Task<void>> tasks;
        int64_t sum = 0;
        auto put_ones = [&](dtx::Txn &txn) -> dtx::Task<bool> {
            for (uint64_t key : keys)
                if (!co_await txn.write(accounts, key, Account{ 1 }))
                    co_await txn.insert(accounts, key, Account{ 1 });
            co_return true;
        };
        auto take_one = [&](uint64_t from, uint64_t other) -> dtx::Task<void> {
            co_await session.transact([&, from, other](dtx::Txn &txn) -> dtx::Task<bool> {
                Account own = dtx::need(co_await txn.read(accounts, from), "an account");
                Account their = dtx::need(co_await txn.read(accounts, other), "an account");

                if (their.cents == 0)
                    co_return true;
                own.cents = 0;
                co_return co_await txn.write(accounts, from, own);
            });
        };

        REQUIRE(now(session, put_ones) == dtx::Status::committed);
        tasks.push_back(take_one(keys[0], keys[1]));
        tasks.push_back(take_one(keys[1], keys[0]));
        session.run(std::move(tasks));
        REQUIRE(now(session, [&](dtx::Txn &txn) -> dtx::Task<bool> {
                    sum = 0;
                    for (uint64_t key : keys)
                        sum += dtx::need(co_await txn.read(accounts, key), "an account").cents;
                    co_return true;
                }) == dtx::Status::committed);
        skewed += sum == 0 ? 1 : 0;
    }
    CAPTURE(canary);
    CHECK((skewed != 0) == (canary != dtx::kCanaryNone));
}

TEST_CASE("dtx: single reads in sequence see whole transactions", "[unit]")
{
    // By call a server reads the lock and then the row, and nothing is validated afterwards. With
    // fewest, this test's servers are mapped and steps interleave: others may run between the
    // reads.
    auto [phases, canary] =
        GENERATE(table<const char *, dtx::Canary>({ { "one-sided", dtx::kCanaryNone },
                                                    { "call", dtx::kCanaryNone },
                                                    { "fewest", dtx::kCanaryNone },
                                                    { "call", dtx::kCanaryLoneRead } }));
    dtx::Options options = adversarial(1, canary);

    options.phases = dtx::Phases::parse(phases);
    Database db(2, options, Tables(200));
    Recorder recorder;
    dtx::Session session(*db.cluster, 0, &recorder);
    const uint64_t keys[] = { 1, in_partition(1, 1) };
    std::vector<dtx::Task<void>> tasks;
    auto write_both = [&](dtx::Txn &txn) -> dtx::Task<bool> {
        for (uint64_t key : keys) {
            auto row = co_await txn.read(db.tables.accounts, key);
            Account account{ row ? row->cents + 1 : 0 };

            if (!row)
                (void)co_await txn.insert(db.tables.accounts, key, account);
            else
                (void)co_await txn.write(db.tables.accounts, key, account);
        }
        co_return true;
    };
    auto writer = [&]() -> dtx::Task<void> {
        for (int i = 0; i < 300; i++)
            (void)co_await session.transact(write_both);
    };
    auto reader = [&](uint64_t first) -> dtx::Task<void> {
        for (uint64_t i = first; i < first + 600; i++)
            (void)co_await session.transact([&, i](dtx::Txn &txn) -> dtx::Task<bool> {
                (void)co_await txn.read(db.tables.accounts, keys[i % 2]);
                co_return true;
            });
    };

    REQUIRE(now(session, write_both) == dtx::Status::committed);
    tasks.push_back(writer());
    tasks.push_back(reader(0));
    tasks.push_back(reader(1));
    session.run(std::move(tasks));
    recorder.add_final_state(*db.cluster);
    CAPTURE(phases, canary);
    CHECK((recorder.verdict() == "") == (canary == dtx::kCanaryNone));
}

TEST_CASE("dtx: sessions of several threads are strictly serialisable", "[unit]")
{
    dtx::Options options;

    options.replicas = 2;
    options.interleave = GENERATE(0u, 60u);
    std::string mode = GENERATE("", ",mode=ring");
    std::string phases = GENERATE("fewest", "one-sided", "call", "hybrid");

    options.phases = dtx::Phases::parse(phases);
    Database db(2, options, Tables(1000), mode);
    Recorder recorder;
    std::vector<std::thread> threads;

    CAPTURE(options.interleave, mode, phases);
    for (uint32_t t = 0; t < 3; t++)
        threads.emplace_back([&, t] {
            dtx::Session session(*db.cluster, t, &recorder);

            run_random(session, db.tables, t + 1, 3, static_cast<int>(rounds(200)));
        });
    for (std::thread &thread : threads)
        thread.join();
    recorder.add_final_state(*db.cluster);
    CHECK(recorder.verdict() == "");
}
