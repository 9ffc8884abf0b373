// SPDX-License-Identifier: BSD-3-Clause
// append_test.cpp: asynchronous appends as <librpm/append.h> describes them, on every transport:
// outstanding appends share flushes, a single one is as fast as a blocking append, and each
// completes once.
#include "conform/fixture.h"

extern "C" {
#include "conn/conn.h"
}
#include <functional>
#include <librpm.h>

using namespace conform;

namespace
{

const uint32_t WINDOW = 32;

// A server, a connection to it, and a log on it. Payload and context of an asynchronous append are
// its number.
struct Client {
    std::unique_ptr<Server> server;
    rpm_conn *conn = nullptr;
    rpm_log *log = nullptr;
    uint64_t sent = 0; // asynchronous appends submitted
    uint64_t came = 0; // of these, completed

    explicit Client(const Setup &setup, uint32_t method = 0) : server(start_server(setup.server))
    {
        rpm_conn_opts opts = rpm_conn_opts_init();
        rpm_log_opts log_opts = rpm_log_opts_init();

        opts.timeout_us = 30000000;
        opts.method = method;
        conn = server->connect(setup.wrap, opts);
        log_opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
        log_opts.capacity_bytes = 128 << 10;
        REQUIRE(rpm_log_open(conn, server->name("log").c_str(), &log_opts, &log) == 0);
    }
    Client(const Client &) = delete;
    ~Client()
    {
        rpm_log_close(&log);
        rpm_conn_close(&conn);
    }
    static void *number(uint64_t n)
    {
        return reinterpret_cast<void *>(static_cast<uintptr_t>(n));
    }
    void append()
    {
        REQUIRE(rpm_log_append_async(log, &sent, sizeof(sent), 0, number(sent), nullptr) == 0);
        sent++;
    }
    // Checks the completions of one poll, which must come in order. Returns their number.
    int reap(int status = 0)
    {
        rpm_completion done[WINDOW];
        int n = rpm_log_poll(log, done, WINDOW);

        REQUIRE(n >= 0);
        for (int i = 0; i < n; i++) {
            REQUIRE(done[i].context == number(came++));
            REQUIRE(done[i].status == status);
        }
        return n;
    }
    // Appends that many more records, with at most @window of them outstanding.
    void pipeline(uint64_t n, uint32_t window)
    {
        for (uint64_t end = sent + n; came < end;) {
            while (sent < end && sent - came < window)
                append();
            reap();
        }
    }
    // Appends that many records by blocking calls of @batch records each.
    void blocking(uint64_t n, uint32_t batch)
    {
        std::vector<rpm_slice> slices(batch, rpm_slice{ &sent, sizeof(sent) });

        for (uint64_t i = 0; i < n; i += batch)
            REQUIRE((batch == 1 ? rpm_log_append(log, &sent, sizeof(sent), nullptr)
                                : rpm_log_append_batch(log, slices.data(), batch, nullptr)) == 0);
    }
    // The time that has passed at server and client; the model has one clock for both.
    uint64_t ns_of(const std::function<void()> &what)
    {
        uint64_t start = conn->link->ops->now_ns(conn->link);

        what();
        return conn->link->ops->now_ns(conn->link) - start;
    }
    std::vector<uint64_t> read()
    {
        std::vector<uint64_t> all;
        rpm_reader *reader = nullptr;
        rpm_record record;
        int found;

        REQUIRE(rpm_reader_open(log, nullptr, &reader) == 0);
        while ((found = rpm_reader_next(reader, &record)) == 1) {
            REQUIRE(record.len == sizeof(uint64_t));
            all.push_back(*static_cast<const uint64_t *>(record.data));
        }
        rpm_reader_close(&reader);
        REQUIRE(found == 0);
        return all;
    }
};

// The setups on the device model.
std::vector<Setup> models()
{
    std::vector<Setup> some;

    for (const Setup &setup : all_setups())
        if (setup.server.compare(0, 4, "sim ") == 0)
            some.push_back(setup);
    return some;
}

} // namespace

#define ON_EACH_SETUP()                                                                            \
    Setup setup = GENERATE(from_range(all_setups()));                                              \
    CAPTURE(setup.server, setup.wrap);                                                             \
    Client client(setup)

TEST_CASE("append: appends that are outstanding together share flushes", "[conform]")
{
    ON_EACH_SETUP();
    uint64_t before = client.conn->ended;

    client.pipeline(16 * WINDOW, WINDOW);
    CHECK(client.reap() == 0);
    if (!rpmi_conn_is_synchronous(client.conn)) {
        // Each completion of the connection is that of one flush, or of the operation that replaces
        // it. At best a flush serves WINDOW appends. But two flushes that are outstanding share the
        // window, and the first append of a burst has one of its own (lib/log/group.c): three times
        // as many are allowed.
        CHECK(client.conn->ended - before >= 16);
        CHECK(client.conn->ended - before <= 3 * 16);
    }
    std::vector<uint64_t> all = client.read();
    REQUIRE(all.size() == client.sent);
    for (uint64_t i = 0; i < all.size(); i++)
        REQUIRE(all[i] == i);
}

