// SPDX-License-Identifier: BSD-3-Clause
// promote_test.cpp: changes of the view: servers stop, backups are promoted, servers are restored.
#include "engine/cluster/membership.h"
#include "engine/cluster/replica.h"
#include "engine/cluster/shard_header.h"
#include "engine/format/names.h"
#include "engine/format/redo.h"
#include "engine/recovery/recover.h"
#include "unit/dtx/engine/histories.h"
#include "unit/dtx/engine/restartable.h"
#include <dtx/error.h>

#include <atomic>
#include <cstring>
#include <thread>

using dtx::Session;
using dtx::Status;
using dtx::Task;
using dtx::Txn;

namespace
{

// Leaves what coordinator 7 would leave if it died before it installed a row: a redo record that
// sets the row of @shard to 200, in its logs on the servers @logs.
void die_before_install(RestartableDatabase &db, uint32_t shard, const std::vector<uint32_t> &logs)
{
    constexpr uint64_t kDead = uint64_t{ 7 } << (dtx::kSequenceBits + dtx::kEpochBits) | 12345;
    dtx::ReadWriteSet set;
    std::vector<unsigned char> record;
    dtx::Scheduler scheduler(1, 0);
    dtx::Servers servers(*db.cluster, scheduler);

    db.cluster->each_object(db.tables.accounts.number, 0,
                            [&](dtx::Address address, const unsigned char *image, uint32_t bytes) {
                                if (dtx::header_of(image).version == 0 ||
                                    dtx::header_of(image).key != in_partition(shard, 1))
                                    return;
                                dtx::Access *access = set.add(address, bytes);

                                std::memcpy(access->image, image, bytes);
                                access->header().version++;
                                access->header().writer = kDead;
                                access->as<Account>().cents = 200;
                                dtx::seal(access->image, bytes);
                            });
    REQUIRE(set.size() == 1);
    dtx::encode_redo(kDead, set.sorted(), {}, record);
    servers.open(7, dtx::Claim::join);
    for (uint32_t server : logs) {
        std::shared_ptr<dtx::Pending> pending = servers.new_pending();
        uint64_t lsn = 0;

        REQUIRE(
            servers.connection(server).append(record.data(), record.size(), pending.get(), &lsn));
        while (pending->remaining > 0)
            servers.poll();
        REQUIRE(pending->status == 0);
    }
    servers.close();
}

// Makes one server accept a view, or proposes the view to it, as a change of the view does.
void set_view(RestartableDatabase &db, uint32_t server, const dtx::View &view, bool accepted)
{
    dtx::Scheduler scheduler(1, 0);
    dtx::ServerConnection connection(*db.cluster, server);
    dtx::Placement all{ kServers, db.cluster->options().replicas, {} };

    connection.connect();
    connection.open(all, dtx::kRecoverer, dtx::Claim::takeover);
    if (accepted)
        accept(connection, *db.cluster, view);
    else
        propose(connection, *db.cluster, view);
    connection.close();
}

} // namespace

TEST_CASE("dtx: invalid promotions and restorations are refused", "[unit]")
{
    RestartableDatabase db(2);
    dtx::Cluster &cluster = *db.cluster;

    CHECK(code_of([&] { cluster.promote({}); }) == RPM_E_INVAL);
    CHECK(code_of([&] { cluster.promote({ 3 }); }) == RPM_E_INVAL);
    CHECK(code_of([&] { cluster.restore(3); }) == RPM_E_INVAL);
    CHECK(code_of([&] { cluster.restore(1); }) == 0); // does nothing: it lives
    CHECK(code_of([&] { cluster.promote({ 1 }); }) == RPM_E_BUSY);
    db.servers[1]->stop();
    CHECK(code_of([&] { cluster.promote({ 1, 2 }); }) == RPM_E_NOCAP);
    CHECK(code_of([&] { cluster.restore(1); }) != 0);
    CHECK(code_of([&] { cluster.promote({ 0 }); }) == RPM_E_REFUSED); // 1 is down
    CHECK(code_of([&] { cluster.promote({ 1 }); }) == 0);
    CHECK(cluster.dead() == std::vector<uint32_t>{ 1 });
    Session session(cluster, 0);
    uint64_t rejoined = 0;
    uint64_t key = 0;
    auto look = [&] { // by writing, the session notices if it was fenced
        key++;
        CHECK(now(session, [&](Txn &txn) -> Task<bool> {
                  co_return co_await txn.insert(db.tables.accounts, key, Account{ 1 });
              }) == Status::committed);
        return session.counters().rejoined;
    };

    // A view that is in force already is no change: no session is fenced.
    CHECK(code_of([&] { cluster.promote({ 1 }); }) == 0);
    db.servers[1]->start();
    CHECK(code_of([&] { cluster.promote({ 1 }); }) == 0);
    CHECK(code_of([&] { cluster.restore(2); }) == 0);
    CHECK(cluster.dead() == std::vector<uint32_t>{ 1 });
    CHECK(look() == 0);
    CHECK(code_of([&] { cluster.restore(1); }) == 0);
    CHECK(cluster.dead().empty());
    CHECK((rejoined = look()) > 0);
    CHECK(code_of([&] { cluster.restore(1); }) == 0);
    CHECK(look() == rejoined);

    RestartableDatabase single(1);

    single.servers[0]->stop();
    CHECK(code_of([&] { single.cluster->promote({ 0 }); }) == RPM_E_NOCAP);
    for (dtx::Cluster *each : { &cluster, single.cluster.get() }) {
        std::string why = why_of([&] { each->promote({ 0, 1, 2 }); });

        CHECK(contains(why, "shard 0 would have no copy left of its rows; promote fewer servers"));
    }
}

