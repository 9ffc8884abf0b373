// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/clock.h"
}
#include "support/descriptors.h"
#include "support/loop.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

using namespace loop;

namespace
{

const uint64_t TIMEOUT_US = 200000;

// The results of the link's watch() and arm().
struct Says {
    int watch = 0;
    int arm = 0;
    uint64_t by_ns = UINT64_MAX;
    int epoll_fd = -1;
    uint32_t arms = 0;
    std::function<void()> on_arm; // called while it is being armed
} says;

rpm_conn_opts conn_opts()
{
    rpm_conn_opts opts = rpm_conn_opts_init();

    opts.timeout_us = TIMEOUT_US;
    return opts;
}

// A connection with a writer, over a link in memory that can be watched.
struct Watched {
    Server server;
    rpm_conn_opts opts = conn_opts();
    Conn conn;
    Log log;
    rpmi_transport_ops ops;

    explicit Watched(const Setup &setup = queued())
        : conn(server, setup, &opts), log(conn, "log", WRITER), ops(*conn.link->link.ops)
    {
        says = Says();
        ops.watch = [](rpmi_link *, int epoll_fd) {
            says.epoll_fd = epoll_fd;
            return says.watch;
        };
        ops.arm = [](rpmi_link *, uint64_t *by_ns) {
            says.arms++;
            if (says.by_ns < *by_ns)
                *by_ns = says.by_ns;
            if (says.on_arm)
                says.on_arm();
            return says.arm;
        };
        conn.link->link.ops = &ops;
        conn.link->clock = rpmi_clock_ns;
        conn.link->manual = true;
    }
    bool readable(int ms = 0) const
    {
        pollfd entry = { conn.conn->events.epoll_fd, POLLIN, 0 };

        return poll(&entry, 1, ms) == 1;
    }
    void carry_out(uint32_t completions)
    {
        while (conn.link->step())
            ;
        conn.link->hold += completions;
    }
};

} // namespace

