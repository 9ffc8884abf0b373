// SPDX-License-Identifier: BSD-3-Clause
#include "unit/log/kinds.h"

using namespace loop;

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
