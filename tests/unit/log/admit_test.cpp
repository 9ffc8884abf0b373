// SPDX-License-Identifier: BSD-3-Clause
#include "unit/log/kinds.h"

extern "C" {
#include "log/log.h"

#include <cstring>
}

using namespace loop;

namespace
{
constexpr uint64_t HEADER = 36864; // of the first log in a pool
}

TEST_CASE("admit: only a full ring asks the server where the log begins", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 4096);
    uint64_t calls = conn.link->calls;

    for (int i = 0; i < 64; i++)
        append(log, "x");
    CHECK(conn.link->calls == calls);
    CHECK(rpm_log_append(log, "x", 1, nullptr) == RPM_E_FULL);
    CHECK(conn.link->calls == calls + 1);
    REQUIRE(rpm_log_trim(log, 640) == 0);
    CHECK(conn.link->calls == calls + 2);
    for (int i = 0; i < 10; i++)
        append(log, "y");
    CHECK(conn.link->calls == calls + 2);
}

TEST_CASE("admit: space is reused only once the trim that freed it is durable", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Conn other_conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 4096);
    Log other(other_conn, "a", 0);
    Log mine;

    for (int i = 0; i < 64; i++)
        append(log, "old");
    // All clients read the new head, but it is not durable.
    server.pool.fail_persist_at = 1;
    CHECK(rpm_log_trim(other, 640) == RPM_E_IO);
    CHECK(info(other).head_lsn == 640);
    CHECK(rpm_log_trim(log, 0) == 0); // reads the head too
    server.pool.fail_persist_at = 1;
    CHECK(rpm_log_append(log, "new", 3, nullptr) == RPM_E_IO);
    server.pool.fail_persist_at = 1;
    CHECK(rpm_log_trim(log, 640) == RPM_E_IO);
    bool heals = GENERATE(false, true);
    if (heals)
        append(log, "new"); // the server made it durable before it answered
    other.close();
    log.close();
    server.power_cut();
    REQUIRE(server.start() == 0);
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    Log after(conn, "a", RPM_LOG_WRITE);
    CHECK(read_all(after).size() == (heals ? 55 : 64));
}

TEST_CASE("admit: torn head slots are read again, three that stay torn are corrupt", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 4096);
    std::vector<unsigned char> saved;

    for (int i = 0; i < 4; i++)
        append(log, "x");
    REQUIRE(rpm_log_trim(log, 64) == 0);
    saved = server.pool.bytes;
    for (uint64_t at = 0; at < RPMI_GUARD_OFFSET; at++) {
        rpm_log *raw = log;
        bool in_slot = at % RPMI_HEAD_SLOT_STRIDE < RPMI_HEAD_BYTES;

        server.pool.bytes[HEADER + at] ^= 0x5a;
        CHECK(rpmi_log_head(raw) == 0);
        CHECK(raw->head.trim_lsn == 64);
        CHECK(raw->head.epoch == 1);
        server.pool.bytes[HEADER + (at ^ 256)] ^= 0x5a;
        CHECK(rpmi_log_head(raw) == 0);
        CHECK(raw->head.trim_lsn == 64);
        server.pool.bytes[HEADER + (at ^ 512)] ^= 0x5a;
        CHECK(rpmi_log_head(raw) == (in_slot ? RPM_E_CORRUPT : 0));
        CHECK(rpm_log_trim(log, 128) == (in_slot ? RPM_E_CORRUPT : 0));
        // Not by assignment: ASan's memmove() copies byte by byte.
        std::memcpy(server.pool.bytes.data(), saved.data(), saved.size());
    }
    CHECK(append(log, "y") == 256);
}

// In all slots: like two consecutive heads.
static void put_everywhere(Server &server, rpmi_head head)
{
    for (uint32_t slot = 0; slot < RPMI_HEAD_SLOTS; slot++) {
        head.turn = 100 + slot % 2;
        rpmi_head_put(&server.pool.bytes[HEADER + uint64_t{ RPMI_HEAD_SLOT_STRIDE } * slot], &head);
    }
}

TEST_CASE("admit: a head of another log or size is refused", "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    Log log(conn, "a", WRITER, 4096);
    rpm_log *raw = log;
    rpmi_head head = raw->head;

    head.log_id++;
    put_everywhere(server, head);
    CHECK(rpmi_log_head(raw) == RPM_E_CORRUPT);
    head.log_id--;
    head.capacity_bytes += 4096;
    put_everywhere(server, head);
    CHECK(rpmi_log_head(raw) == RPM_E_CORRUPT);
    CHECK(raw->head.capacity_bytes == 4096);
}
