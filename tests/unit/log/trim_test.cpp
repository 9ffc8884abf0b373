// SPDX-License-Identifier: BSD-3-Clause
#include "unit/log/kinds.h"

using namespace loop;

TEST_CASE("trim: to a record's start or the tail; lower than the head nothing happens", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 8192);
    std::vector<uint64_t> lsns;

    for (uint64_t i = 0; i < 10; i++)
        lsns.push_back(append(log, payload(i, 100)));
    for (uint64_t bad :
         { lsns[3] + 1, lsns[3] + 8, lsns[3] + 64, lsns[9] + 192, uint64_t(1) << 40, UINT64_MAX })
        CHECK(rpm_log_trim(log, bad) == RPM_E_RANGE);
    CHECK(info(log).head_lsn == 0);
    REQUIRE(rpm_log_trim(log, lsns[3]) == 0);
    CHECK(info(log).head_lsn == lsns[3]);
    CHECK(rpm_log_trim(log, lsns[1]) == 0);
    CHECK(rpm_log_trim(log, 1) == 0);
    CHECK(info(log).head_lsn == lsns[3]);
    CHECK(read_all(log).size() == 7);
    REQUIRE(rpm_log_trim(log, lsns[9] + 128) == 0);
    CHECK(read_all(log).empty());
    CHECK(append(log, "x") == lsns[9] + 128);
}

TEST_CASE("trim: a trim beyond acknowledged records is refused", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 8192);
    uint64_t lsn;

    append(log, "one");
    REQUIRE(append_async(log, "two", 2, RPM_MORE, &lsn) == 0);
    CHECK(rpm_log_trim(log, lsn + 64) == RPM_E_RANGE);
    CHECK(rpm_log_trim(log, lsn) == 0); // one is acknowledged
    REQUIRE(rpm_log_persist(log) == 0);
    CHECK(rpm_log_trim(log, lsn + 64) == 0);
}

TEST_CASE("trim: up to the oldest append that is not acknowledged, sent or not", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 8192);
    rpm_completion done;
    uint64_t lsns[3];

    append(log, "x");
    // If appends share flushes, the third one waits for one of the two outstanding ones.
    conn.link->manual = true;
    for (int i = 0; i < 3; i++) {
        REQUIRE(append_async(log, "yz", uintptr_t(i), 0, &lsns[i]) == 0);
        CHECK(rpm_log_poll(log, &done, 1) == (kind.setup.synchronous ? 1 : 0));
    }
    while (conn.link->step()) // both flushes have completed when the trim polls
        ;
    conn.link->manual = false;
    CHECK(rpm_log_trim(log, lsns[2]) == 0);
    CHECK(info(log).head_lsn == lsns[2]);
    REQUIRE(rpm_log_persist(log) == 0);
    CHECK(read_all(log).size() == 1);
}

TEST_CASE("trim: a reader finds record boundaries, the start of a pad frame included", "[unit]")
{
    Setup setup = synchronous();
    Server server;

    setup.line_bytes = 256;
    Conn conn(server, setup);
    Log log(conn, "a", WRITER, 8192);
    Log reader(conn, "a", 0);
    rpm_reader *from = nullptr;
    rpm_record record;

    append(log, "small");         // 0 .. 64
    append(log, payload(1, 300)); // pad to 256, record to 768
    append(log, "small");         // 768
    CHECK(rpm_log_trim(reader, 128) == RPM_E_RANGE);
    CHECK(rpm_log_trim(reader, 832 + 64) == RPM_E_RANGE);
    REQUIRE(rpm_reader_open(reader, nullptr, &from) == 0);
    REQUIRE(rpm_reader_next(from, &record) == 1);
    CHECK(record.next_lsn == 64);
    CHECK(rpm_log_trim(reader, record.next_lsn) == 0); // trim all that was read
    REQUIRE(rpm_reader_next(from, &record) == 1);
    CHECK(record.lsn == 256);
    CHECK(rpm_log_trim(reader, record.next_lsn) == 0);
    REQUIRE(rpm_reader_next(from, &record) == 1);
    CHECK(rpm_log_trim(reader, record.next_lsn) == 0);
    CHECK(info(reader).head_lsn == 832);
    CHECK(rpm_reader_next(from, &record) == 0);
    rpm_reader_close(&from);
    append(log, "more");
    CHECK(read_all(reader).size() == 1);
}

