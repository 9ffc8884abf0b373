// SPDX-License-Identifier: BSD-3-Clause
#include "unit/region/region.h"

using namespace loop;

TEST_CASE("atomic: compare-and-swap and fetch-and-add on DRAM words", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Conn other_conn(server, kind.setup, &conn_opts);
    Region words(conn, "w", 64, 0, RPM_REGION_DRAM);
    rpm_region_opts opts = rpm_region_opts_init();
    Region same;
    uint64_t found = 99;

    opts.flags = RPM_REGION_DRAM;
    REQUIRE(same.open(other_conn, "w", &opts) == 0);
    Freeze freeze;
    CHECK(rpm_region_cas(words, 8, 0, 5, &found) == 0);
    CHECK(found == 0);
    CHECK(rpm_region_cas(same, 8, 0, 6, &found) == 0);
    CHECK(found == 5);
    CHECK(rpm_region_faa(same, 8, 10, &found) == 0);
    CHECK(found == 5);
    CHECK(rpm_region_faa(words, 8, UINT64_MAX, &found) == 0);
    CHECK(found == 15);
    CHECK(rpm_region_faa(words, 8, 0, &found) == 0);
    CHECK(found == 14);
    CHECK(rpm_region_cas(words, 56, 0, 1, &found) == 0);
    for (uint64_t i = 0; i < 300; i++)
        REQUIRE(rpm_region_faa(i % 2 == 0 ? words : same, 0, 1, &found) == 0);
    CHECK(found == 299);
    CHECK(rpm_region_write(words, 16, "12345678", 8) == 0);
    char back[8];
    CHECK(rpm_region_read(words, 16, back, 8) == 0);
    CHECK(memcmp(back, "12345678", 8) == 0);
}

TEST_CASE("atomic: only aligned words of DRAM inside the region", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Region words(conn, "w", 64, 0, RPM_REGION_DRAM);
    Region persistent(conn, "p", 64);
    uint64_t found = 99;
    uint64_t ops = conn.link->ops;

    CHECK(rpm_region_cas(persistent, 0, 0, 1, &found) == RPM_E_NOCAP);
    CHECK(rpm_region_faa(persistent, 0, 1, &found) == RPM_E_NOCAP);
    for (uint64_t offset : { uint64_t(64), uint64_t(1) << 40, UINT64_MAX - 7 }) {
        CHECK(rpm_region_cas(words, offset, 0, 1, &found) == RPM_E_RANGE);
        CHECK(rpm_region_faa(words, offset, 1, &found) == RPM_E_RANGE);
    }
    for (uint64_t offset : { uint64_t(1), uint64_t(60), UINT64_MAX }) {
        CHECK(rpm_region_cas(words, offset, 0, 1, &found) == RPM_E_INVAL);
        CHECK(rpm_region_faa(words, offset, 1, &found) == RPM_E_INVAL);
    }
    CHECK(found == 99);
    CHECK(conn.link->ops == ops);
    conn.link->faults.lose_op = 1;
    CHECK(rpm_region_faa(words, 0, 1, &found) == RPM_E_LOST);
    CHECK(rpm_region_faa(words, 0, 1, &found) == RPM_E_LOST);
    CHECK(found == 99);
}

TEST_CASE("atomic: words are zero in every run of the server", "[unit]")
{
    Server server;
    Conn conn(server, queued());
    uint64_t found = 9;
    {
        Region words(conn, "w", 64, 0, RPM_REGION_DRAM);
        REQUIRE(rpm_region_faa(words, 0, 7, &found) == 0);
    }
    server.stop();
    REQUIRE(server.start() == 0);
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    rpm_region_opts opts = rpm_region_opts_init();
    Region gone;
    opts.flags = RPM_REGION_DRAM;
    CHECK(gone.open(conn, "w", &opts) == RPM_E_NOENT);
    Region words(conn, "w", 64, 0, RPM_REGION_DRAM);
    REQUIRE(rpm_region_faa(words, 0, 1, &found) == 0);
    CHECK(found == 0);
}

TEST_CASE("atomic: a guarded word does not change after another client claimed the log", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Conn other(server, kind.setup, &conn_opts);
    Log log(conn, "log", WRITER, 8192);
    rpm_region_opts opts = rpm_region_opts_init();
    Region words;
    Region same;
    uint64_t found = 99;

    opts.flags = RPM_REGION_CREATE | RPM_REGION_DRAM;
    opts.bytes = 64;
    REQUIRE(same.open(other, "w", &opts) == 0);
    opts.claim = log;
    REQUIRE(words.open(conn, "w", &opts) == 0);
    CHECK(rpm_region_cas(words, 0, 0, 7, &found) == 0);
    Log next(other, "log", WRITER | RPM_LOG_TAKEOVER, 8192);
    found = 99;
    CHECK(rpm_region_cas(words, 0, 7, 8, &found) == RPM_E_FENCED);
    CHECK(rpm_region_faa(words, 0, 1, &found) == RPM_E_FENCED);
    CHECK(found == 99);
    CHECK(rpm_region_faa(same, 0, 0, &found) == 0);
    CHECK(found == 7);
}
