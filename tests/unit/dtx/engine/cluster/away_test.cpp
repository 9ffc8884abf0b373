// SPDX-License-Identifier: BSD-3-Clause
// away_test.cpp: servers that do not answer, or have lost their pools: how long sessions wait, and
// what they report to the operator.
#include "engine/cluster/server_connection.h"
#include "unit/dtx/engine/restartable.h"

#include <memory>
#include <optional>
#include <thread>

using dtx::Session;
using dtx::Status;

TEST_CASE("dtx: a session waits for unreachable servers until its retry deadline", "[unit]")
{
    RestartableDatabase db(1);
    dtx::Options options = db.cluster->options();

    options.retry_us = 300000;

    dtx::Cluster impatient(db.tables.schema, options);
    Session session(impatient, 0);
    auto since = [start = dtx::now_ns()] { return (dtx::now_ns() - start) / 1000; };

    db.fill(session);
    db.servers[2]->stop();
    std::thread returns([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        db.servers[2]->start();
    });

    CHECK(add(db, session, 2, 1) == Status::committed);
    returns.join();
    CHECK(since() > 100000);
    db.servers[2]->stop();

    uint64_t before = since();

    CHECK(code_of([&] { (void)add(db, session, 2, 1); }) == RPM_E_REFUSED);
    CHECK(since() - before >= 300000);
    before = since();
    CHECK(code_of([&] { (void)add(db, session, 2, 1); }) == RPM_E_REFUSED);
    CHECK(since() - before < 200000); // one attempt: the call before has used up the retry time
    db.servers[2]->start();
    CHECK(add(db, session, 2, 1) == Status::committed);
}

TEST_CASE("dtx: who asks whether a session has died waits for unreachable servers", "[unit]")
{
    bool recovers = GENERATE(false, true);
    RestartableDatabase db(2);
    dtx::Options options = db.cluster->options();

    options.retry_us = 300000;

    dtx::Cluster impatient(db.tables.schema, options);
    Session of_impatient(impatient, 0);
    Session session(*db.cluster, 1);
    auto ask = [&](Session &by) {
        std::vector<dtx::Task<void>> tasks;
        auto ask_by = [&]() -> dtx::Task<void> {
            if (recovers) {
                co_await by.recover(3);
            } else {
                dtx::Life life = co_await by.inherit(3);

                CHECK(life == dtx::Life::died);
            }
        };

        tasks.push_back(ask_by());
        by.run(std::move(tasks));
    };
    uint64_t start = dtx::now_ns();

    CAPTURE(recovers);
    db.servers[2]->stop();
    CHECK(code_of([&] { ask(of_impatient); }) == RPM_E_REFUSED);
    CHECK(dtx::now_ns() - start >= 300000000);
    session.end_waits_at(dtx::now_ns()); // as a program that ends
    CHECK(code_of([&] { ask(session); }) == RPM_E_REFUSED);
    session.end_waits_at(UINT64_MAX);

    std::thread returns([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        db.servers[2]->start();
    });

    CHECK(code_of([&] { ask(session); }) == 0);
    returns.join();
}

TEST_CASE("dtx: a session of a program that ends does not wait for servers any more", "[unit]")
{
    RestartableDatabase db(1);
    dtx::Options options = db.cluster->options();

    options.retry_us = 60000000;

    dtx::Cluster patient(db.tables.schema, options);
    Session session(patient, 0);

    db.fill(session);
    db.servers[2]->stop();

    uint64_t start = dtx::now_ns();

    session.end_waits_at(start + 300000000);
    CHECK(code_of([&] { (void)add(db, session, 2, 1); }) == RPM_E_REFUSED);
    CHECK(dtx::now_ns() - start >= 300000000);
    CHECK(dtx::now_ns() - start < 10000000000);
    db.servers[2]->start();
    CHECK(add(db, session, 2, 1) == Status::committed);
}

TEST_CASE("dtx: a waiting session tells the operator which server is missing and what to do",
          "[unit]")
{
    RestartableDatabase db(2);
    dtx::Options options = db.cluster->options();
    std::vector<std::string> told;

    options.retry_us = 2000000;
    options.notice = [&](const std::string &text) { told.push_back(text); };

    dtx::Cluster waiting(db.tables.schema, options);
    std::string server = "server 1 (" + options.urls[1] + ")";

    db.servers[1]->stop();

    std::string why = why_of([&] { Session session(waiting, 0); });

    CHECK(contains(why, server + " does not answer: "));
    CHECK(contains(why, "start the server again. Only if it is lost for good, continue without it: "
                        "dtx-check promote --server 1 URL..."));
    REQUIRE(told.size() == 1);
    CHECK(contains(told[0], server + " does not answer: "));
    CHECK(contains(told[0], "trying again for up to 1 s"));
}

