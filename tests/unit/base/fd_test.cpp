// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/fd.h"
}
#include "support/catch.h"

#include <fcntl.h>
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
