/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_set.cc: an epoll instance with a timer.
 *
 * Tests: tests/unit/dtx/engine/base/wait_set_test.cpp
 */
#include "engine/base/wait_set.h"

#include "engine/base/assert.h"
#include <dtx/error.h>

#include <librpm.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace dtx
{

static constexpr uint64_t kSecondNs = 1000000000;

[[noreturn]] static void fail_waiting()
{
    throw Error(RPM_E_NOMEM, std::string("cannot wait for replies of servers: ") + strerror(errno) +
                                 "; allow the process more descriptors (ulimit -n)");
}

static bool add(int events, int fd)
{
    epoll_event event{ EPOLLIN, { .fd = fd } };

    return epoll_ctl(events, EPOLL_CTL_ADD, fd, &event) == 0 || errno == EEXIST;
}

WaitSet::WaitSet()
    : events_(epoll_create1(EPOLL_CLOEXEC)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC))
{
    if (events_ >= 0 && timer_ >= 0 && add(events_, timer_))
        return;

    int error = errno;

    for (int fd : { events_, timer_ })
        if (fd >= 0)
            close(fd);
    errno = error;
    fail_waiting();
}

WaitSet::~WaitSet()
{
    close(events_);
    close(timer_);
}

/* A descriptor that was closed meanwhile has left the set by itself: to remove it fails, and if its
 * number is in @fds again, it is added again. */
void WaitSet::arm(const std::vector<pollfd> &fds, uint64_t until_ns)
{
    itimerspec at{};

    for (int fd : watched_)
        if (std::none_of(fds.begin(), fds.end(),
                         [fd](const pollfd &each) { return each.fd == fd; }))
            (void)epoll_ctl(events_, EPOLL_CTL_DEL, fd, nullptr);
    watched_.clear();
    for (const pollfd &each : fds) {
        if (!add(events_, each.fd))
            fail_waiting();
        watched_.push_back(each.fd);
    }
    DTX_ASSERT(until_ns != 0); /* which would disarm the timer */
    if (until_ns != UINT64_MAX) {
        at.it_value.tv_sec = static_cast<time_t>(until_ns / kSecondNs);
        at.it_value.tv_nsec = static_cast<long>(until_ns % kSecondNs);
    }
    (void)timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
}

} // namespace dtx
