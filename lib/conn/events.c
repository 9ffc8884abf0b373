/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * events.c: a connection in its user's event loop: rpm_conn_fd() returns one descriptor for as long
 * as the connection is open, and rpm_conn_arm() arms it: it becomes readable at the next event.
 *
 * The descriptor is an epoll set. The link adds its own descriptors to it, again after each
 * reconnect, so that the user's descriptor stays the same. events.c adds a timer, which expires
 * when no op has completed for timeout_us, as in blocking calls.
 *
 * Invariants
 *   rpm_conn_arm() returns 0 only if there was nothing to poll after the link had been armed
 *   rpm_conn_arm() returns 1 if it reaped completions: they may have made room for an append
 *   while an op is outstanding the timer expires no later than the deadline
 *
 * Tests: tests/unit/conn/events_test.cpp, tests/conform/event_test.cpp
 */
#include "conn/conn.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/fd.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#define NEVER UINT64_MAX
#define SECOND_NS 1000000000u

void rpmi_events_init(struct rpmi_events *events)
{
    *events = (struct rpmi_events){ .epoll_fd = -1, .timer_fd = -1 };
}

void rpmi_events_close(struct rpmi_events *events)
{
    rpmi_fd_close(&events->timer_fd);
    rpmi_fd_close(&events->epoll_fd);
    rpmi_events_init(events);
}

static int events_open(struct rpmi_events *events)
{
    struct epoll_event event = { .events = EPOLLIN };

    events->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    events->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (events->epoll_fd < 0 || events->timer_fd < 0 ||
        epoll_ctl(events->epoll_fd, EPOLL_CTL_ADD, events->timer_fd, &event) != 0)
        return rpmi_fail(
            RPM_E_NOMEM,
            "cannot make the descriptors for events (close some, or raise ulimit -n): %s",
            strerror(errno));
    return 0;
}

int rpm_conn_fd(struct rpm_conn *conn)
{
    rpmi_begin();

    struct rpmi_events *events;
    int err;

    RPM_ASSERT(conn != NULL);
    events = &conn->events;
    if (events->epoll_fd >= 0)
        return events->epoll_fd;
    err = events_open(events);
    if (err == 0)
        err = conn->link->ops->watch(conn->link, events->epoll_fd);
    if (err != 0)
        rpmi_events_close(events);
    return err != 0 ? err : events->epoll_fd;
}

static bool has_completion(const struct rpm_conn *conn)
{
    for (uint32_t i = 1; i <= RPMI_OWNERS_MAX; i++) {
        struct rpmi_owner *owner = conn->owners[i];

        if (owner != NULL && owner->has_completion != NULL && owner->has_completion(owner))
            return true;
    }
    return false;
}

/* Reap completions. 1: the user has something to poll; 0: nothing; or why the connection is
 * lost. */
static int reap_and_check(struct rpm_conn *conn)
{
    uint64_t before = conn->ended;
    int err = rpmi_conn_pump(conn);

    return conn->ended != before || has_completion(conn) ? 1 : err;
}

/* A timer that expires before @by_ns is kept: the next arm after that sets it again. Setting it at
 * every arm would cost a busy connection a system call each. */
static void set_timer(struct rpmi_events *events, uint64_t by_ns, uint64_t now)
{
    struct itimerspec spec = { .it_value.tv_sec = 0 };
    uint64_t left = by_ns > now ? by_ns - now : 1;
    int err;

    if (events->timer_ns == 0 ? by_ns == NEVER
                              : events->timer_ns > now && events->timer_ns <= by_ns)
        return;
    if (by_ns != NEVER) {
        spec.it_value.tv_sec = (time_t)(left / SECOND_NS);
        spec.it_value.tv_nsec = (long)(left % SECOND_NS);
    }
    err = timerfd_settime(events->timer_fd, 0, &spec, NULL);
    RPM_ASSERT(err == 0);
    events->timer_ns = by_ns == NEVER ? 0 : by_ns;
}

int rpm_conn_arm(struct rpm_conn *conn)
{
    rpmi_begin();

    uint64_t by_ns = NEVER;
    uint64_t until;
    uint64_t now;
    int ready;

    RPM_ASSERT(conn != NULL);
    if (conn->events.epoll_fd < 0)
        return rpmi_fail(RPM_E_INVAL,
                         "the connection has no descriptor to arm yet; call rpm_conn_fd() first");
    ready = reap_and_check(conn);
    if (ready != 0)
        return ready;
    if (conn->link->ops->arm(conn->link, &by_ns) != 0) {
        ready = reap_and_check(conn);
        return ready != 0 ? ready : 1;
    }
    now = conn->link->ops->now_ns(conn->link);
    until = rpmi_conn_silent_until(conn, now);
    if (now >= until) {
        ready = rpmi_conn_time_out(conn);
        return has_completion(conn) ? 1 : ready;
    }
    set_timer(&conn->events, until < by_ns ? until : by_ns, now);
    return 0;
}
