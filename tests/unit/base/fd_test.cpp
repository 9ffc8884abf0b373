// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/clock.h"
#include "base/fd.h"
}
#include "support/catch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

TEST_CASE("fd: a closed descriptor is -1, and is not closed twice", "[unit]")
{
    int fd = eventfd(0, EFD_CLOEXEC);
    int number = fd;

    REQUIRE(fd >= 0);
    rpmi_fd_close(&fd);
    REQUIRE(fd == -1);
    REQUIRE(fcntl(number, F_GETFD) == -1);
    rpmi_fd_close(&fd);
    REQUIRE(fd == -1);
}

TEST_CASE("fd: a wait ends at an event or at the deadline, which is checked first", "[unit]")
{
    int fd = eventfd(0, EFD_CLOEXEC);
    uint64_t begun = rpmi_clock_ns();

    REQUIRE(fd >= 0);
    REQUIRE_FALSE(rpmi_fd_wait(fd, POLLIN, begun + 3000000));
    REQUIRE(rpmi_clock_ns() >= begun + 3000000);
    REQUIRE(rpmi_fd_wait(fd, POLLOUT, UINT64_MAX));
    REQUIRE_FALSE(rpmi_fd_wait(fd, POLLOUT, begun));
    rpmi_fd_close(&fd);
}

static uint64_t now_of_test;

TEST_CASE("fd: a sleep ends after the deadline, or after a minute", "[unit]")
{
    rpmi_clock_replace([] { return now_of_test; });
    now_of_test = 1000;
    CHECK(rpmi_fd_wait_ms(999) == 0);
    CHECK(rpmi_fd_wait_ms(1000) == 0);
    CHECK(rpmi_fd_wait_ms(1001) == 1);
    CHECK(rpmi_fd_wait_ms(1000 + 5 * 1000000ull) == 6);
    CHECK(rpmi_fd_wait_ms(1000 + 59999 * 1000000ull) == 60000);
    CHECK(rpmi_fd_wait_ms(UINT64_MAX) == 60000);
    rpmi_clock_replace(nullptr);
}
