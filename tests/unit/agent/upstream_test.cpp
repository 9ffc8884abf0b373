// SPDX-License-Identifier: BSD-3-Clause
// Orders of several clients become one list, whose answer is parted among them.
#include "support/catch.h"
#include "support/server.h"

extern "C" {
#include "agent/upstream.h"
#include "base/clock.h"
#include "serve/serve.h"
#include "wire/certificate.h"
}
#include <cstring>
#include <sys/epoll.h>

namespace
{

// A front without threads, whose clients the test plays, and a server that serves.
struct Bench {
    support::Server server{ declaring() };
    support::Server front_server{ without_threads() };
    rpm_server *front = front_server.get();
    rpmi_upstream upstream = {};
    uint64_t now_ns = 0; // of the turns in which clients wait

    Bench()
    {
        REQUIRE(rpmi_orders_open(front) == 0);
        upstream.front = front;
        upstream.timeout_us = 5000000;
        upstream.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        strcpy(upstream.url, server.url("ring").c_str());
        REQUIRE(rpmi_upstream_dial(&upstream) == 0);
    }
    Bench(const Bench &) = delete;
    ~Bench()
    {
        rpmi_upstream_close(&upstream);
        close(upstream.epoll_fd);
    }
    static support::ServerOpts declaring()
    {
        support::ServerOpts opts;

        opts.agents = "carrier";
        return opts;
    }
    void redial(const char *name)
    {
        rpmi_upstream_close(&upstream);
        strcpy(upstream.name, name);
        REQUIRE(rpmi_upstream_dial(&upstream) == 0);
    }
    static support::ServerOpts without_threads()
    {
        support::ServerOpts opts;

        opts.bytes = 1 << 20;
        opts.threads = support::ServerOpts::kNone;
        return opts;
    }
};

// A client with one list, of @n PROVEs of a log that is not there.
struct Client {
    Bench &bench;
    uint32_t id;
    uint32_t n;
    unsigned char list[RPMI_STEPS_BYTES];
    unsigned char answer[RPMI_STEPS_BYTES];
    uint32_t bytes = 0;

    Client(Bench &of, uint32_t number, uint32_t proves) : bench(of), id(number), n(proves)
    {
        for (uint32_t i = 0; i < n; i++) {
            rpmi_step step = {};

            step.kind = RPMI_STEP_PROVE;
            step.len = RPMI_CERTIFICATE_BYTES;
            step.log_id = 12345;
            step.end_lsn = 64;
            step.epoch = 1;
            bytes += rpmi_step_put(list + bytes, &step);
        }
    }
    // A CARRY in front, of a log that is not there.
    void carry(uint16_t len)
    {
        unsigned char behind[RPMI_STEPS_BYTES];
        rpmi_step step = {};

        memcpy(behind, list, bytes);
        step.kind = RPMI_STEP_CARRY;
        step.len = len;
        step.data = answer;
        uint32_t more = rpmi_step_put(list, &step);
        memcpy(list + more, behind, bytes);
        bytes += more;
    }
    int ask()
    {
        rpmi_op op = {};

        op.kind = RPMI_OP_STEPS;
        op.body = list;
        op.body_bytes = bytes;
        op.into = answer;
        op.len = RPMI_STEPS_ANSWER_HEAD + n * RPMI_CERTIFICATE_BYTES;
        rpmi_serve_lock(bench.front);
        int err = rpmi_orders_do(bench.front, id, &op);
        rpmi_serve_unlock(bench.front);
        return err;
    }
    // Turns until its list is answered; the status of each certificate, which is the same.
    int status()
    {
        static const uint64_t key[RPMI_CERTIFICATE_KEY_WORDS] = {};
        rpmi_certificate certificate;
        uint64_t until_ns = rpmi_clock_ns() + 10000000000;
        int err = RPMI_HELD;
        int found = 0;

        while ((err = ask()) == RPMI_HELD && rpmi_clock_ns() < until_ns)
            rpmi_upstream_turn(&bench.upstream, bench.now_ns);
        REQUIRE(err == 0);
        for (uint32_t i = 0; i < n; i++)
            found = rpmi_certificate_get(
                answer + RPMI_STEPS_ANSWER_HEAD + i * RPMI_CERTIFICATE_BYTES, key, &certificate);
        return found;
    }
};

} // namespace

