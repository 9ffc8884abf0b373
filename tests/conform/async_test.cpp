// SPDX-License-Identifier: BSD-3-Clause
// async_test.cpp: asynchronous reads, writes and atomics as <librpm/region_async.h> describes them,
// on every transport: many outstanding, a lost link, and an event loop that waits for them.
#include "conform/fixture.h"

extern "C" {
#include "base/clock.h"
#include "base/rng.h"
#include "conn/conn.h"
}
#include <librpm.h>
#include <poll.h>

using namespace conform;

namespace
{

const uint64_t BYTES = 512 << 10; // the maximum length of one operation

// A connection, and a DRAM region and a persistent one.
struct Client {
    std::unique_ptr<Server> server;
    rpm_conn *conn = nullptr;
    rpm_region *rows = nullptr;
    rpm_region *words = nullptr;

    explicit Client(const Setup &setup, uint32_t pace = 0) : server(start_server(setup.server))
    {
        rpm_conn_opts opts = rpm_conn_opts_init();

        opts.timeout_us = 30000000;
        opts.pace = pace;
        conn = server->connect(setup.wrap, opts);
        open();
    }
    Client(const Client &) = delete;
    ~Client()
    {
        close();
        rpm_conn_close(&conn);
    }
    void open()
    {
        rpm_region_opts opts = rpm_region_opts_init();

        opts.flags = RPM_REGION_CREATE;
        opts.bytes = BYTES;
        opts.inflight_max = 32;
        REQUIRE(rpm_region_open(conn, server->name("rows").c_str(), &opts, &rows) == 0);
        opts.flags |= RPM_REGION_DRAM;
        opts.bytes = 4096;
        REQUIRE(rpm_region_open(conn, server->name("words").c_str(), &opts, &words) == 0);
    }
    void close()
    {
        rpm_region_close(&rows);
        rpm_region_close(&words);
    }
    // Polls until @n have completed; their statuses. Fails the test if the contexts are out of
    // order.
    std::vector<int> reap(rpm_region *region, uint64_t first, uint64_t n)
    {
        std::vector<int> all;

        while (all.size() < n) {
            rpm_completion done[8];
            int got = rpm_region_poll(region, done, 8);

            REQUIRE(got >= 0);
            for (int i = 0; i < got; i++) {
                REQUIRE(done[i].context == number(first + all.size()));
                all.push_back(done[i].status);
            }
        }
        return all;
    }
    static void *number(uint64_t n)
    {
        return reinterpret_cast<void *>(static_cast<uintptr_t>(n));
    }
};

bool readable(int fd, int ms)
{
    pollfd entry = { fd, POLLIN, 0 };
    int n;

    while ((n = poll(&entry, 1, ms)) < 0)
        REQUIRE(errno == EINTR);
    return n == 1;
}

// Declared after the buffers of operations: closing the client's connection may still write to
// them.
#define ON_EACH_SETUP()                                                                            \
    Setup setup = GENERATE(from_range(all_setups()));                                              \
    CAPTURE(setup.server, setup.wrap);                                                             \
    Client client(setup)

} // namespace

TEST_CASE("async: many operations complete in order, each with its own context", "[conform]")
{
    unsigned char got[16][3000];
    uint64_t found[16];
    ON_EACH_SETUP();
    const uint64_t rounds = setup.server.compare(0, 5, "verbs") == 0 ? 3 : 20;
    std::vector<unsigned char> bytes(BYTES);

    for (size_t i = 0; i < bytes.size(); i++)
        bytes[i] = static_cast<unsigned char>(i * 7 + i / 251);
    REQUIRE(rpm_region_write(client.rows, 0, bytes.data(), bytes.size()) == 0);
    for (uint64_t round = 0; round < rounds; round++) {
        for (uint64_t i = 0; i < 16; i++) {
            uint64_t at = round * 1013 + i * 3001;

            REQUIRE(rpm_region_read_async(client.rows, at, got[i], 3000, Client::number(i)) == 0);
            REQUIRE(rpm_region_faa_async(client.words, 8, 1, &found[i], Client::number(i)) == 0);
        }
        for (int status : client.reap(client.rows, 0, 16))
            REQUIRE(status == 0);
        for (int status : client.reap(client.words, 0, 16))
            REQUIRE(status == 0);
        for (uint64_t i = 0; i < 16; i++) {
            REQUIRE(memcmp(got[i], &bytes[round * 1013 + i * 3001], 3000) == 0);
            REQUIRE(found[i] == round * 16 + i);
        }
    }
}

