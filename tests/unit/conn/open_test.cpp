// SPDX-License-Identifier: BSD-3-Clause
#include "support/death.h"
#include "support/loop.h"

using namespace loop;

TEST_CASE("conn: options out of range are refused", "[unit]")
{
    Server server;
    struct {
        int err;
        void (*spoil)(rpm_conn_opts *);
    } bad[] = {
        { RPM_E_INVAL, [](rpm_conn_opts *o) { o->depth = 63; } },
        { RPM_E_INVAL, [](rpm_conn_opts *o) { o->depth = 4097; } },
        { RPM_E_INVAL, [](rpm_conn_opts *o) { o->staging_bytes = 1000; } },
        { RPM_E_INVAL, [](rpm_conn_opts *o) { o->staging_bytes = (1ull << 32) + 1; } },
        { RPM_E_INVAL, [](rpm_conn_opts *o) { o->timeout_us = UINT64_MAX; } },
        { RPM_E_INVAL, [](rpm_conn_opts *o) { o->method = RPM_METHOD_COUNT; } },
        { RPM_E_INVAL, [](rpm_conn_opts *o) { o->hints = "H17"; } },
        { RPM_E_INVAL, [](rpm_conn_opts *o) { o->pace = 8; } },
        { RPM_E_INVAL, [](rpm_conn_opts *o) { o->size = 1; } },
    };

    for (const auto &row : bad) {
        rpm_conn_opts opts = rpm_conn_opts_init();
        rpm_conn *conn = nullptr;

        row.spoil(&opts);
        CAPTURE(&row - bad);
        CHECK(connect(server, synchronous(), &opts, &conn) == row.err);
        CHECK(rpm_conn_open("shm:no-server-here", &opts, &conn) == row.err);
        CHECK(rpm_conn_mem_bytes(&opts) == 0);
        CHECK(conn == nullptr);
    }
    CHECK(server.links.empty());
    CHECK(rpm_conn_mem_bytes(nullptr) > (16u << 20));
}

TEST_CASE("conn: callers older and newer than the library", "[unit]")
{
    struct {
        rpm_conn_opts known;
        uint64_t later;
    } newer = { rpm_conn_opts_init(), 1 };
    rpm_conn_opts older = rpm_conn_opts_init();
    Server server;
    rpm_conn *conn = nullptr;

    newer.known.size = sizeof(newer);
    CHECK(connect(server, synchronous(), &newer.known, &conn) == RPM_E_OPTS);
    newer.later = 0;
    REQUIRE(connect(server, synchronous(), &newer.known, &conn) == 0);
    rpm_conn_close(&conn);
    CHECK(conn == nullptr);
    rpm_conn_close(&conn);
    older.size = offsetof(rpm_conn_opts, depth);
    older.depth = 1; // beyond its size
    REQUIRE(connect(server, synchronous(), &older, &conn) == 0);
    rpm_conn_close(&conn);
}

TEST_CASE("conn: invalid URLs are refused", "[unit]")
{
    rpm_conn *conn = nullptr;

    for (const char *url : { "", "shm", "nothing:x", ":", "shm:x,mode=sideways", "sim:preset=none",
                             "shm:x,wrap=nothing", "shm:x,what=1" })
        CHECK(rpm_conn_open(url, nullptr, &conn) == RPM_E_INVAL);
    CHECK(rpm_conn_open(("shm:" + std::string(2000, 'x')).c_str(), nullptr, &conn) == RPM_E_INVAL);
    CHECK(conn == nullptr);
}

TEST_CASE("conn: facts and counters, for callers of any age", "[unit]")
{
    Server server;
    Conn conn(server, queued());
    rpm_facts facts = rpm_facts_init();
    struct rpm_conn_stats stats = rpm_conn_stats_init();

    CHECK(rpm_conn_client(conn) != 0);
    REQUIRE(rpm_conn_facts(conn, &facts) == 0);
    CHECK(facts.domain == RPM_DOMAIN_ADR);
    facts.size = 2;
    CHECK(rpm_conn_facts(conn, &facts) == RPM_E_INVAL);
    facts.size = offsetof(rpm_facts, ddio);
    facts.ddio = 77;
    CHECK(rpm_conn_facts(conn, &facts) == 0);
    CHECK(facts.ddio == 77);
    {
        Log log(conn, "a", WRITER);
        append(log, payload(1, 100));
        append(log, payload(2, 10));
    }
    REQUIRE(rpm_conn_stats(conn, &stats) == 0);
    CHECK(stats.payload_bytes == 110);
    CHECK(stats.writes == 2);
    CHECK(stats.write_bytes == 128 + 64);
    CHECK(stats.calls == 5); // open, claim, seal, close, close
    stats.size = 0;
    CHECK(rpm_conn_stats(conn, &stats) == RPM_E_INVAL);
}

