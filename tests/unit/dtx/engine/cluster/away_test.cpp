// SPDX-License-Identifier: BSD-3-Clause
// away_test.cpp: servers that do not answer, or have lost their pools: what sessions wait for, and
// what operators read.
#include "unit/dtx/engine/town.h"

#include <optional>
#include <thread>

using dtx::Session;
using dtx::Status;

TEST_CASE("dtx: a session waits for unreachable servers until its retry deadline", "[unit]")
{
    Town town(1);
    dtx::Options options = town.cluster->options();

    options.retry_us = 300000;

    dtx::Cluster impatient(town.tables.schema, options);
    Session session(impatient, 0);
    auto since = [start = dtx::now_ns()] { return (dtx::now_ns() - start) / 1000; };

    town.fill(session);
    town.servers[2]->stop();
    std::thread returns([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        town.servers[2]->start();
    });

    CHECK(add(town, session, 2, 1) == Status::committed);
    returns.join();
    CHECK(since() > 100000);
    town.servers[2]->stop();

    uint64_t before = since();

    CHECK(code_of([&] { (void)add(town, session, 2, 1); }) == RPM_E_REFUSED);
    CHECK(since() - before >= 300000);
    before = since();
    CHECK(code_of([&] { (void)add(town, session, 2, 1); }) == RPM_E_REFUSED);
    CHECK(since() - before < 200000); // tries once: the call before reported the loss
    town.servers[2]->start();
    CHECK(add(town, session, 2, 1) == Status::committed);
}

TEST_CASE("dtx: a waiting session tells the operator which server is missing and what to do",
          "[unit]")
{
    Town town(2);
    dtx::Options options = town.cluster->options();
    std::vector<std::string> told;

    options.retry_us = 2000000;
    options.notice = [&](const std::string &text) { told.push_back(text); };

    dtx::Cluster waiting(town.tables.schema, options);
    std::string server = "server 1 (" + options.urls[1] + ")";

    town.servers[1]->stop();

    std::string why = why_of([&] { Session session(waiting, 0); });

    CHECK(contains(why, server + " does not answer: "));
    CHECK(contains(why, "start it again or, if it is lost for good, go on without it: dtx-check "
                        "promote --server 1 URL..."));
    REQUIRE(told.size() == 1);
    CHECK(contains(told[0], server + " does not answer: "));
    CHECK(contains(told[0], "waiting for up to 1 s more"));
}

TEST_CASE(
    "dtx: a server with an empty pool is refused by name, and can be promoted away and restored",
    "[unit]")
{
    Town town(2);
    std::optional<Session> session(std::in_place, *town.cluster, 0);
    std::string lost = "server 1 (" + town.cluster->options().urls[1] +
                       ") has no shard 1 of the database 'test': its pool is empty, or that of";

    town.fill(*session);
    session.reset();
    town.servers[1]->stop();
    town.servers[1]->lose_pool();
    town.servers[1]->start();
    for (const std::string &why : { why_of([&] { Session other(*town.cluster, 1); }),
                                    why_of([&] { (void)town.cluster->restore(1); }),
                                    why_of([&] { (void)town.cluster->recover(); }) }) {
        CHECK(contains(why, lost));
        CHECK(contains(why, "dtx-check promote --server 1 URL..., then dtx-check restore "
                            "--server 1 URL..."));
    }
    CHECK(code_of([&] { town.cluster->promote({ 0 }); }) == RPM_E_NOENT);
    CHECK(code_of([&] { town.cluster->promote({ 1 }); }) == 0);
    CHECK(code_of([&] { town.cluster->restore(1); }) == 0);
    CHECK(code_of([&] { town.cluster->verify(); }) == 0);
    for (uint32_t shard = 0; shard < kServers; shard++)
        CHECK(town.cents(shard) == 100);
}