TEST_CASE("upstream: orders that wait share a list, and each gets its answer", "[unit][agent]")
{
    Bench bench;
    Client one(bench, 1, 1);
    Client two(bench, 2, 3);
    Client three(bench, 3, 60);

    CHECK(one.ask() == RPMI_HELD);
    CHECK(two.ask() == RPMI_HELD);
    CHECK(three.ask() == RPMI_HELD);
    CHECK(rpmi_upstream_turn(&bench.upstream, 0));
    CHECK(bench.upstream.taken == 2); // there is no room for sixty more
    CHECK(one.status() == RPM_E_NOENT);
    CHECK(two.status() == RPM_E_NOENT);
    CHECK(three.status() == RPM_E_NOENT);
    CHECK(bench.upstream.stats.lists == 2);
    CHECK(bench.upstream.stats.orders == 3);
}

TEST_CASE("upstream: a list is held until it has as many orders as the one before", "[unit][agent]")
{
    Bench bench;
    Client one(bench, 1, 1);
    Client two(bench, 2, 1);
    rpmi_upstream &upstream = bench.upstream;
    uint64_t &now_ns = bench.now_ns = 1000;

    upstream.holds = true;
    CHECK(one.ask() == RPMI_HELD);
    CHECK(two.ask() == RPMI_HELD);
    CHECK(rpmi_upstream_turn(&upstream, now_ns));
    CHECK(upstream.sent);
    CHECK(one.status() == RPM_E_NOENT);
    CHECK(two.status() == RPM_E_NOENT);
    CHECK(one.ask() == RPMI_HELD);
    CHECK(rpmi_upstream_turn(&upstream, now_ns));
    CHECK_FALSE(rpmi_upstream_turn(&upstream, now_ns + RPMI_UPSTREAM_HOLD_NS - 1));
    CHECK(upstream.taken == 1);
    CHECK_FALSE(upstream.sent);
    CHECK(two.ask() == RPMI_HELD);
    CHECK(rpmi_upstream_turn(&upstream, now_ns + RPMI_UPSTREAM_HOLD_NS - 1));
    CHECK(upstream.sent);
    now_ns += RPMI_UPSTREAM_HOLD_NS + 500;
    CHECK(one.status() == RPM_E_NOENT);
    CHECK(two.status() == RPM_E_NOENT);
    CHECK(upstream.stats.lists == 2);
    CHECK(upstream.stats.hold_ns == RPMI_UPSTREAM_HOLD_NS - 1);
    CHECK(upstream.stats.execute_ns == 501);
    CHECK(upstream.stats.setup_ns > 0);

    now_ns += 1000000;
    CHECK(one.ask() == RPMI_HELD); // alone: it waits once, and then no more
    CHECK(rpmi_upstream_turn(&upstream, now_ns));
    CHECK_FALSE(upstream.sent);
    now_ns += RPMI_UPSTREAM_HOLD_NS;
    CHECK(rpmi_upstream_turn(&upstream, now_ns));
    CHECK(upstream.sent);
    CHECK(one.status() == RPM_E_NOENT);
    CHECK(one.ask() == RPMI_HELD);
    CHECK(rpmi_upstream_turn(&upstream, now_ns));
    CHECK(upstream.sent);
    CHECK(one.status() == RPM_E_NOENT);
    CHECK(upstream.stats.lists == 4);
}

