// SPDX-License-Identifier: BSD-3-Clause
#include "support/loop.h"

using namespace loop;

namespace
{

// A key on a region of @bytes, by a call without the region layer.
uint32_t region_key(rpm_conn *conn, uint64_t bytes)
{
    rpmi_call call = {};
    rpmi_reply reply;

    call.kind = RPMI_CALL_OPEN;
    call.object = RPM_KIND_REGION;
    call.flags = RPMI_CALL_CREATE;
    call.bytes = bytes;
    memcpy(call.name, "r", 2);
    REQUIRE(rpmi_conn_call(conn, &call, &reply) == 0);
    return reply.key;
}

} // namespace

TEST_CASE("sync: reads of any length, through the bounce buffer where need be", "[unit]")
{
    Setup setup = GENERATE(synchronous(), queued());
    Server server(4u << 20);
    Conn conn(server, setup);
    uint32_t key = region_key(conn, 1u << 20);
    std::string data = payload(1, 1u << 20);
    std::string into(1u << 20, '\0');

    memcpy(&server.pool.bytes[36864], data.data(), data.size());
    Freeze freeze;
    for (uint64_t len : { 0u, 1u, 63u, 4096u, RPMI_BOUNCE_BYTES, RPMI_BOUNCE_BYTES + 1,
                          3 * RPMI_BOUNCE_BYTES - 5, 1u << 20 }) {
        std::fill(into.begin(), into.end(), '\0');
        uint64_t offset = (1u << 20) - len;
        REQUIRE(rpmi_conn_read(conn, key, offset, &into[0], len) == 0);
        CHECK(into.compare(0, len, data, offset, len) == 0);
    }
    int err = rpmi_conn_read(conn, key, 1, &into[0], 1u << 20);
    CHECK(err != 0);
    CHECK((err == RPM_E_RANGE || err == RPM_E_LOST)); // a failed op breaks the link
}

TEST_CASE("sync: persist makes ranges durable that another client wrote", "[unit]")
{
    Setup setup = GENERATE(synchronous(), queued());
    Server server;
    Conn conn(server, setup);
    uint32_t key = region_key(conn, 8192);
    rpm_request request = rpmi_conn_request(conn, RPM_REQUEST_WRITE, RPM_DURABLE, 0);
    rpmi_range ranges[2] = { { 100, 50 }, { 4000, 300 } };
    rpmi_plan plan;

    REQUIRE(rpmi_plan_make_persist(&conn.link->link.facts, &request, &plan) == 0);
    std::fill_n(server.pool.bytes.begin() + 36864, 8192, 0x77);
    REQUIRE(rpmi_conn_persist(conn, &plan, key, ranges, 2) == 0);
    CHECK(server.pool.kept[36864 + 100] == 0x77);
    CHECK(server.pool.kept[36864 + 149] == 0x77);
    CHECK(server.pool.kept[36864 + 4299] == 0x77);
    CHECK(server.pool.kept[36864 + 2000] == 0);
}

TEST_CASE("sync: the text of a refusal becomes this thread's last error", "[unit]")
{
    Server server;
    Conn conn(server, queued());
    rpmi_call call = {};
    rpmi_reply reply;

    call.kind = RPMI_CALL_REMOVE;
    memcpy(call.name, "absent", 7);
    CHECK(rpmi_conn_call(conn, &call, &reply) == RPM_E_NOENT);
    CHECK(std::string(rpm_last_error()).find("absent") != std::string::npos);
}

TEST_CASE("sync: a call that fails on its way loses the connection for all of its objects",
          "[unit]")
{
    int how = GENERATE(0, 1, 2);
    Server server;
    Conn conn(server, queued());
    Log log(conn, "a", WRITER);
    rpmi_call call = {};
    rpmi_reply reply;
    int expected[] = { RPM_E_LOST, RPM_E_TIMEDOUT, RPM_E_PROTO };

    conn.link->manual = true;
    REQUIRE(append_async(log, "x", 1) == 0);
    if (how == 0)
        conn.link->faults.lose_call = 1;
    if (how == 1)
        conn.link->faults.stall_call = 1;
    if (how == 2)
        conn.link->faults.garbage_call = 1;
    call.kind = RPMI_CALL_NEXT;
    CHECK(rpmi_conn_call(conn, &call, &reply) == expected[how]);
    auto done = reap(log, 1, 3);
    REQUIRE(done.size() == 1);
    CHECK(done[0].status != 0);
    CHECK(rpmi_conn_call(conn, &call, &reply) != 0);
    conn.link->manual = false;
    CHECK(rpm_conn_reconnect(conn) == 0);
    CHECK(rpmi_conn_call(conn, &call, &reply) == 0);
}

TEST_CASE("sync: a pause is spun while short, and ends at the deadline", "[unit]")
{
    Server server;
    Conn conn(server, queued());
    static uint64_t now;
    int slept = 0;
    uint64_t before = server.now_ns;

    conn.link->on_pause = [&] { slept++; };
    rpmi_conn_pause(conn, 1000, UINT64_MAX); // a clock that stands still
    CHECK(slept == 1);
    CHECK(server.now_ns == before + 1000);
    rpmi_conn_pause(conn, 1000000000, server.now_ns + 70);
    CHECK(slept == 2);
    CHECK(server.now_ns == before + 1070);
    rpmi_conn_pause(conn, 1000, server.now_ns - 1);
    CHECK(slept == 2);
    now = 0;
    conn.link->clock = [] { return now += 100; };
    rpmi_conn_pause(conn, RPMI_SPIN_NS - 1, UINT64_MAX);
    CHECK(slept == 2);
    CHECK(now >= RPMI_SPIN_NS);
    CHECK(now < RPMI_SPIN_NS + 1000);
    rpmi_conn_pause(conn, RPMI_SPIN_NS, UINT64_MAX);
    CHECK(slept == 3);
}
