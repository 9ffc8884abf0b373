/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fd.c: close descriptors, and wait for events on them. See fd.h.
 *
 * Tests: tests/unit/base/fd_test.cpp
 */
#include "base/fd.h"

#include "base/clock.h"

#include <poll.h>
#include <unistd.h>

#define NS_PER_MS 1000000u
#define WAIT_MS_MAX 60000u

void rpmi_fd_close(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

bool rpmi_fd_wait(int fd, short events, uint64_t deadline_ns)
{
    struct pollfd entry = { .fd = fd, .events = events };
    int ms;

    while ((ms = rpmi_fd_wait_ms(deadline_ns)) > 0)
        if (poll(&entry, 1, ms) > 0)
            return true;
    return false;
}

int rpmi_fd_wait_ms(uint64_t deadline_ns)
{
    uint64_t now = rpmi_clock_ns();
    uint64_t ms;

    if (now >= deadline_ns)
        return 0;
    ms = (deadline_ns - now) / NS_PER_MS + 1;
    return (int)(ms < WAIT_MS_MAX ? ms : WAIT_MS_MAX);
}
