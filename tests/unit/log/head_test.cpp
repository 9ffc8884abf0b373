// SPDX-License-Identifier: BSD-3-Clause
#include "unit/log/kinds.h"

extern "C" {
#include "log/log.h"
}

#include <cstring>

using namespace loop;

TEST_CASE("head: torn head slots are read again, three that stay torn are corrupt", "[unit]")
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

TEST_CASE("head: a head of another log or size is refused", "[unit]")
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