TEST_CASE("async: an operation of the maximum length, and compare-and-swaps that fail", "[conform]")
{
    std::vector<unsigned char> bytes(BYTES, 5);
    std::vector<unsigned char> got(BYTES);
    uint64_t found[3] = { 9, 9, 9 };
    ON_EACH_SETUP();

    REQUIRE(rpm_region_write_async(client.rows, 0, bytes.data(), BYTES, nullptr) == 0);
    CHECK(client.reap(client.rows, 0, 1)[0] == 0);
    REQUIRE(rpm_region_read_async(client.rows, 0, got.data(), BYTES, nullptr) == 0);
    CHECK(client.reap(client.rows, 0, 1)[0] == 0);
    CHECK(got == bytes);
    REQUIRE(rpm_region_cas_async(client.words, 0, 0, 4, &found[0], Client::number(0)) == 0);
    REQUIRE(rpm_region_cas_async(client.words, 0, 0, 5, &found[1], Client::number(1)) == 0);
    REQUIRE(rpm_region_cas_async(client.words, 0, 4, 6, &found[2], Client::number(2)) == 0);
    CHECK(client.reap(client.words, 0, 3) == std::vector<int>(3, 0));
    CHECK(found[0] == 0);
    CHECK(found[1] == 4);
    CHECK(found[2] == 4);
}

TEST_CASE("async: the end of the server completes each operation once", "[conform]")
{
    NEEDS_OWN_SERVER("it kills the server");
    unsigned char got[16][64];
    uint64_t found[16];
    ON_EACH_SETUP();
    uint64_t sent = 0;

    REQUIRE(rpm_region_write(client.rows, 0, "before", 6) == 0);
    for (; sent < 8; sent++) {
        REQUIRE(rpm_region_read_async(client.rows, 0, got[sent], 64, Client::number(sent)) == 0);
        REQUIRE(rpm_region_faa_async(client.words, 0, 1, &found[sent], Client::number(sent)) == 0);
    }
    client.server->kill();
    while (sent < 16 &&
           rpm_region_read_async(client.rows, 0, got[sent], 64, Client::number(sent)) == 0 &&
           rpm_region_faa_async(client.words, 0, 1, &found[sent], Client::number(sent)) == 0)
        sent++;
    std::vector<int> reads = client.reap(client.rows, 0, sent);
    for (uint64_t i = 0; i < sent; i++) {
        CHECK((reads[i] == 0 || reads[i] == RPM_E_LOST));
        if (reads[i] == 0)
            CHECK(memcmp(got[i], "before", 6) == 0);
    }
    for (int status : client.reap(client.words, 0, sent))
        CHECK((status == 0 || status == RPM_E_LOST));
    CHECK(rpm_region_read_async(client.rows, 0, got[0], 64, nullptr) == RPM_E_LOST);
    client.close();
    client.server->restart();
    REQUIRE(rpm_conn_reconnect(client.conn) == 0);
    client.open();
    REQUIRE(rpm_region_read_async(client.rows, 0, got[0], 64, Client::number(0)) == 0);
    CHECK(client.reap(client.rows, 0, 1)[0] == 0);
}

TEST_CASE("async: an event loop is woken for each completion", "[conform]")
{
    unsigned char got[64];
    uint64_t found = 0;
    ON_EACH_SETUP();
    if (setup.server.compare(0, 4, "sim ") == 0)
        return; // the model has no events
    const int rounds = setup.server.compare(0, 5, "verbs") == 0 ? 20 : 200;
    rpmi_rng rng;
    int fd = rpm_conn_fd(client.conn);

    REQUIRE(fd >= 0);
    rpmi_rng_seed(&rng, 1);
    for (int i = 0; i < rounds; i++) {
        rpm_region *region = client.rows;
        rpm_completion done;
        int err;

        if (rpmi_rng_below(&rng, 2) == 0) {
            err = rpm_region_read_async(client.rows, 0, got, sizeof(got), nullptr);
        } else {
            region = client.words;
            err = rpm_region_faa_async(client.words, 0, 1, &found, nullptr);
        }
        REQUIRE(err == 0);
        while (rpm_region_poll(region, &done, 1) == 0) {
            int there = rpm_conn_arm(client.conn);

            REQUIRE(there >= 0);
            if (there == 0)
                REQUIRE(readable(fd, 10000));
        }
        REQUIRE(done.status == 0);
    }
    REQUIRE(rpm_region_faa_async(client.words, 0, 1, &found, nullptr) == 0);
    if (rpmi_conn_is_synchronous(client.conn))
        CHECK(rpm_conn_arm(client.conn) == 1); // a completion that has arrived is an event
}

