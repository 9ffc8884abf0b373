// SPDX-License-Identifier: BSD-3-Clause
#include "unit/log/kinds.h"

using namespace loop;

namespace
{

int wait_for(Log &log, rpm_completion *done, uint32_t n, uint32_t min, uint64_t timeout_us)
{
    return rpm_log_wait(log, done, n, min, timeout_us);
}

} // namespace

TEST_CASE("wait: appends with RPM_MORE are flushed only if the wait needs them", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER);
    rpm_completion done[8];

    REQUIRE(append_async(log, "one", 1) == 0);
    REQUIRE(append_async(log, "two", 2, RPM_MORE) == 0);
    CHECK(wait_for(log, done, 8, 1, UINT64_MAX) >= 1);
    CHECK(done[0].context == reinterpret_cast<void *>(1));
    REQUIRE(append_async(log, "three", 3, RPM_MORE) == 0);
    int n = wait_for(log, done, 8, 2, UINT64_MAX);
    REQUIRE(n == 2);
    CHECK(done[0].context == reinterpret_cast<void *>(2));
    CHECK(done[1].status == 0);
    CHECK(wait_for(log, done, 8, 8, UINT64_MAX) == 0); // nothing is outstanding
}

TEST_CASE("wait: a limit of the caller's ends nothing, the connection's does", "[unit]")
{
    EACH_KIND(kind);
    if (kind.setup.synchronous)
        return;
    Server server;
    conn_opts.timeout_us = 1000;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER);
    rpm_completion done[8];
    uint64_t begin = server.now_ns;

    append(log, "one");
    conn.link->faults.stall_op = 1;
    REQUIRE(append_async(log, "two", 2) == 0);
    CHECK(wait_for(log, done, 8, 1, 300) == 0);
    CHECK(server.now_ns - begin >= 300000);
    CHECK(server.now_ns - begin < 600000);
    CHECK(conn.link->link.lost == 0);
    CHECK(wait_for(log, done, 8, 1, 0) == 0);
    // Short waits add up: at the fourth one the server has been silent for a millisecond.
    int n = 0;
    for (int i = 0; i < 4 && n == 0; i++)
        n = wait_for(log, done, 8, 1, 300);
    REQUIRE(n == 1);
    CHECK(done[0].status == RPM_E_TIMEDOUT);
    CHECK(server.now_ns - begin < 1500000);
    CHECK(wait_for(log, done, 8, 1, 300) == RPM_E_TIMEDOUT); // all completions were returned
    CHECK(wait_for(log, done, 8, 0, 300) == 0);
    CHECK(wait_for(log, done, 1, 2, 0) == RPM_E_INVAL);
}

TEST_CASE("wait: blocking appends in between have no completion", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER);
    rpm_completion done[8];

    REQUIRE(append_async(log, "one", 1) == 0);
    append(log, "two");
    REQUIRE(append_async(log, "three", 3) == 0);
    REQUIRE(wait_for(log, done, 2, 2, UINT64_MAX) == 2);
    CHECK(done[1].context == reinterpret_cast<void *>(3));
    CHECK(done[1].status == 0);
}

TEST_CASE("appendv: slices end up behind each other, in any number", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER);
    std::string big = payload(7, 900);
    rpm_slice three[4] = { { "one", 3 }, { nullptr, 0 }, { big.data(), big.size() }, { "!", 1 } };
    uint64_t lsn = 9;
    uint64_t next = 9;

    REQUIRE(rpm_log_appendv(log, three, 4, &lsn) == 0);
    REQUIRE(rpm_log_appendv_async(log, three, 1, RPM_MORE, nullptr, &next) == 0);
    CHECK(next > lsn);
    REQUIRE(rpm_log_appendv_async(log, &three[2], 2, 0, nullptr, nullptr) == 0);
    REQUIRE(rpm_log_persist(log) == 0);
    auto all = read_all(log);
    REQUIRE(all.size() == 3);
    CHECK(all[0].data == "one" + big + "!");
    CHECK(all[0].lsn == lsn);
    CHECK(all[1].data == "one");
    CHECK(all[2].data == big + "!");
    rpm_slice huge[2] = { { "x", SIZE_MAX }, { "x", 2 } };
    CHECK(rpm_log_appendv(log, three, 0, &lsn) == RPM_E_INVAL);
    CHECK(rpm_log_appendv(log, &three[1], 1, &lsn) == RPM_E_INVAL);
    CHECK(rpm_log_appendv(log, huge, 2, &lsn) == RPM_E_TOOBIG);
    CHECK(rpm_log_appendv_async(log, huge, 2, 0, nullptr, &lsn) == RPM_E_TOOBIG);
    CHECK(rpm_log_appendv_async(log, three, 4, 8, nullptr, &lsn) == RPM_E_INVAL);
    CHECK(read_all(log).size() == 3);
}
