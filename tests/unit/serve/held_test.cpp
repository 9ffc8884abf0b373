// SPDX-License-Identifier: BSD-3-Clause
// The engine while it holds lists that begin with a WATCH: it sleeps, and what wakes it.
#include "support/catch.h"
#include "support/server.h"

extern "C" {
#include "base/clock.h"
#include "conn/conn.h"
#include "serve/serve.h"
#include "transport/transport.h"
}
#include <algorithm>
#include <cstring>
#include <ctime>
#include <memory>
#include <thread>

namespace
{

const uint64_t NS_IN_MS = 1000000;

struct WatchClient {
    rpm_conn *conn = nullptr;
    rpm_region *words = nullptr;

    explicit WatchClient(const std::string &url)
    {
        rpm_region_opts opts = rpm_region_opts_init();

        REQUIRE(rpm_conn_open(url.c_str(), nullptr, &conn) == 0);
        opts.flags = RPM_REGION_CREATE | RPM_REGION_DRAM;
        opts.bytes = 256 << 10;
        opts.inflight_max = 64;
        REQUIRE(rpm_region_open(conn, "words", &opts, &words) == 0);
    }
    WatchClient(const WatchClient &) = delete;
    ~WatchClient()
    {
        rpm_region_close(&words);
        rpm_conn_close(&conn);
    }
    rpm_step watch(uint64_t wait_us) const
    {
        rpm_step step = {};

        step.kind = RPM_STEP_WATCH;
        step.region = words;
        step.operand = wait_us;
        return step;
    }
};

// A server whose engine runs here, to measure its CPU time.
class Measured
{
  public:
    Measured()
        : server(opts()), engine_([this] {
              (void)!rpm_server_engine(server.get());
              clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used_);
          })
    {
    }
    static support::ServerOpts opts()
    {
        support::ServerOpts opts;

        opts.threads = support::ServerOpts::kControl;
        opts.dram_bytes = 1 << 20;
        opts.listen = "tcp://127.0.0.1:0/pool";
        return opts;
    }
    std::string url(const std::string &kind) const
    {
        return kind == "tcp" ? server.listener_url() : server.url(kind);
    }
    uint64_t cpu_ns()
    {
        if (engine_.joinable()) {
            rpm_server_stop(server.get());
            engine_.join();
        }
        return static_cast<uint64_t>(used_.tv_sec) * 1000 * NS_IN_MS +
               static_cast<uint64_t>(used_.tv_nsec);
    }
    ~Measured()
    {
        cpu_ns();
    }

    support::Server server;

  private:
    timespec used_ = {};
    std::thread engine_;
};

} // namespace

TEST_CASE("watches: the engine sleeps while it holds a list, whatever else the client sends",
          "[unit]")
{
    std::string kind = GENERATE("ring", "tcp");
    uint32_t behind = GENERATE(0u, 1u, 40u); // more than the server has room to receive
    bool storing = GENERATE(false, true);
    CAPTURE(kind, behind, storing);
    Measured measured;
    std::vector<char> bytes(8192, 'x');
    std::unique_ptr<WatchClient> direct;
    {
        WatchClient client(measured.url(kind));
        rpm_step step = client.watch(300000);
        rpm_completion done[64];
        uint32_t got = 0;
        uint64_t until = rpmi_clock_ns() + 20000 * NS_IN_MS;

        if (storing)
            direct = std::make_unique<WatchClient>(measured.url("direct"));
        REQUIRE(rpm_steps_async(client.words, &step, 1, nullptr) == 0);
        for (uint32_t i = 0; i < behind; i++)
            REQUIRE(rpm_region_write_async(client.words, 8192, bytes.data(), bytes.size(),
                                           nullptr) == 0);
        while (got < behind + 1 && rpmi_clock_ns() < until) {
            int n = rpm_region_poll(client.words, done, 64);

            REQUIRE(n >= 0);
            got += static_cast<uint32_t>(n);
            if (n == 0)
                rpmi_clock_sleep_ns(NS_IN_MS);
        }
        CHECK(got == behind + 1);
        direct.reset();
    }
    CHECK(measured.cpu_ns() < 100 * NS_IN_MS); // of the 300 ms in which the list was held
}

