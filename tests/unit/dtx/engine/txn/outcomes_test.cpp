// SPDX-License-Identifier: BSD-3-Clause
// The outcomes that transact() returns under concurrent transactions and failures.
#include <dtx/session.h>

#include "support/rounds.h"
#include "unit/dtx/engine/database.h"
#include <dtx/error.h>

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <thread>

using dtx::Session;
using dtx::Status;
using dtx::Task;
using dtx::Txn;

namespace
{

constexpr uint64_t kA = in_partition(0, 1);
constexpr uint64_t kB = in_partition(1, 1);

struct Unbalanced {
};

// Inserts two rows, in two partitions, with 0 in each.
void put_pair(Database &db, Session &session)
{
    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                AWAIT_REQUIRE(co_await txn.insert(db.tables.accounts, kA, Account{ 0 }));
                AWAIT_REQUIRE(co_await txn.insert(db.tables.accounts, kB, Account{ 0 }));
                co_return true;
            }) == Status::committed);
}

// A body that adds @to_a to one row and @to_b to the other.
auto adder(const Tables &tables, int64_t to_a, int64_t to_b)
{
    return [&tables, to_a, to_b](Txn &txn) -> Task<bool> {
        auto a = co_await txn.read(tables.accounts, kA);
        auto b = co_await txn.read(tables.accounts, kB);

        (void)co_await txn.write(tables.accounts, kA, Account{ a->cents + to_a });
        (void)co_await txn.write(tables.accounts, kB, Account{ b->cents + to_b });
        co_return true;
    };
}

// A body that adds 1 to the row of the first partition and, with @both, to the other.
auto adder_of(const Tables &tables, bool both)
{
    return [&tables, both](Txn &txn) -> Task<bool> {
        for (uint64_t key : { kA, kB })
            if (key == kA || both) {
                auto row = co_await txn.read(tables.accounts, key);

                (void)co_await txn.write(tables.accounts, key, Account{ row->cents + 1 });
            }
        co_return true;
    };
}

std::pair<int64_t, int64_t> pair_of(Database &db, Session &session)
{
    std::pair<int64_t, int64_t> pair;

    REQUIRE(now(session, [&](Txn &txn) -> Task<bool> {
                pair = { (co_await txn.read(db.tables.accounts, kA))->cents,
                         (co_await txn.read(db.tables.accounts, kB))->cents };
                co_return true;
            }) == Status::committed);
    return pair;
}

} // namespace

TEST_CASE("dtx: a body gives up or throws only for a state that the database had", "[unit]")
{
    std::string mode = GENERATE("", ",mode=ring", "tcp", "sim");
    std::string phases = GENERATE("one-sided", "call");
    bool throws = GENERATE(false, true);
    dtx::Options options;

    options.phases = dtx::Phases::parse(phases);

    Database db(2, options, Tables(), mode);
    Session one(*db.cluster, 0);
    Session two(*db.cluster, 1);
    bool first = true;

    CAPTURE(mode, phases, throws);
    put_pair(db, two);

    dtx::Outcome outcome = one.transact_now([&](Txn &txn) -> Task<bool> {
        auto a = co_await txn.read(db.tables.accounts, kA);

        if (std::exchange(first, false))
            REQUIRE(now(two, adder(db.tables, 1, -1)) == Status::committed);

        auto b = co_await txn.read(db.tables.accounts, kB);

        if (throws && a->cents + b->cents != 0)
            throw Unbalanced{};
        co_return a->cents + b->cents == 0;
    });

    CHECK(outcome.status == Status::committed);
    CHECK(outcome.conflicts == 1);
    CHECK(one.counters().aborted == 0);
    /* Reads that are still valid: the body's result is returned after one attempt. */
    CHECK(now(one, [&](Txn &txn) -> Task<bool> {
              co_return (co_await txn.read(db.tables.accounts, kA))->cents != 1;
          }) == Status::aborted);
    CHECK_THROWS_AS(one.transact_now([&](Txn &txn) -> Task<bool> {
        auto row = co_await txn.read(db.tables.accounts, kA);

        if (row->cents == 1)
            throw Unbalanced{};
        co_return true;
    }),
                    Unbalanced);
    CHECK(one.counters().conflicts == 1);
    CHECK(one.counters().aborted == 2);
}