TEST_CASE("events: one descriptor, opened when it is asked for, closed with the connection",
          "[unit]")
{
    int before = open_descriptors();

    {
        Watched watched;
        int plain = open_descriptors();

        CHECK(rpm_conn_arm(watched.conn) == RPM_E_INVAL);
        CHECK(plain == before);
        int fd = rpm_conn_fd(watched.conn);
        REQUIRE(fd >= 0);
        CHECK(says.epoll_fd == fd);
        CHECK(rpm_conn_fd(watched.conn) == fd);
        CHECK(open_descriptors() == before + 2);
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("events: a link without events leaves no descriptor open", "[unit]")
{
    Watched watched;
    int before = open_descriptors();

    says.watch = RPM_E_NOCAP;
    CHECK(rpm_conn_fd(watched.conn) == RPM_E_NOCAP);
    CHECK(open_descriptors() == before);
    CHECK(rpm_conn_arm(watched.conn) == RPM_E_INVAL);
    says.watch = 0;
    CHECK(rpm_conn_fd(watched.conn) >= 0);
}

TEST_CASE("events: 1 while something is to be polled, 0 when the link is armed", "[unit]")
{
    Watched watched;
    rpm_completion done;

    REQUIRE(rpm_conn_fd(watched.conn) >= 0);
    CHECK(rpm_conn_arm(watched.conn) == 0);
    CHECK(says.arms == 1);
    REQUIRE(append_async(watched.log, "a", 1) == 0);
    CHECK(rpm_conn_arm(watched.conn) == 0);
    watched.carry_out(1);
    CHECK(rpm_conn_arm(watched.conn) == 1);
    CHECK(says.arms == 2); // nothing to arm for
    CHECK(rpm_conn_arm(watched.conn) == 1);
    CHECK(rpm_log_poll(watched.log, &done, 1) == 1);
    CHECK(rpm_conn_arm(watched.conn) == 0);
}

TEST_CASE("events: an operation that ends while the link is being armed is an event", "[unit]")
{
    Watched watched;
    rpm_completion done;

    REQUIRE(rpm_conn_fd(watched.conn) >= 0);
    REQUIRE(append_async(watched.log, "a", 1) == 0);
    uint64_t before = watched.conn.conn->ended;
    says.on_arm = [&] {
        watched.carry_out(1);
        says.arm = 1;
    };
    CHECK(rpm_conn_arm(watched.conn) == 1);
    CHECK(watched.conn.conn->ended == before + 1); // taken in already
    CHECK(rpm_log_poll(watched.log, &done, 1) == 1);
}

TEST_CASE("events: a completion that no object waits for is an event too: it may have made room",
          "[unit]")
{
    Watched watched;
    rpmi_op op = {};

    REQUIRE(rpm_conn_fd(watched.conn) >= 0);
    op.kind = RPMI_OP_READ;
    op.flags = RPMI_OP_SIGNALED;
    op.len = 8;
    op.into = watched.conn.conn->word;
    REQUIRE(rpmi_conn_post(watched.conn, &watched.conn.conn->self, &op, 1, 0) == 0);
    CHECK(rpm_conn_arm(watched.conn) == 0);
    watched.carry_out(1);
    CHECK(rpm_conn_arm(watched.conn) == 1);
    CHECK(rpm_conn_arm(watched.conn) == 0);
}

TEST_CASE("events: completions of a synchronous link are events until they are polled", "[unit]")
{
    Watched watched(synchronous());
    rpm_completion done;

    REQUIRE(rpm_conn_fd(watched.conn) >= 0);
    CHECK(rpm_conn_arm(watched.conn) == 0);
    REQUIRE(append_async(watched.log, "a", 1) == 0);
    CHECK(rpm_conn_arm(watched.conn) == 1);
    CHECK(rpm_log_poll(watched.log, &done, 1) == 1);
    CHECK(rpm_conn_arm(watched.conn) == 0);
}

TEST_CASE("events: a loss is an error once everything was polled", "[unit]")
{
    Watched watched;
    rpm_completion done;

    REQUIRE(rpm_conn_fd(watched.conn) >= 0);
    REQUIRE(append_async(watched.log, "a", 1) == 0);
    says.on_arm = [&] {
        watched.conn.link->drop();
        says.arm = 1;
    };
    CHECK(rpm_conn_arm(watched.conn) == 1);
    REQUIRE(rpm_log_poll(watched.log, &done, 1) == 1);
    CHECK(done.status == RPM_E_LOST);
    CHECK(rpm_conn_arm(watched.conn) == RPM_E_LOST);
    CHECK(says.arms == 1);
}

TEST_CASE("events: silence ends at the deadline, which is counted anew after each answer", "[unit]")
{
    Watched watched;
    rpm_completion done;
    uint64_t began;

    REQUIRE(rpm_conn_fd(watched.conn) >= 0);
    REQUIRE(append_async(watched.log, "a", 1) == 0);
    REQUIRE(rpm_conn_arm(watched.conn) == 0);
    rpmi_clock_sleep_ns(TIMEOUT_US * 500);
    watched.carry_out(1);
    REQUIRE(rpm_conn_arm(watched.conn) == 1);
    REQUIRE(rpm_log_poll(watched.log, &done, 1) == 1);
    REQUIRE(append_async(watched.log, "b", 2) == 0);
    REQUIRE(rpm_conn_arm(watched.conn) == 0);
    began = rpmi_clock_ns();
    int there = 0;
    while (there == 0) {
        REQUIRE(watched.readable(30000)); // perhaps early: then the timer is set anew
        there = rpm_conn_arm(watched.conn);
    }
    CHECK(there == 1);
    CHECK(rpmi_clock_ns() - began >= TIMEOUT_US * 900);
    REQUIRE(rpm_log_poll(watched.log, &done, 1) == 1);
    CHECK(done.status == RPM_E_TIMEDOUT);
    CHECK(rpm_conn_arm(watched.conn) == RPM_E_TIMEDOUT);
}

TEST_CASE("events: with nothing outstanding there is no deadline", "[unit]")
{
    Watched watched;
    rpm_completion done;

    REQUIRE(rpm_conn_fd(watched.conn) >= 0);
    REQUIRE(append_async(watched.log, "a", 1) == 0);
    REQUIRE(rpm_conn_arm(watched.conn) == 0);
    watched.carry_out(1);
    REQUIRE(rpm_log_poll(watched.log, &done, 1) == 1);
    REQUIRE(rpm_conn_arm(watched.conn) == 0);
    (void)watched.readable(2 * TIMEOUT_US / 1000); // of a timer that was set before
    CHECK(rpm_conn_arm(watched.conn) == 0);
    CHECK_FALSE(watched.readable(2 * TIMEOUT_US / 1000));
    // An operation that is posted now has the whole time.
    REQUIRE(append_async(watched.log, "b", 2) == 0);
    CHECK(rpm_conn_arm(watched.conn) == 0);
}

TEST_CASE("events: a reconnect begins anew with the same descriptor", "[unit]")
{
    Watched watched;
    rpm_completion done;
    rpm_outcome outcome;
    uint32_t count = 0;
    int fd = rpm_conn_fd(watched.conn);

    REQUIRE(append_async(watched.log, "a", 1) == 0);
    REQUIRE(rpm_conn_arm(watched.conn) == 0);
    rpmi_clock_sleep_ns(TIMEOUT_US * 1250);
    watched.conn.link->manual = false;
    REQUIRE(rpm_conn_reconnect(watched.conn) == 0);
    CHECK(rpm_conn_fd(watched.conn) == fd);
    REQUIRE(rpm_log_poll(watched.log, &done, 1) == 1);
    REQUIRE(rpm_log_resume(watched.log, &outcome, 1, &count) == 0);
    watched.conn.link->manual = true;
    REQUIRE(append_async(watched.log, "b", 2) == 0);
    CHECK(rpm_conn_arm(watched.conn) == 0); // not late: it was posted only now
}

TEST_CASE("events: the link's own time is kept", "[unit]")
{
    Watched watched;

    REQUIRE(rpm_conn_fd(watched.conn) >= 0);
    says.by_ns = rpmi_clock_ns() + 30000000;
    REQUIRE(rpm_conn_arm(watched.conn) == 0);
    CHECK_FALSE(watched.readable());
    CHECK(watched.readable(30000));
    CHECK(rpmi_clock_ns() >= says.by_ns);
    says.by_ns = UINT64_MAX;
    REQUIRE(rpm_conn_arm(watched.conn) == 0);
    CHECK_FALSE(watched.readable());
}
