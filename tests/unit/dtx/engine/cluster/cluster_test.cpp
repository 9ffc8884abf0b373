// SPDX-License-Identifier: BSD-3-Clause
#include <dtx/cluster.h>

#include "engine/cluster/replica.h"
#include "engine/cluster/server_connection.h"
#include "unit/dtx/engine/database.h"
#include <dtx/error.h>

TEST_CASE("dtx: a database is created once", "[unit]")
{
    Database db(3, replicated(2));

    CHECK(code_of([&] { db.cluster->verify(); }) == 0);
    CHECK(code_of([&] { db.cluster->create(); }) == RPM_E_EXISTS);
    CHECK(code_of([&] { db.cluster->verify(); }) == 0);
}

TEST_CASE("dtx: a failed creation leaves no object on any server", "[unit]")
{
    Tables tables;
    dtx::Options options = replicated(2);
    std::vector<std::unique_ptr<support::Server>> servers;
    support::ServerOpts room;
    bool dram = GENERATE(false, true); /* the last server lacks room in DRAM, or in its pool */

    room.anonymous = true;
    room.bytes = 16 << 20;
    for (uint32_t i = 0; i < 3; i++) {
        if (i == 2 && dram)
            room.dram_bytes = 64 << 10;
        else if (i == 2)
            room.bytes = 1 << 20;
        servers.push_back(std::make_unique<support::Server>(room));
        options.urls.push_back(servers[i]->url());
    }
    dtx::Cluster cluster(tables.schema, options);
    auto left = [&](uint32_t server) {
        dtx::RawConnection connection(cluster, server);
        rpm_entry entry = rpm_entry_init();
        uint32_t objects = 0;

        while (rpm_conn_next(connection.get(), &entry) == 1)
            objects++;
        return objects;
    };
    auto full = [&] {
        try {
            cluster.create();
        } catch (const dtx::Error &error) {
            INFO(error.what());
            CHECK(std::string(error.what()).find("server 2 (" + options.urls[2]) !=
                  std::string::npos);
            return error.code();
        }
        return 0;
    };

    CHECK(full() == RPM_E_NOSPACE);
    for (uint32_t server = 0; server < 3; server++)
        CHECK(left(server) == 0);
    CHECK(full() == RPM_E_NOSPACE);

    /* A creation that fails does not remove objects that existed before. */
    options.urls = { servers[1]->url() };
    options.replicas = 1;
    dtx::Cluster there(tables.schema, options);
    there.create();
    options.urls.insert(options.urls.begin(), servers[0]->url());
    options.replicas = 2;
    CHECK(code_of([&] { dtx::Cluster(tables.schema, options).create(); }) == RPM_E_EXISTS);
    CHECK(code_of([&] { there.verify(); }) == 0);
    CHECK(left(0) == 0);
    CHECK(left(1) == 2);
}

TEST_CASE("dtx: a shard whose header cannot be written is removed", "[unit]")
{
    Tables tables;
    dtx::Options options = replicated(2);
    support::ServerOpts room;

    room.anonymous = true;
    room.bytes = 16 << 20;
    support::Server first(room);
    support::Server second(room);
    options.urls = { first.url(), second.url() + ",wrap=fault,fault_kind=refuse,fault_at=1" };
    CHECK(code_of([&] { dtx::Cluster(tables.schema, options).create(); }) == RPM_E_DENIED);
    options.urls[1] = second.url();
    CHECK(code_of([&] { dtx::Cluster(tables.schema, options).create(); }) == 0);
}

TEST_CASE("dtx: a database is removed with its logs, unless a session has it open", "[unit]")
{
    Database db(2, replicated(2));
    auto left = [&](uint32_t server) {
        dtx::RawConnection connection(*db.cluster, server);
        rpm_entry entry = rpm_entry_init();

        return rpm_conn_next(connection.get(), &entry);
    };

    {
        dtx::Session session(*db.cluster, 0);

        CHECK(code_of([&] { db.cluster->remove(); }) == RPM_E_OWNED);
    }
    db.cluster->remove();
    for (uint32_t server : { 0, 1 })
        CHECK(left(server) == 0);
    db.cluster->remove();
    CHECK(code_of([&] { db.cluster->verify(); }) == RPM_E_NOENT);
    db.cluster->create();
    CHECK(code_of([&] { db.cluster->verify(); }) == 0);
}

TEST_CASE("dtx: a missing database, or one of another schema, is refused", "[unit]")
{
    Database db(2);
    dtx::Options options = db.cluster->options();
    Tables other(2001);
    dtx::Schema renamed("none", 1);
    dtx::Schema newer("test", 2);

    CHECK(code_of([&] { dtx::Cluster(renamed, options).verify(); }) == RPM_E_NOENT);
    CHECK(code_of([&] { dtx::Cluster(newer, options).verify(); }) == RPM_E_VERSION);
    CHECK(code_of([&] { dtx::Cluster(other.schema, options).verify(); }) == RPM_E_VERSION);
    std::swap(options.urls[0], options.urls[1]);
    CHECK(code_of([&] { dtx::Cluster(db.tables.schema, options).verify(); }) == RPM_E_NOENT);
    std::swap(options.urls[0], options.urls[1]);
    options.replicas = 2;
    CHECK(code_of([&] { dtx::Cluster(db.tables.schema, options).verify(); }) != 0);
}