TEST_CASE("dtx: while two sessions keep a sum constant, no body aborts for another sum", "[unit]")
{
    std::string mode = GENERATE("", "tcp");
    Database db(2, {}, Tables(), mode);
    Session reader(*db.cluster, 9);
    std::atomic<int> writing{ 2 };
    std::vector<std::thread> writers;
    uint64_t looked = 0;
    uint64_t changed = 0;
    int64_t before = 0;

    CAPTURE(mode);
    put_pair(db, reader);
    for (uint32_t t = 0; t < 2; t++)
        writers.emplace_back([&, t] {
            Session session(*db.cluster, t);

            for (uint64_t i = 0; i < rounds(mode == "" ? 5000 : 500); i++)
                (void)session.transact_now(adder(db.tables, t == 0 ? 1 : -2, t == 0 ? -1 : 2));
            writing--;
        });
    while (writing > 0) {
        int64_t seen = 0;
        bool throws = looked++ % 2 == 0;

        REQUIRE(now(reader, [&](Txn &txn) -> Task<bool> {
                    auto a = co_await txn.read(db.tables.accounts, kA);
                    auto b = co_await txn.read(db.tables.accounts, kB);

                    seen = a->cents;
                    if (throws && a->cents + b->cents != 0)
                        throw Unbalanced{};
                    co_return a->cents + b->cents == 0;
                }) == Status::committed);
        changed += std::exchange(before, seen) != seen ? 1 : 0;
    }
    for (std::thread &writer : writers)
        writer.join();
    CHECK(changed > 0);
    CHECK(reader.counters().aborted == 0);
}

namespace
{

// Has the first connection to a server fail at one operation; later connections do not fail.
struct FaultyLink {
    const Database &db;
    uint32_t server = 0;
    std::string fault; // options of wrap=fault
    bool away = false; // no server accepts connections any more
    int dials = 0;
    std::function<void()> returns{}; // called before the session connects again

    // Did the fault occur while the session joined? Then it has connected again.
    bool is_over() const
    {
        return dials > 2;
    }
    dtx::Cluster cluster()
    {
        dtx::Options options = db.cluster->options();

        options.dial = [this](uint32_t to, const rpm_conn_opts *opts, rpm_conn **conn) {
            std::string url = db.cluster->options().urls[to];

            if (dials == 2 && returns)
                returns();
            if (dials++ < 2 && to == server)
                url += ",wrap=fault," + fault;
            else if (away)
                return int(RPM_E_REFUSED);
            return rpm_conn_open(url.c_str(), opts, conn);
        };
        return dtx::Cluster(db.tables.schema, options);
    }
};

// The lease never passes within the test: a lock that a session leaves stays. The logs are small:
// each session that joins reads all of them, and these tests have hundreds.
dtx::Options without_lease(bool durable)
{
    dtx::Options options;

    options.log_bytes = 32 << 10;
    options.replicas = 2;
    options.lease_us = 600000000;
    options.retry_us = 2000000;
    options.conflicts_max = 500;
    options.durable = durable;
    return options;
}

// False: the fault occurred while the session joined.
bool join_over(const FaultyLink &link, const dtx::Cluster &cluster, std::optional<Session> &session)
{
    try {
        session.emplace(cluster, 0);
    } catch (const dtx::Error &) {
        return false;
    }
    return !link.is_over();
}

// What the program learnt about one transaction over a link whose operation @nth fails. untouched:
// the fault did not occur within the transaction.
enum class Reported { no_session, thrown, aborted, unknown, committed, untouched };

Reported one_fault(Database &db, const std::string &kind, uint32_t server, int nth, Session &second)
{
    FaultyLink link{ db, server, "fault_kind=" + kind + ",fault_at=" + std::to_string(nth) };
    dtx::Cluster cluster = link.cluster();
    std::optional<Session> session;
    auto before = pair_of(db, second);
    Reported reported = Reported::thrown;

    CAPTURE(kind, server, nth);
    if (!join_over(link, cluster, session))
        return Reported::no_session;
    try {
        Status status = now(*session, adder(db.tables, 1, 1));

        reported = status == Status::committed ? Reported::committed
                   : status == Status::unknown ? Reported::unknown
                                               : Reported::aborted;
    } catch (const dtx::Error &) {
    }

    auto after = pair_of(db, second);

    if (db.cluster->options().durable)
        CHECK(after.first == after.second);
    if (reported == Reported::committed)
        CHECK(after == std::pair(before.first + 1, before.second + 1));
    if (db.cluster->options().durable) // the session looks whether its rows are written
        CHECK(reported != Reported::unknown);
    if (reported == Reported::thrown || reported == Reported::aborted)
        CHECK(after == before);
    if (reported == Reported::committed && session->counters().rejoined == 0)
        reported = Reported::untouched;
    REQUIRE(now(second, adder(db.tables, 1, 1)) == Status::committed);
    try {
        Status status = now(*session, adder(db.tables, 1, 1));

        CHECK((status == Status::committed || reported == Reported::untouched));
    } catch (const dtx::Error &) {
        /* The fault may occur only in this transaction. */
        CHECK(reported == Reported::untouched);
        CHECK(now(*session, adder(db.tables, 1, 1)) == Status::committed);
    }
    return reported;
}

} // namespace