TEST_CASE("upstream: orders of a list that is held are refused when the server goes",
          "[unit][agent]")
{
    Bench bench;
    Client one(bench, 1, 1);

    bench.upstream.holds = true;
    bench.upstream.expected = 2;
    CHECK(one.ask() == RPMI_HELD);
    CHECK(rpmi_upstream_turn(&bench.upstream, 0));
    CHECK_FALSE(bench.upstream.sent);
    bench.server.stop();
    CHECK(one.status() == RPM_E_LOST);
    CHECK(bench.upstream.taken == 0);
}

TEST_CASE("upstream: while the server is away, orders are refused", "[unit][agent]")
{
    Bench bench;
    Client one(bench, 1, 2);
    uint64_t by_ns = UINT64_MAX;

    bench.server.stop();
    CHECK(one.status() == RPM_E_LOST);
    CHECK(one.status() == RPM_E_LOST); // without dialling anew
    CHECK(bench.upstream.link == nullptr);
    CHECK(rpmi_upstream_arm(&bench.upstream, &by_ns) == 0);
    CHECK(by_ns == bench.upstream.dial_at_ns);
    CHECK_FALSE(rpmi_upstream_turn(&bench.upstream, by_ns));
    CHECK(bench.upstream.dial_at_ns == by_ns + 2 * RPMI_UPSTREAM_RETRY_NS);
    bench.server.start();
    CHECK_FALSE(rpmi_upstream_turn(&bench.upstream, bench.upstream.dial_at_ns));
    CHECK(bench.upstream.link != nullptr);
    CHECK(one.status() == RPM_E_NOENT);
}

TEST_CASE("upstream: the answer to a client that has left is dropped", "[unit][agent]")
{
    Bench bench;
    Client one(bench, 1, 1);
    Client two(bench, 2, 1);

    CHECK(one.ask() == RPMI_HELD);
    CHECK(rpmi_upstream_turn(&bench.upstream, 0));
    rpmi_serve_lock(bench.front);
    rpmi_orders_forget(bench.front, 1);
    rpmi_serve_unlock(bench.front);
    CHECK(two.status() == RPM_E_NOENT);
    CHECK(bench.front->orders->order[0].state == RPMI_ORDER_FREE);
}

TEST_CASE("upstream: a declared agent sends what clients give it, as far as a list has room",
          "[unit][agent]")
{
    Bench bench;
    Client one(bench, 1, 1);
    Client two(bench, 2, 3);
    Client three(bench, 3, 1);

    one.carry(2000);
    three.carry(2000);
    bench.redial("carrier");
    CHECK(bench.server.stats().agents == 1);
    CHECK(one.ask() == RPMI_HELD);
    CHECK(two.ask() == RPMI_HELD);
    CHECK(three.ask() == RPMI_HELD);
    CHECK(rpmi_upstream_turn(&bench.upstream, 0));
    CHECK(bench.upstream.taken == 2);
    CHECK(bench.upstream.steps == 5);
    CHECK(bench.upstream.proves == 4);
    CHECK(one.status() == RPM_E_NOENT);
    CHECK(two.status() == RPM_E_NOENT);
    CHECK(three.status() == RPM_E_NOENT);
    CHECK(bench.upstream.stats.lists == 2);
    CHECK(bench.upstream.stats.carried == 2);
    CHECK(bench.server.stats().rejected == 2); // the server knows no such log
}

TEST_CASE("upstream: an agent without a name has records certified, and carries none",
          "[unit][agent]")
{
    Bench bench;
    Client one(bench, 1, 1);
    Client two(bench, 2, 1);

    one.carry(64);
    CHECK(one.ask() == RPMI_HELD);
    CHECK(two.ask() == RPMI_HELD);
    CHECK(one.status() == RPM_E_NOCAP);
    CHECK(two.status() == RPM_E_NOENT);
    CHECK(bench.upstream.stats.carried == 0);
    rpmi_upstream_close(&bench.upstream);
    strcpy(bench.upstream.name, "stranger");
    CHECK(rpmi_upstream_dial(&bench.upstream) == RPM_E_DENIED);
    CHECK(bench.upstream.link == nullptr);
}
