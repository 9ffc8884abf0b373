// SPDX-License-Identifier: BSD-3-Clause
// event_test.cpp: events as transport.h and <librpm/conn.h> describe them to a program with its own
// event loop, on every transport. The client here waits without a deadline of its own: only a bound
// far above any wake-up ends a wait, so a lost wake-up fails the test.
#include "conform/fixture.h"

extern "C" {
#include "base/clock.h"
#include "base/rng.h"
#include "conn/conn.h"
}
#include <cerrno>
#include <poll.h>
#include <sys/epoll.h>

using namespace conform;

namespace
{

const int SOON_MS = 30000; // a hundred times what anything here takes

struct EpollSet {
    int fd = epoll_create1(EPOLL_CLOEXEC);

    EpollSet()
    {
        REQUIRE(fd >= 0);
    }
    EpollSet(const EpollSet &) = delete;
    ~EpollSet()
    {
        close(fd);
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

// Arms the link and checks that no wake-up follows. rpm_conn_arm() allows spurious wake-ups: a
// server posts its answer first and checks afterwards whether the client sleeps, so a client that
// took the answer and went to sleep in between is woken once for it.
template <typename Arm> bool comes_to_rest(int fd, int by_ms, Arm &&arm)
{
    for (int early = 0; early < 3; early++) {
        if (arm() != 0)
            return false;
        if (!readable(fd, by_ms))
            return true;
    }
    return false;
}

// A link that is watched. Its epoll set is closed after the link.
struct Watched {
    EpollSet set;
    Context context;

    explicit Watched(const Setup &setup) : context(setup)
    {
        REQUIRE(context.ops->watch(context.link, set.fd) == 0);
    }
    int arm()
    {
        uint64_t by_ns = UINT64_MAX;
        int there = context.ops->arm(context.link, &by_ns);

        uint64_t now = context.now();

        by_ms = by_ns == UINT64_MAX ? SOON_MS
                : by_ns > now       ? static_cast<int>((by_ns - now) / 1000000) + 1
                                    : 0;
        return there;
    }
    // Sleeps until the descriptor is readable.
    void doze()
    {
        if (arm() == 1)
            return;
        REQUIRE((readable(set.fd, by_ms) || by_ms < SOON_MS));
    }
    // Polls until @n have completed. The status of the last one, or the loss.
    int reap(uint32_t n)
    {
        rpmi_done done[DEPTH];
        int status = 0;

        while (n > 0) {
            int got = context.ops->poll(context.link, done, DEPTH);

            if (got < 0)
                return got;
            REQUIRE(static_cast<uint32_t>(got) <= n);
            n -= static_cast<uint32_t>(got);
            if (got > 0)
                status = done[got - 1].status;
            else
                doze();
        }
        return status;
    }
    bool rests(int by_ms = 10)
    {
        return comes_to_rest(set.fd, by_ms, [this] { return arm(); });
    }
    int write_one()
    {
        rpmi_op op = context.write(0, 64);
        int taken = context.ops->post(context.link, &op, 1);

        if (taken != 1 || context.synchronous())
            return taken == 1 ? 0 : taken;
        return reap(1);
    }
    int by_ms = 0;
};

std::vector<Setup> with_events()
{
    std::vector<Setup> some;

    for (const Setup &setup : all_setups())
        if (setup.server.compare(0, 4, "sim ") != 0)
            some.push_back(setup);
    return some;
}

#define WITH_EVENTS()                                                                              \
    Setup setup = GENERATE(from_range(with_events()));                                             \
    CAPTURE(setup.server, setup.wrap);                                                             \
    Watched watched(setup);                                                                        \
    [[maybe_unused]] Context &context = watched.context

// A connection, and the log on it.
struct Client {
    std::unique_ptr<Server> server;
    rpm_conn *conn = nullptr;
    rpm_log *log = nullptr;
    int fd = -1;

    Client(const std::string &what, const std::string &wrap, uint64_t timeout_us = 30000000)
        : server(start_server(what))
    {
        rpm_conn_opts opts = rpm_conn_opts_init();
        rpm_log_opts log_opts = rpm_log_opts_init();

        opts.timeout_us = timeout_us;
        conn = server->connect(wrap, opts);
        log_opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
        log_opts.capacity_bytes = 128 << 10;
        log_opts.inflight_max = 16;
        REQUIRE(rpm_log_open(conn, server->name("log").c_str(), &log_opts, &log) == 0);
        fd = rpm_conn_fd(conn);
        REQUIRE(fd >= 0);
    }
    Client(const Client &) = delete;
    ~Client()
    {
        rpm_log_close(&log);
        rpm_conn_close(&conn);
    }
    int append()
    {
        return rpm_log_append_async(log, "record", 6, 0, nullptr, nullptr);
    }
    bool rests()
    {
        return comes_to_rest(fd, 10, [this] { return rpm_conn_arm(conn); });
    }
    // As an event loop does it: sleep and poll until @n have completed. The status of the last one.
    int complete(uint32_t n)
    {
        rpm_completion done[16];
        int status = 0;

        while (n > 0) {
            int there = rpm_conn_arm(conn);

            REQUIRE(there >= 0);
            if (there == 0)
                REQUIRE(readable(fd, SOON_MS));
            int got = rpm_log_poll(log, done, n < 16 ? n : 16);
            REQUIRE(got >= 0);
            n -= static_cast<uint32_t>(got);
            if (got > 0)
                status = done[got - 1].status;
        }
        return status;
    }
};

std::vector<std::string> servers_with_events()
{
    std::vector<std::string> some;

    for (const std::string &server : servers())
        if (server.compare(0, 4, "sim ") != 0)
            some.push_back(server);
    return some;
}

#define CLIENT(...)                                                                                \
    std::string what = GENERATE(from_range(servers_with_events()));                                \
    CAPTURE(what);                                                                                 \
    Client client(what, __VA_ARGS__)

} // namespace

TEST_CASE("event: a link to the model has no events and says why", "[conform]")
{
    const char *wrap = GENERATE("", ",wrap=trace+count+delay+fault");
    EpollSet set;
    SimServer model("adr");
    rpmi_link *link = nullptr;

    REQUIRE(model.connect(wrap, &link) == 0);
    CHECK(link->ops->watch(link, set.fd) == RPM_E_NOCAP);
    CHECK(std::string(rpm_last_error()).find("model") != std::string::npos);
    link->ops->close(link);
}

TEST_CASE("event: without an operation outstanding nothing wakes the client", "[conform]")
{
    WITH_EVENTS();

    CHECK(watched.rests(30));
    CHECK(context.link->lost == 0);
}

TEST_CASE("event: arming reports a completion that has come already", "[conform]")
{
    WITH_EVENTS();
    rpmi_op op = context.write(0, 64);
    rpmi_done done;

    if (context.synchronous())
        return; // the model has nothing to wait for
    REQUIRE(watched.arm() == 0);
    REQUIRE(context.ops->post(context.link, &op, 1) == 1);
    REQUIRE(context.ops->wait(context.link, context.now() + PATIENCE) == 0);
    REQUIRE(watched.arm() == 1);
    REQUIRE(watched.arm() == 1); // a second time
    REQUIRE(context.ops->poll(context.link, &done, 1) == 1);
    CHECK(watched.arm() == 0);
}

TEST_CASE("event: a completion wakes a sleeping client", "[conform]")
{
    WITH_EVENTS();

    for (int i = 0; i < 100; i++)
        REQUIRE(watched.write_one() == 0);
    CHECK(watched.rests());
}

TEST_CASE("event: a call in between does not break the next sleep", "[conform]")
{
    WITH_EVENTS();

    for (int i = 0; i < 20; i++) {
        uint32_t key;

        (void)watched.arm();
        REQUIRE(context.open("region", RPM_KIND_REGION, 0, &key) == 0);
        REQUIRE(watched.write_one() == 0);
    }
}

// Appends that wait for an outstanding flush are posted by rpm_conn_arm(), or by the next one after
// the flush has completed.
TEST_CASE("event: appends that wait for a flush never wait for ever", "[conform]")
{
    CLIENT("");
    rpm_completion done[16];
    rpmi_rng rng;
    uint32_t out = 0;

    rpmi_rng_seed(&rng, 11);
    for (int turn = 0; turn < 300; turn++) {
        for (uint64_t n = rpmi_rng_below(&rng, 17 - out); n > 0; n--, out++)
            REQUIRE(client.append() == 0);
        int there = rpm_conn_arm(client.conn);
        REQUIRE(there >= 0);
        if (there == 0 && out > 0)
            REQUIRE(readable(client.fd, SOON_MS));
        int got =
            rpm_log_poll(client.log, done, 1 + static_cast<uint32_t>(rpmi_rng_below(&rng, 16)));
        REQUIRE(got >= 0);
        for (int i = 0; i < got; i++)
            REQUIRE(done[i].status == 0);
        out -= static_cast<uint32_t>(got);
    }
    CHECK(client.complete(out) == 0);
}

// A record that no socket takes at once, and whose first part gets no answer.
TEST_CASE("event: an operation that found the queue full is posted once there is room", "[conform]")
{
    CLIENT("");
    rpm_region_opts opts = rpm_region_opts_init();
    std::vector<unsigned char> bytes(384 << 10, 7);
    rpm_region *region = nullptr;

    opts.flags = RPM_REGION_CREATE;
    opts.bytes = bytes.size();
    REQUIRE(rpm_region_open(client.conn, client.server->name("large").c_str(), &opts, &region) ==
            0);
    for (int i = 0; i < 20; i++) {
        rpm_completion done;
        int there;

        REQUIRE(rpm_region_write_async(region, 0, bytes.data(), bytes.size(), nullptr) == 0);
        while ((there = rpm_region_poll(region, &done, 1)) == 0) {
            there = rpm_conn_arm(client.conn);
            REQUIRE(there >= 0);
            if (there == 0)
                REQUIRE(readable(client.fd, SOON_MS));
        }
        REQUIRE(there == 1);
        CHECK(done.status == 0);
    }
    CHECK(client.rests()); // although the socket has room
    rpm_region_close(&region);
}

// Posts, polls and sleeps in random order.
TEST_CASE("event: no wake-up is lost, whether the completion or the sleep comes first", "[conform]")
{
    const uint64_t sizes[] = { 1, 64, 4096, 60000 };
    WITH_EVENTS();
    rpmi_rng rng;
    uint32_t out = 0;

    if (context.synchronous())
        return;
    rpmi_rng_seed(&rng, 42);
    for (int turn = 0; turn < 3000; turn++) {
        uint64_t len = sizes[rpmi_rng_below(&rng, turn % 16 == 0 ? 4 : 2)];
        rpmi_op op = rpmi_rng_below(&rng, 2) == 0 ? context.write(0, len) : context.read(0, len);

        if (out < DEPTH && rpmi_rng_below(&rng, 3) != 0) {
            int taken = context.ops->post(context.link, &op, 1);

            REQUIRE(taken >= 0);
            out += static_cast<uint32_t>(taken);
        }
        for (uint64_t spin = rpmi_rng_below(&rng, 400); spin > 0; spin--)
            __asm__ volatile("" ::: "memory");
        if (out > 0 && rpmi_rng_below(&rng, 2) == 0) {
            uint32_t n = 1 + static_cast<uint32_t>(rpmi_rng_below(&rng, out));
            rpmi_done done[DEPTH];

            watched.doze();
            int got = context.ops->poll(context.link, done, n);
            REQUIRE(got >= 0);
            for (int i = 0; i < got; i++)
                REQUIRE(done[i].status == 0);
            out -= static_cast<uint32_t>(got);
        }
    }
    REQUIRE(watched.reap(out) == 0);
}

TEST_CASE("event: the end of the server wakes a sleeping client", "[conform]")
{
    NEEDS_OWN_SERVER("it kills the server");
    WITH_EVENTS();

    REQUIRE(watched.arm() == 0);
    context.server->kill();
    REQUIRE(readable(watched.set.fd, SOON_MS));
    REQUIRE(watched.reap(1) == RPM_E_LOST);
    CHECK(watched.arm() == 1); // poll reports it again

    context.server->restart();
    REQUIRE(context.ops->reconnect(context.link, context.now() + PATIENCE) == 0);
    context.open_objects();
    CHECK(watched.rests()); // nothing of the old connection is left
    for (int i = 0; i < 20; i++)
        REQUIRE(watched.write_one() == 0);
}

TEST_CASE("event: a connection can be watched after it was lost", "[conform]")
{
    NEEDS_OWN_SERVER("it kills the server");
    Setup setup = GENERATE(from_range(with_events()));
    CAPTURE(setup.server, setup.wrap);
    EpollSet set;
    Context context(setup);
    uint64_t by_ns = UINT64_MAX;

    context.server->kill();
    CHECK(context.ops->reconnect(context.link, context.now() + SECOND / 100) != 0);
    REQUIRE(context.ops->watch(context.link, set.fd) == 0);
    CHECK(context.ops->arm(context.link, &by_ns) == 1);
    context.server->restart();
    REQUIRE(context.ops->reconnect(context.link, context.now() + PATIENCE) == 0);
    REQUIRE(context.ops->arm(context.link, &by_ns) == 0);
    context.server->kill();
    CHECK(readable(set.fd, SOON_MS));
}

TEST_CASE("event: a log is driven by its connection's descriptor", "[conform]")
{
    CLIENT("");
    uint32_t done = 0;

    for (uint32_t sent = 0; sent < 600;) {
        int err = client.append();

        if (err == RPM_E_BUSY) {
            REQUIRE(client.complete(8) == 0);
            done += 8;
            continue;
        }
        REQUIRE(err == 0);
        sent++;
    }
    REQUIRE(client.complete(600 - done) == 0);
    CHECK(client.rests());
    CHECK(rpm_conn_fd(client.conn) == client.fd);
}

TEST_CASE("event: a lost connection wakes, and keeps its descriptor", "[conform]")
{
    NEEDS_OWN_SERVER("it kills the server");
    CLIENT("");
    rpm_outcome outcomes[16];
    uint32_t unknown = 0;
    uint64_t lsn = 0;

    REQUIRE(client.append() == 0);
    REQUIRE(client.complete(1) == 0);
    REQUIRE(rpm_conn_arm(client.conn) == 0);
    client.server->kill();
    REQUIRE(readable(client.fd, SOON_MS));
    int there;
    while ((there = rpm_conn_arm(client.conn)) == 0)
        REQUIRE(readable(client.fd, SOON_MS));
    REQUIRE(there == RPM_E_LOST);

    client.server->restart();
    REQUIRE(rpm_conn_reconnect(client.conn) == 0);
    CHECK(rpm_conn_fd(client.conn) == client.fd);
    REQUIRE(rpm_log_resume(client.log, outcomes, 16, &unknown) == 0);
    REQUIRE(rpm_log_append(client.log, "again", 5, &lsn) == 0);
    REQUIRE(client.append() == 0);
    REQUIRE(client.complete(1) == 0);
    CHECK(client.rests());
}

// Only a timer can detect a peer that disappears without closing the connection.
TEST_CASE("event: the deadline wakes, and the connection is given up", "[conform]")
{
    CLIENT(",wrap=fault,fault_at=40,fault_kind=timeout", 700000);
    rpm_completion done = {};
    uint64_t began = 0;
    int there;

    if (rpmi_conn_is_synchronous(client.conn))
        return; // post() reports it
    while (done.status == 0) {
        while (client.append() == 0) // as many as the socket takes: the last ones are lost
            began = rpmi_clock_ns();
        there = rpm_conn_arm(client.conn);
        REQUIRE(there >= 0);
        if (there == 0)
            REQUIRE(readable(client.fd, SOON_MS));
        REQUIRE(rpm_log_poll(client.log, &done, 1) >= 0);
    }
    CHECK(done.status == RPM_E_TIMEDOUT);
    CHECK(rpmi_clock_ns() - began > 300000000);
    CHECK(rpmi_clock_ns() - began < PATIENCE);
    while (rpm_log_poll(client.log, &done, 1) == 1)
        CHECK(done.status == RPM_E_TIMEDOUT);
    CHECK(rpm_conn_arm(client.conn) == RPM_E_TIMEDOUT);
    REQUIRE(rpm_conn_reconnect(client.conn) == 0);
    CHECK(rpm_conn_arm(client.conn) == 0);
}