TEST_CASE("trim: an old frame inside what a pad frame skips is no boundary", "[unit]")
{
    Setup setup = synchronous();
    Server server;

    setup.line_bytes = 256;
    Conn conn(server, setup);
    {
        Log log(conn, "a", WRITER, 8192);

        append(log, "0");
        for (const char *data : { "64", "128: left behind", "192" })
            REQUIRE(append_async(log, data, 0, RPM_MORE) == 0);
        REQUIRE(rpm_log_persist(log) == 0);
    }
    server.pool.bytes[36864 + 4096 + 64 + 25] ^= 1;
    {
        Log log(conn, "a", RPM_LOG_WRITE);

        CHECK(append(log, payload(1, 300)) == 256); // a pad frame over 64 .. 256
        CHECK(rpm_log_trim(log, 128) == RPM_E_RANGE);
    }
    Log log(conn, "a", RPM_LOG_WRITE);
    CHECK(rpm_log_trim(log, 128) == RPM_E_RANGE);
    CHECK(rpm_log_trim(log, 256) == 0);
    CHECK(read_all(log).size() == 1);
}

TEST_CASE("trim: the new head is durable when it is answered", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 4096);

    for (int i = 0; i < 64; i++)
        append(log, "x");
    REQUIRE(rpm_log_trim(log, 64 * 40) == 0);
    append(log, "y");
    log.close();
    server.power_cut();
    REQUIRE(server.start() == 0);
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    Log after(conn, "a", RPM_LOG_WRITE);
    CHECK(info(after).head_lsn == 64 * 40);
    CHECK(info(after).records == 25);
}

TEST_CASE("trim: if the server cannot make the head durable, the trim fails and nothing is reused",
          "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    Log log(conn, "a", WRITER, 4096);

    for (int i = 0; i < 64; i++)
        append(log, "x");
    server.pool.fail_persist_at = 1;
    CHECK(rpm_log_trim(log, 640) == RPM_E_IO);
}

TEST_CASE("trim: lost at each step", "[unit]")
{
    EACH_KIND(kind);
    for (uint64_t at = 1; at <= 4; at++) {
        Server server;
        Conn conn(server, kind.setup, &conn_opts);
        Log log(conn, "a", WRITER, 4096);
        rpm_outcome outcomes[256];
        uint32_t count;

        for (int i = 0; i < 64; i++)
            append(log, "x");
        if (at <= 2) {
            conn.link->faults.lose_call = 1;
            conn.link->faults.lose_reply = at == 2;
        } else if (at == 3) {
            conn.link->faults.stall_call = 1;
        } else {
            conn.link->faults.lose_op = 1;
        }
        CHECK(rpm_log_trim(log, 640) == (at == 3 ? RPM_E_TIMEDOUT : RPM_E_LOST));
        REQUIRE(rpm_conn_reconnect(conn) == 0);
        REQUIRE(rpm_log_resume(log, outcomes, 256, &count) == 0);
        CHECK(count == 0);
        CHECK(info(log).head_lsn == (at == 2 ? 640 : 0));
        CHECK(read_all(log).size() == (at == 2 ? 54 : 64));
    }
}

TEST_CASE("trim: a writer that is fenced while it looks for a boundary gets RPM_E_FENCED", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Conn other_conn(server, kind.setup, &conn_opts);
    std::vector<uint64_t> lsns;
    {
        Log first(conn, "a", WRITER, 16384);

        for (uint64_t i = 0; i < 40; i++)
            lsns.push_back(append(first, payload(i, 200)));
    }
    Log log(conn, "a", WRITER);
    Log other;
    uint32_t reads = 0;

    CHECK(rpm_log_trim(log, lsns[20] + 64) == RPM_E_RANGE);
    CHECK(std::string(rpm_last_error()).find("no record starts at") != std::string::npos);
    conn.link->peeks = false;
    conn.link->on_op = [&](const rpmi_op &op) {
        rpm_log_opts opts = rpm_log_opts_init();

        if (op.kind != RPMI_OP_READ || ++reads != 2) // of the head, then of the ring
            return;
        opts.flags = RPM_LOG_WRITE | RPM_LOG_TAKEOVER;
        REQUIRE(other.open(other_conn, "a", opts) == 0);
        REQUIRE(rpm_log_trim(other, info(other).tail_lsn) == 0);
        for (uint64_t i = 0; i < 30; i++)
            append(other, payload(i, 333));
    };
    CHECK(rpm_log_trim(log, lsns[20]) == RPM_E_FENCED);
    conn.link->on_op = nullptr;
    CHECK(reads >= 2);
}