// Each operation of a commit fails once, over each link, in each way, on each server, with a log
// and without. In slow builds (kSlow) all of that is tested in mapped memory only; over a ring and
// over tcp each operation fails in one way on each server, with a log.
TEST_CASE("dtx: after any failure within a commit, both rows can be written", "[unit]")
{
    std::string mode = GENERATE(",mode=direct", ",mode=ring", "tcp");
    std::string kind = GENERATE("refuse", "lost", "unacked");
    uint32_t server = GENERATE(0u, 1u);
    bool durable = GENERATE(true, false);

    if (kSlow && mode != ",mode=direct" && !(durable && kind == (server == 0 ? "lost" : "unacked")))
        return;

    Database db(2, without_lease(durable), Tables(), mode);
    Session second(*db.cluster, 1);
    std::map<Reported, int> count;

    CAPTURE(mode, kind, durable);
    put_pair(db, second);
    for (int nth = 1, untouched = 0; untouched < 3; nth++) {
        Reported reported = one_fault(db, kind, server, nth, second);

        REQUIRE(nth < 500);
        count[reported]++;
        untouched = reported == Reported::untouched ? untouched + 1 : 0;
    }
    /* Some operations fail before the record is written, some after. */
    CHECK(count[Reported::thrown] + count[Reported::committed] + count[Reported::unknown] > 3);
}

// The listener throws when it hears of an unknown outcome.
TEST_CASE("dtx: a session does not wait for an attempt whose listener threw", "[unit]")
{
    struct Strict : dtx::Listener {
        void ended(const dtx::Attempt &attempt) override
        {
            if (attempt.status == Status::unknown)
                throw std::runtime_error("unknown");
        }
    } listener;
    bool durable = GENERATE(true, false);
    std::string kind = GENERATE("lost", "unacked");
    dtx::Options options = without_lease(durable);
    int unknown = 0;

    options.retry_us = 500000;

    Database db(2, options, Tables(), ",mode=ring");
    Session second(*db.cluster, 1);

    CAPTURE(durable, kind);

    put_pair(db, second);
    for (int nth = 1; unknown == 0; nth++) {
        FaultyLink link{ db, 0, "fault_kind=" + kind + ",fault_at=" + std::to_string(nth) };
        dtx::Cluster cluster = link.cluster();
        std::optional<Session> session;

        CAPTURE(nth);
        REQUIRE(nth < 60);
        try {
            session.emplace(cluster, 0, &listener);
            link.away = durable; // with logs, a session that joins again finds the outcome out
            (void)now(*session, adder(db.tables, 1, 1));
        } catch (const dtx::Error &) {
        } catch (const std::runtime_error &) {
            unknown++;
            link.away = false;
            CHECK(now(*session, adder(db.tables, 1, 1)) == Status::committed);
        }
    }
}

TEST_CASE("dtx: an outcome is returned even if the session cannot join again", "[unit]")
{
    std::string mode = GENERATE(",mode=direct", ",mode=ring");
    std::string kind = GENERATE("lost", "unacked");
    dtx::Options options = without_lease(true);
    int reported = 0;

    options.lease_us = 1000; /* so that the other session soon takes over and frees the locks */
    options.retry_us = 20000;

    Database db(2, options, Tables(), mode);
    Session second(*db.cluster, 1);

    put_pair(db, second);
    for (int nth = 1, untouched = 0; untouched < 3; nth++) {
        FaultyLink link{ db, 0, "fault_kind=" + kind + ",fault_at=" + std::to_string(nth) };
        dtx::Cluster cluster = link.cluster();
        std::optional<Session> session;
        auto before = pair_of(db, second);
        std::optional<Status> status;

        CAPTURE(mode, kind, nth);
        REQUIRE(nth < 500);
        if (!join_over(link, cluster, session))
            continue;
        link.away = true;
        try {
            status = now(*session, adder(db.tables, 1, 1));
        } catch (const dtx::Error &) {
        }

        auto after = pair_of(db, second);

        CHECK(after.first == after.second);
        if (!status)
            CHECK(after == before);
        if (status == Status::committed)
            CHECK(after.first == before.first + 1);
        untouched =
            status == Status::committed && session->counters().rejoined == 0 ? untouched + 1 : 0;
        if (status && untouched == 0) {
            reported++;
            CHECK_THROWS_AS(now(*session, adder(db.tables, 1, 1)), dtx::Error);
        }
        link.away = false;

        /* If the fault did not occur in the first transaction, it may occur in this one's append.
         * */
        Status last = now(*session, adder(db.tables, 1, 1));

        REQUIRE((last == Status::committed || (untouched > 0 && last == Status::unknown)));
    }
    CHECK(reported > 0);
}

