// SPDX-License-Identifier: BSD-3-Clause
#include "support/loop.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

using namespace loop;

TEST_CASE("objects: all of them are listed by name, with kind, size and writer", "[unit]")
{
    Server server;
    Conn conn(server, queued());
    rpm_locks *locks = nullptr;
    rpm_entry entry = rpm_entry_init();

    REQUIRE(rpm_locks_open(conn, "locks", 10, &locks) == 0);
    Log log(conn, "dir/log", WRITER, 8192);
    REQUIRE(rpm_conn_next(conn, &entry) == 1);
    CHECK(std::string(entry.name) == "dir/log");
    CHECK(entry.kind == RPM_KIND_LOG);
    CHECK(entry.bytes == 8192);
    CHECK(entry.writer == rpm_conn_client(conn));
    REQUIRE(rpm_conn_next(conn, &entry) == 1);
    CHECK(std::string(entry.name) == "locks");
    CHECK(entry.kind == RPM_KIND_LOCKS);
    CHECK(entry.bytes == 80);
    CHECK(rpm_conn_next(conn, &entry) == 0);
    CHECK(entry.kind == RPM_KIND_LOCKS); // set only when there is one
    entry.size = 3;
    CHECK(rpm_conn_next(conn, &entry) == RPM_E_INVAL);
    entry.size = offsetof(rpm_entry, kind);
    strcpy(entry.name, "dir/a"); // which does not exist
    CHECK(rpm_conn_next(conn, &entry) == 1);
    CHECK(std::string(entry.name) == "dir/log");
    CHECK(entry.kind == RPM_KIND_LOCKS);
    memset(entry.name, 'x', sizeof(entry.name));
    CHECK(rpm_conn_next(conn, &entry) == RPM_E_NAME);
    rpm_locks_close(&locks);
}

TEST_CASE("objects: what stays is listed once while others come and go", "[unit]")
{
    Server server;
    Conn conn(server, queued());
    rpm_entry entry = rpm_entry_init();
    std::vector<std::string> seen;
    auto make = [&](const std::string &name) {
        rpm_region_opts opts = rpm_region_opts_init();
        rpm_region *region = nullptr;

        opts.flags = RPM_REGION_CREATE;
        opts.bytes = 64;
        REQUIRE(rpm_region_open(conn, name.c_str(), &opts, &region) == 0);
        rpm_region_close(&region);
    };

    for (const char *name : { "a", "c", "e", "g" })
        make(name);
    while (rpm_conn_next(conn, &entry) == 1) {
        seen.push_back(entry.name);
        if (seen.size() == 2) { // in front of it, itself, and behind it
            make("b");
            REQUIRE(rpm_conn_remove(conn, "a") == 0);
            REQUIRE(rpm_conn_remove(conn, "c") == 0);
            make("d");
        }
    }
    CHECK(seen == std::vector<std::string>{ "a", "c", "d", "e", "g" });
}

TEST_CASE("objects: a server that does not list in the order of names is an error", "[unit]")
{
    Server server;
    Conn conn(server, queued());
    rpm_entry entry = rpm_entry_init();
    std::string next;

    conn.link->on_reply = [&](const rpmi_call &call, rpmi_reply &reply) {
        REQUIRE(call.kind == RPMI_CALL_NEXT);
        reply.status = 0;
        memset(reply.name, 0, sizeof(reply.name));
        memcpy(reply.name, next.data(), std::min(next.size(), sizeof(reply.name)));
    };
    strcpy(entry.name, "c");
    for (std::string wrong : { std::string(), std::string("a"), std::string("c"),
                               std::string("b/d"), std::string(sizeof(entry.name), 'x') }) {
        CAPTURE(wrong);
        next = wrong;
        CHECK(rpm_conn_next(conn, &entry) == RPM_E_PROTO);
        CHECK(std::string(rpm_last_error()).find("after 'c'") != std::string::npos);
        CHECK(std::string(entry.name) == "c");
    }
    next = "c/d";
    CHECK(rpm_conn_next(conn, &entry) == 1);
    CHECK(std::string(entry.name) == "c/d");
}