TEST_CASE("dtx: a server that answers is promoted away only by force", "[unit]")
{
    RestartableDatabase db(2);
    std::string url = db.cluster->options().urls[1];

    CHECK(contains(why_of([&] { db.cluster->promote({ 1 }); }),
                   "server 1 (" + url +
                       ") still answers, and has shards of 'test'; only a "
                       "stopped server is promoted away"));
    CHECK(db.cluster->dead().empty());
    CHECK(code_of([&] { db.cluster->promote({ 1 }, true); }) == 0);
    CHECK(db.cluster->dead() == std::vector<uint32_t>{ 1 });
    CHECK(code_of([&] { db.cluster->restore(1); }) == 0);
    CHECK(db.cluster->dead().empty());
}

TEST_CASE("dtx: servers in another order are refused, even if each has a copy of all shards",
          "[unit]")
{
    RestartableDatabase db(kServers);
    dtx::Options options = db.cluster->options();

    options.retry_us = 50000;
    std::swap(options.urls[0], options.urls[2]);

    dtx::Cluster other(db.tables.schema, options);

    CHECK(code_of([&] { other.verify(); }) == RPM_E_VERSION);
    CHECK(code_of([&] { Session session(other, 0); }) == RPM_E_VERSION);
    CHECK(code_of([&] { (void)other.recover(); }) == RPM_E_VERSION);
}