// The session is fenced by another one, which completes or drops its commit and then writes one of
// its rows, or both, before the session has connected again.
TEST_CASE("dtx: one row that no other transaction has written tells the outcome of a commit",
          "[unit]")
{
    std::string kind = GENERATE("lost", "unacked");
    bool both = GENERATE(false, true);
    Database db(2, without_lease(true), Tables(), ",mode=ring");
    Session second(*db.cluster, 1);
    std::map<Status, int> count;
    auto add = adder(db.tables, 1, 1);
    int happened = 0;

    CAPTURE(kind, both);
    put_pair(db, second);
    for (int nth = 1, untouched = 0; untouched < 3; nth++) {
        FaultyLink link{ db, 0, "fault_kind=" + kind + ",fault_at=" + std::to_string(nth) };
        dtx::Cluster cluster = link.cluster();
        std::optional<Session> session;

        CAPTURE(nth);
        (void)db.cluster->recover(0); // joining takes the same operations each time
        REQUIRE(nth < 500);
        if (!join_over(link, cluster, session))
            continue;

        auto before = pair_of(db, second);
        auto between = before;
        int runs = 0;

        link.returns = [&] {
            (void)db.cluster->recover(0);
            between = pair_of(db, second);
            for (int i = 0; i < 5; i++) // more versions than the transaction makes
                REQUIRE(now(second, adder_of(db.tables, both)) == Status::committed);
        };

        Status status = now(*session, [&](Txn &txn) {
            runs++;
            return add(txn);
        });
        bool once = between.second == before.second + 1;

        link.returns = nullptr;

        CHECK((between == before || between == std::pair(before.first + 1, before.second + 1)));
        if (session->counters().rejoined == 0) {
            untouched++;
            continue;
        }
        untouched = 0;
        count[status]++;
        happened += once ? 1 : 0;
        if (status == Status::committed)
            CHECK(pair_of(db, second).second ==
                  before.second + 1 + (both ? 5 : 0)); // by the first run or by the second
        if (once && !both)
            CHECK((status == Status::committed && runs == 1));
        CHECK((both || status == Status::committed));
    }
    CHECK(happened > 0);
    CHECK((count[Status::unknown] > 0) == both);
}

// Without logs, nothing completes a commit that is interrupted while it installs its rows. So a
// session that joins again, here for new numbers, first lets its other commits end.
TEST_CASE("dtx: a session that joins again interrupts no commit that has begun to install rows",
          "[unit]")
{
    constexpr uint64_t kPairs = 6;
    constexpr int kTimes = 160;
    std::string mode = GENERATE("", ",mode=ring", "tcp");
    dtx::Options options;

    options.durable = GENERATE(false, true);
    options.replicas = 2;
    options.numbers = 60; /* for all coroutines: the session joins again after so many attempts */
    options.interleave = 100;

    /* Each time the session joins again it leaves slots that it had reserved for new rows. */
    Database db(2, options, Tables(20000), mode);
    Session session(*db.cluster, 0);
    std::vector<Task<void>> tasks;
    uint64_t committed = 0;
    auto add = [&](uint64_t pair) -> Task<void> {
        for (int i = 0; i < kTimes; i++) {
            dtx::Outcome outcome = co_await session.transact([&](Txn &txn) -> Task<bool> {
                for (uint64_t key : { in_partition(0, pair), in_partition(1, pair) }) {
                    auto row = co_await txn.read(db.tables.accounts, key);

                    if (row)
                        (void)co_await txn.write(db.tables.accounts, key,
                                                 Account{ row->cents + 1 });
                    else
                        (void)co_await txn.insert(db.tables.accounts, key, Account{ 1 });
                }
                co_return true;
            });

            committed += outcome.status == Status::committed ? 1 : 0;
        }
    };

    CAPTURE(mode, options.durable);
    for (uint64_t pair = 0; pair < kPairs; pair++)
        tasks.push_back(add(pair));
    session.run(std::move(tasks));
    CHECK(committed == kTimes * kPairs);
    CHECK(session.counters().unknown == 0);
    CHECK(session.counters().rejoined > 10);
    CHECK(now(session, [&](Txn &txn) -> Task<bool> {
              for (uint64_t pair = 0; pair < kPairs; pair++)
                  for (uint64_t key : { in_partition(0, pair), in_partition(1, pair) })
                      AWAIT_CHECK((co_await txn.read(db.tables.accounts, key))->cents == kTimes);
              co_return true;
          }) == Status::committed);
}
