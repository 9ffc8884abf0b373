// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "transport/watch.h"
}
#include "support/catch.h"

#include <librpm/error.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace
{

struct Fds {
    int set = epoll_create1(EPOLL_CLOEXEC);
    int pair[2] = { -1, -1 };

    Fds()
    {
        REQUIRE(set >= 0);
        REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    }
    Fds(const Fds &) = delete;
    ~Fds()
    {
        close(set);
        close(pair[0]);
        close(pair[1]);
    }
    bool readable() const
    {
        pollfd entry = { set, POLLIN, 0 };

        return poll(&entry, 1, 0) == 1;
    }
};

} // namespace

TEST_CASE("watch: a descriptor is ready when it can be read, and for writing only on request",
          "[unit]")
{
    Fds fds;
    rpmi_watch watch = { true, fds.set };
    char byte = 0;

    REQUIRE(rpmi_watch_add(&watch, fds.pair[0]) == 0);
    CHECK_FALSE(fds.readable());
    rpmi_watch_writable(&watch, fds.pair[0], true);
    CHECK(fds.readable());
    rpmi_watch_writable(&watch, fds.pair[0], false);
    CHECK_FALSE(fds.readable());
    REQUIRE(write(fds.pair[1], &byte, 1) == 1);
    CHECK(fds.readable());
    CHECK(fds.readable()); // until it was read
    REQUIRE(read(fds.pair[0], &byte, 1) == 1);
    CHECK_FALSE(fds.readable());
}

TEST_CASE("watch: a dropped descriptor gives no event, even if a child holds it open", "[unit]")
{
    Fds fds;
    rpmi_watch watch = { true, fds.set };
    int child = dup(fds.pair[0]);
    char byte = 0;

    REQUIRE(rpmi_watch_add(&watch, fds.pair[0]) == 0);
    rpmi_watch_drop(&watch, fds.pair[0]);
    rpmi_watch_drop(&watch, fds.pair[0]); // safe
    rpmi_watch_drop(&watch, -1);
    REQUIRE(write(fds.pair[1], &byte, 1) == 1);
    CHECK_FALSE(fds.readable());
    close(child);
}

TEST_CASE("watch: a watch that is off does nothing; adding an invalid descriptor fails", "[unit]")
{
    Fds fds;
    rpmi_watch off = { false, -1 };
    rpmi_watch on = { true, fds.set };

    CHECK(rpmi_watch_add(&off, fds.pair[0]) == 0);
    rpmi_watch_drop(&off, fds.pair[0]);
    CHECK(rpmi_watch_add(&on, -1) == RPM_E_NOMEM);
}