TEST_CASE("objects: the room of a server for more of them", "[unit]")
{
    Server server;
    Conn conn(server, queued());
    auto room_of = [&](rpm_kind kind) {
        rpm_room room = rpm_room_init();

        REQUIRE(rpm_conn_room(conn, kind, &room) == 0);
        return room;
    };
    rpm_room before = room_of(RPM_KIND_REGION);
    rpm_room dram = room_of(RPM_KIND_LOCKS);

    CHECK(before.bytes == before.free_bytes);
    CHECK(before.bytes == before.largest_bytes);
    CHECK(before.objects == 0);
    CHECK(before.objects_max == 128);
    CHECK(before.free_bytes == rpmi_service_free_bytes(server.service));
    CHECK(dram.objects_max == 64);
    CHECK(dram.bytes < before.bytes);

    // The largest log takes all of it; a byte more is refused.
    uint64_t largest = room_of(RPM_KIND_LOG).largest_bytes;
    CHECK(largest == before.bytes - RPMI_LOG_HEADER_BYTES);
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_log *refused = nullptr;
    opts.flags = WRITER;
    opts.capacity_bytes = largest + 4096;
    CHECK(rpm_log_open(conn, "a", &opts, &refused) == RPM_E_NOSPACE);
    {
        Log log(conn, "a", WRITER, largest);
        rpm_room full = room_of(RPM_KIND_LOG);
        CHECK(full.free_bytes == 0);
        CHECK(full.largest_bytes == 0);
        CHECK(full.objects == 1);
    }
    REQUIRE(rpm_conn_remove(conn, "a") == 0);

    // Two pieces: what is free is not in one piece.
    Log first(conn, "first", WRITER, 8192);
    Log second(conn, "second", WRITER, 8192);
    first.close();
    REQUIRE(rpm_conn_remove(conn, "first") == 0);
    rpm_room parted = room_of(RPM_KIND_REGION);
    CHECK(parted.free_bytes == before.bytes - 8192 - RPMI_LOG_HEADER_BYTES);
    CHECK(parted.largest_bytes == before.bytes - 2 * (8192 + RPMI_LOG_HEADER_BYTES));
    CHECK(parted.objects == 1);

    // The DRAM area is another one.
    rpm_locks *locks = nullptr;
    REQUIRE(rpm_locks_open(conn, "locks", 8, &locks) == 0);
    CHECK(room_of(RPM_KIND_DRAM).free_bytes == dram.free_bytes - 64);
    CHECK(room_of(RPM_KIND_LOCKS).objects == 1);
    CHECK(room_of(RPM_KIND_REGION).objects == 1);
    rpm_locks_close(&locks);

    rpm_room room = rpm_room_init();
    CHECK(rpm_conn_room(conn, static_cast<rpm_kind>(0), &room) == RPM_E_INVAL);
    CHECK(rpm_conn_room(conn, static_cast<rpm_kind>(5), &room) == RPM_E_INVAL);
    room.size = 3;
    CHECK(rpm_conn_room(conn, RPM_KIND_LOG, &room) == RPM_E_INVAL);
}

TEST_CASE("objects: remove gives space back, but not under a user", "[unit]")
{
    Server server;
    Conn conn(server, queued());
    uint64_t free_bytes = rpmi_service_free_bytes(server.service);

    CHECK(rpm_conn_remove(conn, "a") == RPM_E_NOENT);
    CHECK(rpm_conn_remove(conn, "") == RPM_E_NAME);
    CHECK(rpm_conn_remove(conn, "a b") == RPM_E_NAME);
    CHECK(rpm_conn_remove(conn, std::string(300, 'x').c_str()) == RPM_E_NAME);
    Log log(conn, "a", WRITER, 8192);
    CHECK(rpm_conn_remove(conn, "a") == RPM_E_OWNED);
    log.close();
    REQUIRE(rpm_conn_remove(conn, "a") == 0);
    CHECK(rpm_conn_remove(conn, "a") == RPM_E_NOENT);
    CHECK(rpmi_service_free_bytes(server.service) == free_bytes);
    server.power_cut();
    REQUIRE(server.start() == 0);
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    rpm_entry entry = rpm_entry_init();
    CHECK(rpm_conn_next(conn, &entry) == 0);
}

TEST_CASE("objects: a new log in an old one's place has none of its records", "[unit]")
{
    Server server;
    Conn conn(server, queued());
    {
        Log log(conn, "a", WRITER, 8192);
        for (int i = 0; i < 20; i++)
            append(log, "old");
    }
    REQUIRE(rpm_conn_remove(conn, "a") == 0);
    Log log(conn, "b", WRITER, 8192);
    CHECK(read_all(log).empty());
    CHECK(info(log).epoch == 1); // the same epoch and LSNs as the old ones
    append(log, "new");
    CHECK(read_all(log).size() == 1);
    log.close();
    Log again(conn, "b", RPM_LOG_WRITE);
    CHECK(info(again).records == 1);
}

TEST_CASE("objects: lost and late answers", "[unit]")
{
    Server server;
    Conn conn(server, queued());
    rpm_entry entry = rpm_entry_init();
    {
        Log log(conn, "a", WRITER, 8192);
    }
    bool late = GENERATE(false, true);

    if (late)
        conn.link->faults.stall_call = 1;
    else
        conn.link->faults.lose_call = 1;
    CHECK(rpm_conn_next(conn, &entry) == (late ? RPM_E_TIMEDOUT : RPM_E_LOST));
    CHECK(rpm_conn_remove(conn, "a") == (late ? RPM_E_TIMEDOUT : RPM_E_LOST));
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    CHECK(rpm_conn_remove(conn, "a") == 0);
}