TEST_CASE("dtx: a server that does not answer is an error for calls without a session", "[unit]")
{
    Database db;
    dtx::Options options = db.cluster->options();

    options.dial = [](uint32_t, const rpm_conn_opts *, rpm_conn **) { return int(RPM_E_TIMEDOUT); };
    options.retry_us = 50000;
    dtx::Cluster away(db.tables.schema, options);

    CHECK(code_of([&] { away.create(); }) == RPM_E_TIMEDOUT);
    CHECK(code_of([&] { away.verify(); }) == RPM_E_TIMEDOUT);
    CHECK(code_of([&] { (void)away.recover(); }) == RPM_E_TIMEDOUT);
    CHECK(code_of([&] { dtx::Session session(away, 0); }) == RPM_E_TIMEDOUT);
}

TEST_CASE("dtx: a descriptor that differs is refused by the difference", "[unit]")
{
    Database db(2);
    dtx::Replica here{ 1, 1 };
    dtx::Descriptor own = dtx::describe(*db.cluster, here);
    auto read = [](uint64_t, void *, uint64_t) { FAIL("the description of the tables was read"); };

    CHECK(code_of([&] { dtx::compare(own, *db.cluster, here, read); }) == 0);
    CHECK(code_of([&] { dtx::compare(own, *db.cluster, { 0, 1 }, read); }) == RPM_E_VERSION);
    CHECK(code_of([&] { dtx::compare(own, *db.cluster, { 1, 0 }, read); }) == RPM_E_VERSION);
    own.flags ^= dtx::kNotDurable;
    dtx::seal(own);
    CHECK(code_of([&] { dtx::compare(own, *db.cluster, here, read); }) == RPM_E_VERSION);
    own.flags ^= dtx::kNotDurable | 1u << 31; // of a later version
    dtx::seal(own);
    CHECK(code_of([&] { dtx::compare(own, *db.cluster, here, read); }) == RPM_E_VERSION);
    own.flags ^= 1u << 31;
    dtx::seal(own);
    own.magic++;
    CHECK(code_of([&] { dtx::compare(own, *db.cluster, here, read); }) == RPM_E_FOREIGN);
    own.magic--;
    own.replicas++;
    CHECK(code_of([&] { dtx::compare(own, *db.cluster, here, read); }) == RPM_E_CORRUPT);
    CHECK(code_of([&] { dtx::compare({}, *db.cluster, here, read); }) == RPM_E_FOREIGN);
}

// Sessions without logs beside sessions with logs would break what both rest on: a row of a locked
// object counts as committed because its redo record is in the logs.
TEST_CASE("dtx: a database is opened only with the durability that it was made with", "[unit]")
{
    dtx::Options options;

    options.durable = GENERATE(false, true);

    Database db(2, options);

    options = db.cluster->options();
    options.durable = !options.durable;
    options.retry_us = 50000;

    dtx::Cluster other(db.tables.schema, options);

    CHECK(code_of([&] { other.verify(); }) == RPM_E_VERSION);
    CHECK(code_of([&] { dtx::Session session(other, 0); }) == RPM_E_VERSION);
    CHECK(code_of([&] { (void)other.recover(); }) == RPM_E_VERSION);
    CHECK(code_of([&] { dtx::Session session(*db.cluster, 0); }) == 0);
}

TEST_CASE("dtx: more rows than memory are refused when the database is made", "[unit]")
{
    CHECK(code_of([] { Database db(1, {}, Tables(10000000)); }) == RPM_E_NOSPACE);
}

TEST_CASE("dtx: invalid options are refused", "[unit]")
{
    Tables tables;
    dtx::Options good;

    good.urls = { "shm:a", "shm:b" };
    CHECK(code_of([&] { dtx::Cluster(tables.schema, good); }) == 0);
    for (auto spoil : std::vector<std::function<void(dtx::Options &)>>{
             [](dtx::Options &o) { o.urls.clear(); }, [](dtx::Options &o) { o.urls.resize(257); },
             [](dtx::Options &o) { o.replicas = 0; }, [](dtx::Options &o) { o.replicas = 3; },
             [](dtx::Options &o) { o.coordinators = 0; },
             [](dtx::Options &o) { o.coordinators = 1001; },
             [](dtx::Options &o) { o.interleave = 256; } }) {
        dtx::Options bad = good;

        spoil(bad);
        CHECK(code_of([&] { dtx::Cluster(tables.schema, bad); }) == RPM_E_INVAL);
    }
}

TEST_CASE("dtx: reads of whole tables share connections as long as a Reading lives", "[unit]")
{
    Database db(2);
    dtx::Options options = db.cluster->options();
    std::vector<std::string> urls = options.urls;
    int dialed = 0;

    options.dial = [&](uint32_t server, const rpm_conn_opts *opts, rpm_conn **conn) {
        dialed++;
        return rpm_conn_open(urls[server].c_str(), opts, conn);
    };
    dtx::Cluster counted(db.tables.schema, options);
    auto read = [&] {
        counted.each_object(db.tables.accounts.number, 0,
                            [](dtx::Address, const unsigned char *, uint32_t) {});
    };

    read();
    read();
    CHECK(dialed == 4);
    {
        dtx::Cluster::Reading reading(counted);

        read();
        read();
        CHECK(dialed == 6);
    }
    read();
    CHECK(dialed == 8);
}
