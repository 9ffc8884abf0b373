/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * watch.c: add descriptors to an epoll set, and remove them. See watch.h.
 *
 * Tests: tests/unit/transport/watch_test.cpp
 */
#include "transport/watch.h"

#include "base/assert.h"
#include "base/err.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

int rpmi_watch_add(const struct rpmi_watch *watch, int fd)
{
    struct epoll_event event = { .events = EPOLLIN };

    if (!watch->on)
        return 0;
    if (epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        return rpmi_fail(RPM_E_NOMEM, "a descriptor cannot be watched: %s", strerror(errno));
    return 0;
}

void rpmi_watch_writable(const struct rpmi_watch *watch, int fd, bool writable)
{
    struct epoll_event event = { .events = EPOLLIN };
    int err;

    RPM_ASSERT(watch->on && fd >= 0);
    if (writable)
        event.events |= EPOLLOUT;
    err = epoll_ctl(watch->epoll_fd, EPOLL_CTL_MOD, fd, &event);
    RPM_ASSERT(err == 0);
}

void rpmi_watch_drop(const struct rpmi_watch *watch, int fd)
{
    if (watch->on && fd >= 0)
        (void)epoll_ctl(watch->epoll_fd, EPOLL_CTL_DEL, fd, NULL); /* a child process may hold it
                                                                      open */
}
