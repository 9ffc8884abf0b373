// SPDX-License-Identifier: BSD-3-Clause
#include "support/rounds.h"
#include "unit/log/worker.h"

using namespace loop;

TEST_CASE("complete: each append completes once, in order, however slow the server is", "[unit]")
{
    EACH_KIND(kind);
    for (uint64_t seed : seeds(1, 20)) {
        rpm_log_opts opts = rpm_log_opts_init();
        Server server;
        Conn conn(server, kind.setup, &conn_opts);
        Log log;
        rpmi_rng rng;
        uint64_t sent = 0;
        uint64_t came = 0;

        CAPTURE(seed);
        rpmi_rng_seed(&rng, seed);
        opts.flags = WRITER;
        opts.capacity_bytes = 256 << 10;
        opts.inflight_max = static_cast<uint32_t>(1 + rpmi_rng_below(&rng, 40));
        REQUIRE(log.open(conn, "a", opts) == 0);
        conn.link->manual = !kind.setup.synchronous;
        conn.link->faults.take_most = static_cast<uint32_t>(rpmi_rng_below(&rng, 3));
        for (uint32_t turn = 0; turn < 20000 && came < 200; turn++) {
            uint64_t what = rpmi_rng_below(&rng, 5);

            if (what < 2 && sent < 200) {
                uint32_t flags = rpmi_rng_below(&rng, 3) == 0 ? RPM_MORE : 0;
                int err = append_async(log, payload(sent, 1 + sent % 300), sent, flags);

                REQUIRE((err == 0 || err == RPM_E_BUSY));
                sent += err == 0;
            } else if (what == 2) {
                conn.link->step();
            } else if (what == 3) {
                conn.link->hold++;
            } else if (turn % 97 == 0) {
                REQUIRE(rpm_log_persist(log) == 0);
            } else {
                for (const rpm_completion &done : reap(log, 1 + rpmi_rng_below(&rng, 9), 1)) {
                    REQUIRE(done.context == reinterpret_cast<void *>(came));
                    REQUIRE(done.status == 0);
                    came++;
                }
            }
        }
        CHECK(came == 200);
        conn.link->manual = false;
        CHECK(read_all(log).size() == 200);
    }
}

TEST_CASE("complete: a completion comes after the bytes are durable", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER);

    for (uint64_t i = 0; i < 30; i++) {
        uint64_t lsn;
        std::string data = payload(i, 50 + i);

        REQUIRE(append_async(log, data, i, i % 3 != 0 ? RPM_MORE : 0, &lsn) == 0);
        REQUIRE(rpm_log_persist(log) == 0);
        CHECK(memcmp(&server.pool.kept[36864 + 4096 + lsn + 24], data.data(), data.size()) == 0);
    }
}

TEST_CASE("complete: a poll without appends returns 0, one with too large a buffer is refused",
          "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    Log log(conn, "a", WRITER);
    Log reader(conn, "a", 0);
    rpm_completion done;

    CHECK(rpm_log_poll(log, nullptr, 0) == 0);
    CHECK(rpm_log_poll(log, &done, 1) == 0);
    CHECK(rpm_log_poll(reader, &done, 1) == 0);
    CHECK(rpm_log_poll(log, &done, 0x80000000u) == RPM_E_INVAL);
    CHECK(rpm_log_persist(reader) == 0);
    CHECK(rpm_log_persist(log) == 0);
}

TEST_CASE("complete: appends outstanding when the link is lost complete once, as lost", "[unit]")
{
    Kind kind = kinds()[1];
    rpm_conn_opts conn_opts = with_method(kind.method);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER);
    rpm_outcome outcomes[256];
    uint32_t count;

    conn.link->manual = true;
    for (uintptr_t i = 1; i <= 5; i++)
        REQUIRE(append_async(log, "abc", i) == 0);
    conn.link->step(), conn.link->step(); // the first one has completed
    conn.link->hold = 1;
    auto done = reap(log, 1, 5);
    REQUIRE(done.size() == 1);
    CHECK(done[0].status == 0);
    conn.link->drop();
    done = reap(log, 2, 5); // two of four
    done = reap(log, 0, 0);
    auto rest = reap(log, 10, 5);
    CHECK(rest.size() <= 4);
    for (const rpm_completion &one : rest)
        CHECK(one.status == RPM_E_LOST);
    CHECK(reap(log, 1, 5).empty());
    CHECK(rpm_log_persist(log) == RPM_E_LOST);
    CHECK(append_async(log, "x", 9) == RPM_E_LOST);
    conn.link->manual = false;
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    REQUIRE(rpm_log_resume(log, outcomes, 256, &count) == 0);
    CHECK(count == 4);
    CHECK(reap(log, 1, 5).empty());
    append(log, "y");
    CHECK(read_all(log).size() == 2);
}

TEST_CASE("complete: unknown completions not yet polled are outcomes only; good ones stay",
          "[unit]")
{
    Kind kind = kinds()[1];
    rpm_conn_opts conn_opts = with_method(kind.method);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER);
    rpm_outcome outcomes[256];
    uint32_t count;

    conn.link->manual = true;
    for (uintptr_t i = 1; i <= 3; i++)
        REQUIRE(append_async(log, "abc", i) == 0);
    conn.link->step(), conn.link->step();
    conn.link->hold = 1;
    rpm_completion none;
    CHECK(rpm_log_poll(log, &none, 0) == 0); // records the loss, and returns no completion
    conn.link->manual = false;
    conn.link->drop();
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    REQUIRE(rpm_log_resume(log, outcomes, 256, &count) == 0);
    REQUIRE(count == 2);
    CHECK(outcomes[0].context == reinterpret_cast<void *>(2));
    CHECK(outcomes[1].context == reinterpret_cast<void *>(3));
    auto done = reap(log, 3, 5);
    REQUIRE(done.size() == 1);
    CHECK(done[0].context == reinterpret_cast<void *>(1));
    CHECK(done[0].status == 0);
}

TEST_CASE("complete: if the server does not answer, a call ends at its deadline", "[unit]")
{
    EACH_KIND(kind);
    if (kind.setup.synchronous)
        return;
    Server server;
    conn_opts.timeout_us = 1000;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER);
    uint64_t begin = server.now_ns;
    rpm_outcome outcomes[256];
    uint32_t count;

    append(log, "one");
    conn.link->faults.stall_op = 1;
    CHECK(rpm_log_append(log, "two", 3, nullptr) == RPM_E_TIMEDOUT);
    CHECK(server.now_ns - begin < 1200000);
    CHECK(rpm_log_append(log, "three", 5, nullptr) == RPM_E_TIMEDOUT);
    CHECK(rpm_log_trim(log, 64) == RPM_E_TIMEDOUT);
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    REQUIRE(rpm_log_resume(log, outcomes, 256, &count) == 0);
    REQUIRE(count == 2);
    CHECK(outcomes[0].present == 0);
    CHECK(outcomes[1].present == 0);
    CHECK(read_all(log).size() == 1);
}