TEST_CASE("dtx: a server dies and is replaced and restored, then another one", "[unit]")
{
    uint32_t replicas = GENERATE(2u, 3u);
    uint32_t first = GENERATE(0u, 1u, 2u);
    bool anew = GENERATE(false, true); // the server starts again with an empty pool
    uint32_t second = (first + 1) % kServers;
    RestartableDatabase db(replicas, 0, 6000); // fenced sessions lose slots
    Recorder recorder;
    std::atomic<int> phase = 0;
    std::atomic<uint32_t> begun = 0;
    std::atomic<uint64_t> rejoined = 0;
    std::vector<std::thread> threads;

    CAPTURE(replicas, first, anew);
    for (uint32_t c = 0; c < 2; c++)
        threads.emplace_back([&, c] {
            Session session(*db.cluster, c, &recorder);

            for (uint64_t seed = 1; phase < 5; seed++) {
                run_random(session, db.tables, seed * 8 + c, 3, 5);
                begun += seed == 1 ? 1 : 0;
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            rejoined += session.counters().rejoined;
        });
    while (begun < 2) // else a thread that starts late would join in the new view
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (uint32_t gone : { first, second }) {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        db.servers[gone]->stop();
        CHECK(code_of([&] { db.cluster->promote({ gone }); }) == 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        if (anew)
            db.servers[gone]->lose_pool();
        db.servers[gone]->start();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        CHECK(code_of([&] { db.cluster->restore(gone); }) == 0);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    phase = 5;
    for (std::thread &thread : threads)
        thread.join();
    (void)db.cluster->recover();
    recorder.add_final_state(*db.cluster);
    CHECK(recorder.verdict() == "");
    CHECK(recorder.history.txns() > 50);
    CHECK(rejoined >= 2); // the first promotion has fenced each session
}

TEST_CASE("dtx: a promoted server has all logged rows, and no unlogged ones", "[unit]")
{
    uint32_t canary = GENERATE(uint32_t(dtx::kCanaryNone), uint32_t(dtx::kCanaryNoRedo));
    RestartableDatabase db(2, canary);
    auto session = std::make_unique<Session>(*db.cluster, 0);

    CAPTURE(canary);
    db.fill(*session);
    session.reset();
    die_before_install(db, 1, { 1, 2 });
    db.servers[1]->stop();
    db.cluster->promote({ 1 });
    CHECK(db.cents(1) == (canary == 0 ? 200 : 100));
}

TEST_CASE("dtx: a takeover after a server was started again installs all logged rows", "[unit]")
{
    RestartableDatabase db(2);
    auto session = std::make_unique<Session>(*db.cluster, 0);

    db.fill(*session);
    session.reset();
    die_before_install(db, 1, { 1, 2 });
    db.servers[1]->stop();
    db.servers[1]->start();
    (void)db.cluster->recover(7);
    CHECK(db.cents(1) == 200);
}

TEST_CASE("dtx: old records of a returning server are not applied", "[unit]")
{
    RestartableDatabase db(2);
    auto session = std::make_unique<Session>(*db.cluster, 0);

    db.fill(*session);
    session.reset();
    die_before_install(db, 1, { 1 }); // not on server 2, so it was not acknowledged
    db.servers[1]->stop();
    db.cluster->promote({ 1 });
    CHECK(db.cents(1) == 100);
    db.servers[1]->start();
    db.cluster->restore(1);
    db.servers[2]->stop(); // a record kept on server 1 would be in all live logs now
    db.cluster->promote({ 2 });
    CHECK(db.cents(1) == 100);
}

// A record is in the log of a server that stops, and not in its other log: a recovery before the
// server stops must not install its rows.
TEST_CASE("dtx: a record that is in only some of its logs is never installed", "[unit]")
{
    bool all = GENERATE(false, true);
    RestartableDatabase db(2);
    auto session = std::make_unique<Session>(*db.cluster, 0);

    db.fill(*session);
    session.reset();
    die_before_install(db, 1, { 1 });
    CHECK((all ? db.cluster->recover() : db.cluster->recover(1)).rows == 0);
    db.servers[1]->stop();
    db.cluster->promote({ 1 });
    CHECK(db.cents(1) == 100);
}

TEST_CASE("dtx: a session that reads a shard at its old primary learns that it has moved", "[unit]")
{
    RestartableDatabase db(2);
    Session writer(*db.cluster, 0);

    db.fill(writer);
    db.servers[1]->stop();
    db.cluster->promote({ 1 });
    REQUIRE(add(db, writer, 1, 5) == Status::committed);

    dtx::Cluster apart(db.tables.schema, db.cluster->options());
    Session reader(apart, 1);
    auto read = [&] {
        int64_t cents = 0;

        REQUIRE(reader
                    .transact_now([&](Txn &txn) -> Task<bool> {
                        cents = (co_await txn.read(db.tables.accounts, in_partition(1, 1)))->cents;
                        co_return true;
                    })
                    .status == Status::committed);
        return cents;
    };

    CHECK(read() == 105);
    db.servers[1]->start();
    db.cluster->restore(1);
    CHECK(read() == 105);
    CHECK(reader.counters().rejoined == 1);
    REQUIRE(add(db, writer, 1, 5) == Status::committed);
    CHECK(read() == 110);
    CHECK(reader.counters().rejoined == 1);
}

TEST_CASE("dtx: an interrupted change of views is finished or dropped", "[unit]")
{
    RestartableDatabase db(2);
    dtx::Options options = db.cluster->options();
    dtx::View next;
    int how = GENERATE(0, 1, 2, 3);

    CAPTURE(how);
    {
        Session session(*db.cluster, 0);

        db.fill(session);
    }
    options.retry_us = 100000;
    next.number = 2;
    next.kill(1);
    db.servers[1]->stop();
    set_view(db, 0, next, false);
    if (how > 0)
        set_view(db, 2, next, false);
    if (how > 1)
        set_view(db, 0, next, true);
    if (how > 2)
        set_view(db, 2, next, true);
    db.servers[1]->start();

    dtx::Cluster impatient(db.tables.schema, options);
    int code = code_of([&] { Session session(impatient, 1); });

    CHECK(code == (how > 2 ? 0 : RPM_E_FENCED));
    if (how < 2) { // no server has accepted the view: recover() drops the change
        CHECK(code_of([&] { (void)db.cluster->recover(); }) == 0);
        CHECK(db.cluster->dead().empty());
        db.servers[1]->stop();
    } else if (how == 2) { // one server has accepted it: either command finishes the change
        db.servers[1]->stop();
        int by = GENERATE(0, 1);

        CHECK(code_of([&] {
                  if (by == 0)
                      (void)db.cluster->recover();
                  else
                      (void)db.cluster->promote({ 1 });
              }) == 0);
        CHECK(db.cluster->dead() == std::vector<uint32_t>{ 1 });
    }
    if (how < 2)
        CHECK(code_of([&] { db.cluster->promote({ 1 }); }) == 0);
    Session session(*db.cluster, 1);

    CHECK(add(db, session, 1, 1) == Status::committed);
    CHECK(db.cents(1) == 101);
}

TEST_CASE("dtx: a restoration that was interrupted can be repeated", "[unit]")
{
    RestartableDatabase db(2);
    dtx::View next;
    int how = GENERATE(0, 1);

    CAPTURE(how);
    {
        Session session(*db.cluster, 0);

        db.fill(session);
        db.servers[1]->stop();
        db.cluster->promote({ 1 });
        REQUIRE(add(db, session, 1, 5) == Status::committed);
    }
    db.servers[1]->start();
    next.number = 3;
    set_view(db, 0, next, false);
    if (how > 0)
        set_view(db, 1, next, false); // live servers have not accepted it yet
    CHECK(code_of([&] { db.cluster->restore(1); }) == 0);
    CHECK(db.cents(1) == 105);
    CHECK(db.cluster->dead().empty());
}

TEST_CASE("dtx: a restoration that was killed while it created a shard can be repeated", "[unit]")
{
    RestartableDatabase db(2);
    bool half = GENERATE(false, true); // of the header is written
    dtx::View only_two;
    rpm_region_opts opts = rpm_region_opts_init();
    rpm_region *region = nullptr;

    CAPTURE(half);
    {
        Session session(*db.cluster, 0);

        db.fill(session);
        db.servers[1]->stop();
        db.cluster->promote({ 1 });
        REQUIRE(add(db, session, 1, 5) == Status::committed);
    }
    db.servers[1]->lose_pool();
    db.servers[1]->start();
    only_two.number = 2;
    only_two.kill(1);
    opts.flags = RPM_REGION_CREATE | RPM_REGION_EXCL;
    opts.bytes = db.cluster->layout().region_bytes();
    {
        dtx::RawConnection connection(*db.cluster, 1);
        std::string name = dtx::shard_name(db.cluster->schema().name(), 1);
        std::vector<unsigned char> header = encode_shard_header(*db.cluster, { 1, 1 }, only_two);

        REQUIRE(rpm_region_open(connection.get(), name.c_str(), &opts, &region) == 0);
        if (half)
            REQUIRE(rpm_region_write(region, 0, header.data(), dtx::kDescriptorBytes) == 0);
        rpm_region_close(&region);
    }
    CHECK(code_of([&] { db.cluster->restore(1); }) == 0);
    CHECK(db.cents(1) == 105);
    CHECK(db.cluster->dead().empty());
}

// Between the look of a promotion at the states of the servers and its claims, another command
// proposes a view and is interrupted.
TEST_CASE("dtx: a view does not get the number of a view that was proposed before", "[unit]")
{
    RestartableDatabase db(2);
    dtx::Options options = db.cluster->options();
    dtx::View other;

    other.number = 2;
    options.dial = [&](uint32_t server, const rpm_conn_opts *opts, rpm_conn **conn) {
        if (server == 1) // the promotion asks whether the lost server still answers
            for (uint32_t lives : { 0, 2 })
                set_view(db, lives, other, false);
        return rpm_conn_open(options.urls[server].c_str(), opts, conn);
    };
    db.servers[1]->stop();

    dtx::Cluster cluster(db.tables.schema, options);

    cluster.promote({ 1 });
    CHECK(cluster.last_view().number == 3);
    CHECK(cluster.dead() == std::vector<uint32_t>{ 1 });
}

// Allocates all DRAM that is left on a server.
static void use_up_dram(const dtx::Cluster &cluster, uint32_t server)
{
    dtx::RawConnection connection(cluster, server);
    int number = 0;

    for (uint64_t bytes = 64 << 10; bytes >= 64; bytes /= 2)
        for (int err = 0; err == 0; number++) {
            rpm_region_opts opts = rpm_region_opts_init();
            rpm_region *region = nullptr;

            opts.flags = RPM_REGION_CREATE | RPM_REGION_EXCL | RPM_REGION_DRAM;
            opts.bytes = bytes;
            err = rpm_region_open(connection.get(), ("other" + std::to_string(number)).c_str(),
                                  &opts, &region);
            rpm_region_close(&region);
        }
}

TEST_CASE("dtx: a backup keeps room for its locks, also after its server was started again",
          "[unit]")
{
    RestartableDatabase db(2);
    bool anew = GENERATE(false, true);

    CAPTURE(anew);
    {
        Session session(*db.cluster, 0);

        db.fill(session);
    }
    if (anew) {
        db.servers[2]->stop();
        db.servers[2]->start();
        Session session(*db.cluster, 0);
    }
    use_up_dram(*db.cluster, 2);
    db.servers[1]->stop();
    CHECK(code_of([&] { db.cluster->promote({ 1 }); }) == 0);
    Session session(*db.cluster, 0);
    CHECK(add(db, session, 1, 1) == Status::committed);
}

TEST_CASE("dtx: a server without DRAM for the locks of all its copies is refused by name", "[unit]")
{
    RestartableDatabase db(2);
    dtx::Options options = db.cluster->options();

    use_up_dram(*db.cluster, 2);

    dtx::Schema other("other", 1);
    (void)other.hash_table<Account>("rows", 100, partition_of);
    std::string words;

    try {
        dtx::Cluster(other, options).create();
    } catch (const dtx::Error &error) {
        CHECK(error.code() == RPM_E_NOSPACE);
        words = error.what();
    }
    CHECK_THAT(words, Catch::Matchers::Contains("server 2 (" + options.urls[2] + ") has no room"));
    CHECK_THAT(words, Catch::Matchers::Contains("for the locks of shard 2: "));
    CHECK_THAT(words, Catch::Matchers::Contains(" for each of 2 copies of shards; start it with "));
    CHECK_THAT(words, Catch::Matchers::Contains("rpm-server --dram "));

    // A server that starts again with too little DRAM is not restored, and sessions go on without
    // it.
    db.servers[1]->stop();
    db.cluster->promote({ 1 });
    db.servers[1]->start();
    options.retry_us = 100000;
    use_up_dram(*db.cluster, 1);
    CHECK(code_of([&] { dtx::Cluster(db.tables.schema, options).restore(1); }) == RPM_E_NOSPACE);
    CHECK(db.cluster->dead() == std::vector<uint32_t>{ 1 });
    Session session(*db.cluster, 0);
    db.servers[1]->stop();
    db.servers[1]->start();
    CHECK(code_of([&] { db.cluster->restore(1); }) == 0);
}

// Reads the states of all servers.
static dtx::States states_of(RestartableDatabase &db)
{
    dtx::States states(kServers);
    dtx::Placement all{ kServers, db.cluster->options().replicas, {} };

    for (uint32_t server = 0; server < kServers; server++) {
        dtx::ServerConnection connection(*db.cluster, server);

        connection.connect();
        connection.open(all, 0, dtx::Claim::none);
        states[server] = state_of(connection, *db.cluster);
    }
    return states;
}

// Appends a record that is no redo record, at which each recovery fails.
static void damage_log(RestartableDatabase &db)
{
    dtx::Scheduler scheduler(1, 0);
    dtx::Servers servers(*db.cluster, scheduler);
    std::shared_ptr<dtx::Pending> pending = servers.new_pending();
    uint64_t lsn = 0;

    servers.open(7, dtx::Claim::join);
    REQUIRE(servers.connection(0).append("no record", 9, pending.get(), &lsn));
    while (pending->remaining > 0)
        servers.poll();
    servers.close();
}

TEST_CASE("dtx: a change of views that follows an interrupted one may itself be interrupted",
          "[unit]")
{
    RestartableDatabase db(2);
    dtx::View first;

    {
        Session session(*db.cluster, 0);

        db.fill(session);
    }
    damage_log(db);
    first.number = 2;
    first.kill(1);
    set_view(db, 0, first, false);
    set_view(db, 2, first, false);
    set_view(db, 0, first, true); // server 2 has not accepted it yet
    CHECK(code_of([&] { db.cluster->restore(1); }) == RPM_E_CORRUPT);

    dtx::States states = states_of(db);

    CHECK(states[1]->proposed.number == 3); // the restoration got as far as proposing
    CHECK(usable_view(states) == first);
}