TEST_CASE("append: an append that is outstanding alone has its own flush", "[conform]")
{
    ON_EACH_SETUP();
    uint64_t before = client.conn->ended;

    client.pipeline(50, 1);
    if (!rpmi_conn_is_synchronous(client.conn))
        CHECK(client.conn->ended - before == 50);
    CHECK(client.read().size() == 50);
}

TEST_CASE("append: any mix of appends, polls and blocking calls completes", "[conform]")
{
    ON_EACH_SETUP();
    uint64_t seed = 7;

    for (int turn = 0; turn < 400; turn++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        switch (seed >> 61) {
        case 0:
            REQUIRE(rpm_log_persist(client.log) == 0);
            break;
        case 1:
        case 2:
            client.reap();
            break;
        default:
            client.append();
        }
    }
    while (client.came < client.sent)
        client.reap();
    CHECK(client.read().size() == client.sent);
}

TEST_CASE("append: a lost server completes each outstanding and each held append once", "[conform]")
{
    ON_EACH_SETUP();
    std::vector<rpm_outcome> outcomes(256);
    uint64_t acked;
    uint32_t count = 0;

    client.pipeline(3 * WINDOW, WINDOW);
    acked = client.came;
    for (uint32_t i = 0; i < WINDOW; i++)
        client.append();
    client.server->kill();
    if (rpmi_conn_is_synchronous(client.conn))
        return; // all have completed before
    uint64_t deadline = rpmi_conn_deadline(client.conn);
    while (client.came < client.sent) {
        rpm_completion done[WINDOW];
        int n = rpm_log_poll(client.log, done, WINDOW);

        REQUIRE(n >= 0);
        for (int i = 0; i < n; i++) {
            REQUIRE(done[i].context == Client::number(client.came++));
            acked += done[i].status == 0;
        }
        if (n == 0)
            REQUIRE(client.conn->link->ops->now_ns(client.conn->link) < deadline);
    }
    CHECK(client.reap() == 0);
    client.server->restart();
    REQUIRE(rpm_conn_reconnect(client.conn) == 0);
    REQUIRE(rpm_log_resume(client.log, outcomes.data(), 256, &count) == 0);
    REQUIRE(acked + count == client.sent);
    for (uint32_t i = 0; i < count; i++) {
        CHECK(outcomes[i].context == Client::number(acked + i));
        CHECK((outcomes[i].present == 0 || outcomes[i].present == 1));
    }
    CHECK(client.reap() == 0);
    CHECK(client.read().size() >= acked);
}

// Only on the device model, whose time other processes do not disturb. All rounds together take
// more room than the log has, so each ends with a trim.
TEST_CASE("append: many at a time take as long as a batch, one as long as a blocking append",
          "[conform]")
{
    Setup setup = GENERATE(from_range(models()));
    CAPTURE(setup.server, setup.wrap);
    Client client(setup);
    uint64_t batch = 0;
    uint64_t many = 0;
    uint64_t single = 0;
    uint64_t one = 0;

    client.pipeline(WINDOW, WINDOW);
    for (int round = 0; round < 20; round++) {
        struct rpm_log_info info = rpm_log_info_init();

        batch += client.ns_of([&] { client.blocking(4 * WINDOW, WINDOW); });
        client.pipeline(WINDOW, WINDOW);
        many += client.ns_of([&] { client.pipeline(4 * WINDOW, WINDOW); });
        single += client.ns_of([&] { client.blocking(64, 1); });
        client.pipeline(2, 1);
        one += client.ns_of([&] { client.pipeline(64, 1); });
        REQUIRE(rpm_log_info(client.log, &info) == 0);
        REQUIRE(rpm_log_trim(client.log, info.tail_lsn) == 0);
    }
    CAPTURE(batch, many, single, one);
    CHECK(many * 10 <= batch * 12);
    CHECK(one * 100 <= single * 105);
}

TEST_CASE("append: appends that wait for a flush leave an atomic's result alone", "[conform]")
{
    std::string wrap = GENERATE("", ",wrap=delay,delay_ns=500", ",wrap=delay,delay_ns=20000");
    CAPTURE(wrap);
    // A flush by READ stores a byte, which must not overwrite the atomic's result.
    Client client({ "sim eadr", wrap }, RPM_METHOD_READ);
    rpm_region_opts opts = rpm_region_opts_init();
    rpm_region *words = nullptr;
    auto close = [](rpm_region *region) { rpm_region_close(&region); };
    uint64_t expected = 0x5a5a5a5a5a5a5a5a;
    uint64_t found = 0;

    opts.flags = RPM_REGION_CREATE | RPM_REGION_DRAM;
    opts.bytes = 64;
    opts.level = RPM_VISIBLE;
    REQUIRE(rpm_region_open(client.conn, client.server->name("words").c_str(), &opts, &words) == 0);
    std::unique_ptr<rpm_region, decltype(close)> owner(words, close);
    REQUIRE(rpm_region_cas(words, 0, 0, expected, &found) == 0);
    for (uint32_t i = 0; i < 90; i++) {
        // The appends after the first one are held back. The wait for the atomic's result posts
        // their flush, whose READ completes before the result is read, or after it.
        for (uint32_t n = 0; n < 2 + i % 30; n++)
            client.append();
        REQUIRE(rpm_region_faa(words, 0, 1, &found) == 0);
        REQUIRE(found == expected++);
        while (client.came < client.sent)
            client.reap();
    }
}