namespace
{

// The difference that an append or a write by this method makes in the connection's counters.
struct Traces {
    uint64_t reads;
    uint64_t flushes;
};

Traces traces_of(uint32_t method, uint64_t n)
{
    if (method == RPM_METHOD_READ)
        return { n, 0 };
    if (method == RPM_METHOD_COPY || method == RPM_METHOD_IMMEDIATE)
        return { 0, 0 };
    return { 0, n };
}

Traces counted(rpm_conn *conn)
{
    struct rpm_conn_stats stats = rpm_conn_stats_init();

    REQUIRE(rpm_conn_stats(conn, &stats) == 0);
    return { stats.reads, stats.flushes };
}

template <typename Work> void check_traces(rpm_conn *conn, uint32_t method, Work work)
{
    const uint64_t n = 5;
    Traces before = counted(conn);

    for (uint64_t i = 0; i < n; i++)
        REQUIRE(work() == 0);
    Traces after = counted(conn);
    Traces wanted = traces_of(method, n);
    CHECK(after.reads - before.reads == wanted.reads);
    CHECK(after.flushes - before.flushes == wanted.flushes);
}

} // namespace

TEST_CASE("async: each object of a connection has the method that it was opened with", "[conform]")
{
    Setup setup = GENERATE(from_range(all_setups()));
    CAPTURE(setup.server, setup.wrap);
    Client client(setup);
    const rpm_facts &facts = rpmi_conn_link(client.conn)->facts;

    for (uint32_t method = 1; method < RPM_METHOD_COUNT; method++) {
        bool can = (facts.methods & 1u << method) != 0 &&
                   rpm_legal(&facts, static_cast<rpm_method>(method), RPM_DURABLE, nullptr) != 0;
        rpm_region_opts opts = rpm_region_opts_init();
        rpm_log_opts log_opts = rpm_log_opts_init();
        rpm_region *region = nullptr;
        rpm_log *log = nullptr;

        CAPTURE(rpm_method_name(static_cast<rpm_method>(method)));
        opts.flags = RPM_REGION_CREATE;
        opts.bytes = 4096;
        opts.method = method;
        log_opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
        log_opts.capacity_bytes = 8192;
        log_opts.staging_bytes = 64 << 10;
        CHECK(rpm_region_open(client.conn, client.server->name("own").c_str(), &opts, &region) ==
              (can ? 0 : RPM_E_NOCAP));
        log_opts.method = method;
        CHECK(rpm_log_open(client.conn, client.server->name("log").c_str(), &log_opts, &log) ==
              (can ? 0 : RPM_E_NOCAP));
        if (can) {
            check_traces(client.conn, method, [&] { return rpm_region_write(region, 0, "x", 1); });
            // The last object has the connection's method.
            REQUIRE(rpm_region_write(client.rows, 0, "y", 1) == 0);
            check_traces(client.conn, method,
                         [&] { return rpm_log_append(log, "record", 6, nullptr); });
        }
        rpm_region_close(&region);
        rpm_log_close(&log);
    }
}

TEST_CASE("async: pieces in one completion, between other operations", "[conform]")
{
    char got[4][8] = {};
    ON_EACH_SETUP();

    for (uint64_t round = 0; round < 3; round++) {
        std::string mark = std::to_string(1000 + round);
        rpm_patch patches[4] = { { 0, mark.data(), 4, 0 },
                                 { 4096, mark.data(), 4, 0 },
                                 { 70000, mark.data(), 4, 0 },
                                 { 4104, mark.data(), 4, RPM_PATCH_AFTER } };

        REQUIRE(rpm_region_write_async(client.rows, 8192, "x", 1, Client::number(0)) == 0);
        REQUIRE(rpm_region_writev_async(client.rows, patches, 4, Client::number(1)) == 0);
        REQUIRE(rpm_region_write_async(client.rows, 8192, "y", 1, Client::number(2)) == 0);
        CHECK(client.reap(client.rows, 0, 3) == std::vector<int>(3, 0));
        for (int i = 0; i < 4; i++) {
            REQUIRE(rpm_region_read(client.rows, patches[i].offset, got[i], 4) == 0);
            CHECK(std::string(got[i], 4) == mark);
        }
    }
    rpm_patch outside[2] = { { 0, "no", 2, 0 }, { BYTES, "x", 1, 0 } };
    CHECK(rpm_region_writev_async(client.rows, outside, 2, nullptr) == RPM_E_RANGE);
    REQUIRE(rpm_region_read(client.rows, 0, got[0], 4) == 0);
    CHECK(std::string(got[0], 4) == "1002");
}