TEST_CASE("dtx: no promotion is advised of a server that has the only copy of rows", "[unit]")
{
    RestartableDatabase single(1);
    RestartableDatabase db(2);
    dtx::Options options = db.cluster->options();

    options.retry_us = 1000;
    options.replicas = 1;
    dtx::Cluster lone(single.tables.schema, [&] {
        dtx::Options own = options;
        own.urls = single.cluster->options().urls;
        return own;
    }());

    single.servers[1]->stop();
    CHECK(contains(why_of([&] { Session session(lone, 0); }),
                   "start the server again: without server 1, shard 1 would have no copy left of "
                   "its rows"));

    // A database that is being made has no copies yet.
    options.replicas = 2;
    dtx::Cluster impatient(db.tables.schema, options);

    db.servers[0]->stop();

    std::string made = why_of([&] { impatient.create(); });

    CHECK(contains(made, "server 0 (" + options.urls[0] + ") does not answer: "));
    CHECK(!contains(made, "promote"));

    // A command that leaves out server 0 needs server 1.
    db.servers[1]->stop();
    std::string why = why_of([&] { (void)impatient.promote({ 0 }); });

    CHECK(contains(why, "server 1 (" + options.urls[1] + ") does not answer: "));
    CHECK(contains(why, "start the server again: without server 0 and server 1, shard 0 would have "
                        "no copy left of its rows"));
}

TEST_CASE("dtx: a server at its maximum of clients is not taken for one that is lost", "[unit]")
{
    RestartableDatabase db(2);
    dtx::Options options = db.cluster->options();
    std::vector<std::unique_ptr<dtx::RawConnection>> all;
    std::string why = why_of([&] {
        for (uint32_t i = 0; i < 65; i++)
            all.push_back(std::make_unique<dtx::RawConnection>(*db.cluster, 0));
    });

    options.retry_us = 1000;
    dtx::Cluster impatient(db.tables.schema, options);

    CHECK(all.size() == 64);
    for (const std::string &text : { why, why_of([&] { Session session(impatient, 0); }) }) {
        CHECK(contains(text, "connecting to server 0 (" + options.urls[0] +
                                 "): the server has 64 clients, its maximum"));
        CHECK(contains(text, "; end one of its clients, or start it with a larger --clients"));
        CHECK(!contains(text, "promote"));
    }
    why = why_of([&] { (void)impatient.promote({ 0 }); });
    CHECK(contains(why, "the server has 64 clients, its maximum"));
    CHECK(contains(why, "; only a stopped server is promoted away"));
    CHECK(code_of([&] { (void)impatient.promote({ 0 }, true); }) == 0);
}

TEST_CASE("dtx: a host without an address is not taken for a server that is lost", "[unit]")
{
    RestartableDatabase db(2);
    dtx::Options options = db.cluster->options();

    options.retry_us = 1000;
    options.urls[2] = "tcp://no.such.host.invalid:7000/pool";
    dtx::Cluster wrong(db.tables.schema, options);
    std::string why = why_of([&] { Session session(wrong, 0); });

    CHECK(contains(why, "no address of 'no.such.host.invalid' is known"));
    CHECK(contains(why, "; correct the host's name in the URL, or have the system know"));
    CHECK(!contains(why, "promote"));
    why = why_of([&] { (void)wrong.promote({ 2 }); });
    CHECK(contains(why, "no address of 'no.such.host.invalid' is known"));
    CHECK(contains(why, "; only a stopped server is promoted away"));
    CHECK(code_of([&] { (void)wrong.promote({ 2 }, true); }) == 0);
}

TEST_CASE(
    "dtx: a server with an empty pool is refused by name, and can be promoted away and restored",
    "[unit]")
{
    RestartableDatabase db(2);
    std::optional<Session> session(std::in_place, *db.cluster, 0);
    std::string lost = "server 1 (" + db.cluster->options().urls[1] +
                       ") has no shard 1 of the database 'test': its pool is empty, or that of";

    db.fill(*session);
    session.reset();
    db.servers[1]->stop();
    db.servers[1]->lose_pool();
    db.servers[1]->start();
    for (const std::string &why : { why_of([&] { Session other(*db.cluster, 1); }),
                                    why_of([&] { (void)db.cluster->restore(1); }),
                                    why_of([&] { (void)db.cluster->recover(); }) }) {
        CHECK(contains(why, lost));
        CHECK(contains(why, "dtx-check promote --server 1 URL..., then dtx-check restore "
                            "--server 1 URL..."));
    }
    CHECK(code_of([&] { db.cluster->promote({ 0 }); }) == RPM_E_NOENT);
    CHECK(code_of([&] { db.cluster->promote({ 1 }); }) == 0);
    CHECK(code_of([&] { db.cluster->restore(1); }) == 0);
    CHECK(code_of([&] { db.cluster->verify(); }) == 0);
    for (uint32_t shard = 0; shard < kServers; shard++)
        CHECK(db.cents(shard) == 100);
}