TEST_CASE("conn: every allocation may fail, and nothing leaks", "[unit]")
{
    Server server;
    rpm_conn *conn = nullptr;
    uint64_t n = 1;

    for (; n < 20; n++) {
        rpmi_mem_fail_at(n);
        int err = connect(server, queued(), nullptr, &conn);
        rpmi_mem_fail_at(0);
        if (err == 0)
            break;
        CHECK(err == RPM_E_NOMEM);
        CHECK(server.links.empty()); // the link was opened, and closed again
    }
    CHECK(n == 5);
    rpm_conn_close(&conn);
    CHECK(server.links.empty());
}

TEST_CASE("conn: dialled again while no server listens, until one does", "[unit]")
{
    Server server;
    Conn conn(server, queued());
    uint32_t client = rpm_conn_client(conn);

    conn.link->drop();
    conn.link->faults.refuse = 5;
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    CHECK(rpm_conn_client(conn) != client);
    REQUIRE(rpm_conn_reconnect(conn) == 0); // a healthy connection is closed and opened anew

    server.stop();
    uint64_t begin = server.now_ns;
    CHECK(rpm_conn_reconnect(conn) == RPM_E_REFUSED);
    CHECK(server.now_ns - begin >= 5000000000);
    CHECK(server.now_ns - begin < 5200000000);
    rpm_entry entry = rpm_entry_init();
    CHECK(rpm_conn_next(conn, &entry) == RPM_E_LOST);
    REQUIRE(server.start() == 0);
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    CHECK(rpm_conn_next(conn, &entry) == 0);
}

TEST_CASE("conn: a reconnect invalidates open objects and their keys", "[unit]")
{
    Setup setup = GENERATE(synchronous(), queued());
    Server server;
    Conn conn(server, setup);
    Log log(conn, "a", WRITER);
    rpm_region_opts region_opts = rpm_region_opts_init();
    rpm_region *region = nullptr;
    rpm_locks *locks = nullptr;
    rpm_outcome outcomes[256];
    uint32_t count;
    char byte;

    region_opts.flags = RPM_REGION_CREATE;
    region_opts.bytes = 100;
    REQUIRE(rpm_region_open(conn, "r", &region_opts, &region) == 0);
    REQUIRE(rpm_locks_open(conn, "l", 10, &locks) == 0);
    append(log, "x");
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    CHECK(rpm_log_append(log, "x", 1, nullptr) == RPM_E_LOST);
    CHECK(rpm_region_write(region, 0, "x", 1) == RPM_E_LOST);
    CHECK(rpm_region_read(region, 0, &byte, 1) == RPM_E_LOST);
    CHECK(rpm_lock_try(locks, 0) == RPM_E_LOST);
    REQUIRE(rpm_log_resume(log, outcomes, 256, &count) == 0);
    append(log, "y");
    CHECK(rpm_region_write(region, 0, "x", 1) == RPM_E_LOST);
    rpm_region_close(&region);
    rpm_locks_close(&locks); // closing must not return a key that another object has now
    append(log, "z");
    CHECK(read_all(log).size() == 3);
}

TEST_CASE("conn: closing with something open on it is the caller's bug", "[unit]")
{
    std::string said = death_of([] {
        Server server;
        rpm_conn *conn = nullptr;
        rpm_log *log = nullptr;
        rpm_log_opts opts = rpm_log_opts_init();

        opts.flags = WRITER;
        opts.capacity_bytes = 4096;
        if (connect(server, synchronous(), nullptr, &conn) == 0 &&
            rpm_log_open(conn, "a", &opts, &log) == 0)
            rpm_conn_close(&conn);
    });
    CHECK(said.find("owners_open") != std::string::npos);
}

TEST_CASE("conn: 255 logs and regions, and the 256th is refused", "[unit]")
{
    Server server(4u << 20);
    rpm_conn_opts opts = rpm_conn_opts_init();

    opts.staging_bytes = 512u << 20;
    Conn conn(server, synchronous(), &opts);
    std::vector<rpm_log *> logs;
    rpm_log *log = nullptr;
    {
        Log make(conn, "a", WRITER);
    }
    for (int i = 0; i < 255; i++) {
        REQUIRE(rpm_log_open(conn, "a", nullptr, &log) == 0);
        logs.push_back(log);
    }
    CHECK(rpm_log_open(conn, "a", nullptr, &log) == RPM_E_LIMIT);
    rpm_locks *locks = nullptr;
    rpm_region *region = nullptr;
    CHECK(rpm_locks_open(conn, "l", 4, &locks) == RPM_E_LIMIT);
    CHECK(rpm_region_open(conn, "r", nullptr, &region) == RPM_E_LIMIT);
    CHECK(logs.back() == log);
    for (rpm_log *one : logs)
        rpm_log_close(&one);
}