TEST_CASE("async: messages and bytes are counted, on links that send any", "[conform]")
{
    ON_EACH_SETUP();
    const uint64_t len = 1000;
    std::vector<unsigned char> bytes(len, 7);
    struct rpm_conn_stats before = rpm_conn_stats_init();
    struct rpm_conn_stats now = rpm_conn_stats_init();

    REQUIRE(rpm_conn_stats(client.conn, &before) == 0);
    REQUIRE(rpm_region_write_async(client.rows, 0, bytes.data(), len, Client::number(0)) == 0);
    REQUIRE(client.reap(client.rows, 0, 1) == std::vector<int>{ 0 });
    REQUIRE(rpm_region_read_async(client.rows, 0, bytes.data(), len, Client::number(1)) == 0);
    REQUIRE(client.reap(client.rows, 1, 1) == std::vector<int>{ 0 });
    REQUIRE(rpm_conn_stats(client.conn, &now) == 0);
    if (rpmi_conn_is_synchronous(client.conn)) {
        CHECK(now.messages == 0);
        CHECK(now.sent_bytes == 0);
        CHECK(now.received_bytes == 0);
        return;
    }
    CHECK(now.messages - before.messages >= 2);
    CHECK(now.messages - before.messages <= 8); // the kernel may take a send in parts
    CHECK(now.sent_bytes - before.sent_bytes >= len);
    CHECK(now.sent_bytes - before.sent_bytes < len + 512);
    CHECK(now.received_bytes - before.received_bytes >= len);
    CHECK(now.received_bytes - before.received_bytes < len + 512);
}

TEST_CASE("async: a gathering connection sends and receives only in rpm_conn_turn()", "[conform]")
{
    Setup setup = GENERATE(from_range(all_setups()));
    CAPTURE(setup.server, setup.wrap);
    Client client(setup, RPM_PACE_GATHER);
    const uint64_t many = 16;
    struct rpm_conn_stats before = rpm_conn_stats_init();
    struct rpm_conn_stats now = rpm_conn_stats_init();
    std::vector<uint64_t> found(many, 99);
    rpm_completion done[many];
    uint64_t ended = 0;
    uint64_t deadline = rpmi_clock_ns() + PATIENCE;

    REQUIRE(rpm_conn_stats(client.conn, &before) == 0);
    for (uint64_t i = 0; i < many; i++)
        REQUIRE(rpm_region_faa_async(client.words, 8, 1, &found[i], Client::number(i)) == 0);
    REQUIRE(rpm_conn_stats(client.conn, &now) == 0);
    if (rpmi_conn_is_synchronous(client.conn)) {
        CHECK(rpm_region_poll(client.words, done, many) == static_cast<int>(many));
        return;
    }
    if (setup.server.compare(0, 3, "tcp") == 0 || setup.server.compare(0, 4, "unix") == 0)
        CHECK(now.messages == before.messages);
    CHECK(rpm_region_poll(client.words, done, many) == 0); // receives all replies that have arrived
    while (ended < many && rpmi_clock_ns() < deadline) {
        REQUIRE(rpm_conn_turn(client.conn) == 0);
        ended += static_cast<uint64_t>(rpm_region_poll(client.words, done, many));
    }
    REQUIRE(ended == many);
    for (uint64_t i = 0; i < many; i++)
        CHECK(found[i] == i);
    REQUIRE(rpm_conn_stats(client.conn, &now) == 0);
    if (setup.server.compare(0, 3, "tcp") == 0 || setup.server.compare(0, 4, "unix") == 0)
        CHECK(now.messages == before.messages + 1);
    // A blocking call sends and receives by itself.
    uint64_t word = 0;

    REQUIRE(rpm_region_faa_async(client.words, 8, 1, &word, nullptr) == 0);
    REQUIRE(rpm_region_read(client.words, 8, &word, sizeof(word)) == 0);
    CHECK(word >= many);
}