TEST_CASE("watches: a store by a client's own CPU is noticed", "[unit]")
{
    support::Server server;
    WatchClient ring(server.url("ring"));
    WatchClient direct(server.url("direct"));
    uint64_t best = UINT64_MAX;

    for (uint64_t i = 0; i < 20; i++) {
        rpm_step step = ring.watch(1000000);
        rpm_completion done;
        uint64_t value = i + 1;
        int n = 0;

        step.expect = i;
        REQUIRE(rpm_steps_async(ring.words, &step, 1, nullptr) == 0);
        rpmi_clock_sleep_ns(2 * NS_IN_MS); // the engine sleeps
        uint64_t begin = rpmi_clock_ns();
        REQUIRE(rpm_region_write(direct.words, 0, &value, sizeof(value)) == 0);
        while (n == 0 && rpmi_clock_ns() - begin < 20000 * NS_IN_MS)
            n = rpm_region_poll(ring.words, &done, 1);
        REQUIRE(n == 1);
        CHECK(done.status == 0);
        CHECK(done.lsn == 1);
        best = std::min(best, rpmi_clock_ns() - begin);
    }
    CHECK(best < 100 * NS_IN_MS); // the time of the WATCH is a second
}

namespace
{

// A client of a table of locks that sends its own operations.
struct LockLink {
    rpmi_link *link = nullptr;
    unsigned char *staged = nullptr;
    uint32_t key = 0;

    explicit LockLink(const std::string &url)
    {
        rpmi_link_opts opts = {};
        rpmi_call call = {};
        rpmi_reply reply = {};

        opts.timeout_us = 20000000;
        opts.depth = 16;
        opts.staging_bytes = 4096;
        REQUIRE(rpmi_link_open(url.c_str(), &opts, &link) == 0);
        staged = static_cast<unsigned char *>(link->ops->stage(link, 256));
        call.kind = RPMI_CALL_OPEN;
        call.flags = RPMI_CALL_CREATE;
        call.object = RPM_KIND_LOCKS;
        call.bytes = 64;
        strcpy(call.name, "locks");
        REQUIRE(link->ops->call(link, &call, &reply, rpmi_clock_ns() + 20000 * NS_IN_MS) == 0);
        REQUIRE(reply.status == 0);
        key = reply.key;
    }
    LockLink(const LockLink &) = delete;
    ~LockLink()
    {
        link->ops->close(link);
    }
    void post(rpmi_op op) const
    {
        op.flags = RPMI_OP_SIGNALED;
        op.into = staged + 128;
        REQUIRE(link->ops->post(link, &op, 1) == 1);
    }
    void await() const
    {
        rpmi_done done = {};
        int n = 0;

        while (n == 0 && link->ops->wait(link, rpmi_clock_ns() + 20000 * NS_IN_MS) == 0)
            n = link->ops->poll(link, &done, 1);
        REQUIRE(n == 1);
        REQUIRE(done.status == 0);
    }
    uint64_t owned() const
    {
        return uint64_t{ link->client } << 32 | 1;
    }
    void take() const
    {
        rpmi_op op = {};

        op.kind = RPMI_OP_CAS;
        op.key = key;
        op.len = 8;
        op.operand = owned();
        post(op);
        await();
    }
    void watch(uint64_t expect) const
    {
        rpmi_step step = {};
        rpmi_op op = {};

        step.kind = RPMI_STEP_WATCH;
        step.len = 8;
        step.key = key;
        step.expect = expect;
        step.operand = RPMI_WATCH_US_MAX;
        op.kind = RPMI_OP_STEPS;
        op.len = 16;
        op.body = staged;
        op.body_bytes = rpmi_step_put(staged, &step);
        post(op);
    }
};

} // namespace

TEST_CASE("watches: a lock that the server frees wakes the client that watches it", "[unit]")
{
    support::ServerOpts opts;
    opts.flags = RPM_SERVER_NO_DIRECT; // so that the engine does not look at intervals
    support::Server server(opts);
    LockLink waiter(server.url("ring"));
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < 5; i++) {
        auto owner = std::make_unique<LockLink>(server.url("ring"));
        uint64_t word = 99;

        owner->take();
        waiter.watch(owner->owned());
        rpmi_clock_sleep_ns(5 * NS_IN_MS); // the engine sleeps
        uint64_t begin = rpmi_clock_ns();
        owner.reset();
        waiter.await();
        best = std::min(best, rpmi_clock_ns() - begin);
        memcpy(&word, waiter.staged + 128 + RPMI_STEPS_ANSWER_HEAD, sizeof(word));
        CHECK(word == 0);
    }
    CHECK(best < 500 * NS_IN_MS); // the time of the WATCH is a second
}
