/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine.c: the loop of the engine thread: while requests are waiting it makes passes over them,
 * then it spins for a short time unless RPM_SERVER_NO_SPIN forbids it, then it sleeps until an
 * eventfd or a socket wakes it. A pass carries out the waiting requests of all clients, makes their
 * stores durable by one fence, and then answers: the more clients, the fewer fences for each.
 *
 * Invariant: stores made under the lock are visible to all CPUs before the engine releases it, so
 * the control thread, when it gets the lock for a claim, sees every store of the writer that it
 * fences.
 *
 * Going to sleep: the engine asks each listener to wake it at the next request, then looks for
 * requests once more. While clients watch words (watches.h), it also sleeps no longer than until
 * the first of their times is over, or a millisecond if a client stores without the engine.
 *
 * Tests: tests/conform/transport_test.cpp, tests/unit/serve/shm/engine_test.cpp
 */
#include "serve/serve.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/err.h"
#include "base/mac.h"
#include "serve/request.h"

#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS_MAX 16
#define LOCK_NAP_NS 20000u
#define SPINS_AT_ONCE 64u /* checks for requests between two reads of the clock */
#define SPINS_EAGER 4096u /* checks before the first pause: with one ring, a few microseconds */
#define SPINS_EAGER_AT_ONCE 512u /* between two reads of the clock */

static bool stopping(const struct rpm_server *server)
{
    return __atomic_load_n(&server->stopping, __ATOMIC_ACQUIRE) != 0;
}

static void engine_lock(struct rpm_server *server)
{
    int err;

    while (__atomic_load_n(&server->wanted, __ATOMIC_ACQUIRE) != 0)
        rpmi_clock_sleep_ns(LOCK_NAP_NS);
    err = pthread_mutex_lock(&server->lock);
    RPM_ASSERT(err == 0);
    __atomic_store_n(&server->lock_holder, (uintptr_t)pthread_self(), __ATOMIC_RELAXED);
}

void rpmi_serve_pass(struct rpm_server *server)
{
    struct rpmi_batch batch;

    RPM_ASSERT(rpmi_serve_is_engine(server)); /* two passes would carry out one request twice */
    rpmi_batch_begin(&batch);
    engine_lock(server);
    for (uint32_t i = 0; i < server->listeners_n; i++)
        server->listeners[i]->ops->take(server->listeners[i], &batch);
    rpmi_batch_fence(&batch);
    rpmi_serve_unlock(server);
    rpmi_batch_sync(server, &batch);
    RPM_ASSERT(!batch.unfenced && batch.dirty_n == 0); /* the answers promise it */
    for (uint32_t i = 0; i < server->listeners_n; i++)
        server->listeners[i]->ops->answer(server->listeners[i], &batch);
    rpmi_watches_look_after(server, batch.changed);
}

static bool poll_ready(const struct rpm_server *server, uint32_t looks)
{
    for (uint32_t i = 0; i < looks; i++)
        if (rpmi_listeners_ready(server))
            return true;
    return false;
}

/* True: a request is waiting. A check of memory costs little; a check of sockets is a system call,
 * and an engine that repeats it keeps the CPU from the client, or the other server, that is about
 * to send. So with sockets the engine makes no eager checks, and yields the CPU between checks; if
 * no other thread waits for the CPU, sched_yield() returns at once. */
static bool spin(struct rpm_server *server)
{
    uint64_t until = rpmi_clock_ns() + RPMI_SPIN_NS;

    /* A check looks at each ring: where there are many, time limits the eager checks. */
    for (uint32_t n = 0; n < SPINS_EAGER && !server->polls_sockets; n += SPINS_EAGER_AT_ONCE) {
        if (poll_ready(server, SPINS_EAGER_AT_ONCE))
            return true;
        rpmi_watches_look(server);
        if (rpmi_clock_ns() >= until)
            return false;
    }
    while (rpmi_clock_ns() < until && !stopping(server)) {
        for (uint32_t i = 0; i < SPINS_AT_ONCE; i++) {
            if (rpmi_listeners_ready(server))
                return true;
            rpmi_cpu_relax();
        }
        rpmi_watches_look(server);
        if (server->polls_sockets)
            (void)sched_yield();
    }
    return false;
}

static bool may_spin(const struct rpm_server *server, uint32_t cpu)
{
    return (server->flags & RPM_SERVER_NO_SPIN) == 0 && rpmi_listeners_may_spin(server, cpu);
}

/* Sleep until an event comes or a list that is held can be carried out. As epoll_wait(), but 0: a
 * request is waiting. */
static int nap(struct rpm_server *server, struct epoll_event *events)
{
    int n = 0;

    while (n == 0 && !stopping(server)) {
        rpmi_watches_look(server);
        if (rpmi_listeners_ready(server))
            return 0;
        n = epoll_wait(server->engine_epoll_fd, events, EVENTS_MAX, rpmi_watches_nap_ms(server));
    }
    return n;
}

static int sleep_till_notified(struct rpm_server *server)
{
    struct epoll_event events[EVENTS_MAX];
    uint64_t count;
    int n = 0;

    RPM_ASSERT(server->engine_runs == 1);
    RPM_ASSERT(!rpmi_serve_has_lock(server)); /* claims would wait until the engine wakes up */
    if (!rpmi_listeners_arm(server))
        n = nap(server, events);
    rpmi_listeners_disarm(server);
    if (n < 0 && errno != EINTR)
        return rpmi_fail(RPM_E_IO, "cannot wait for clients' notifications: %s", strerror(errno));
    if (n > 0 && read(server->engine_notify_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
        return rpmi_fail(RPM_E_IO, "cannot read the engine's eventfd: %s", strerror(errno));
    return 0;
}

/* The engine frees the resources of a client that has left; while the engine does not run, the
 * control thread frees them. Changed under the lock, so that both threads agree on which of them
 * does. */
static void set_running(struct rpm_server *server, bool runs)
{
    rpmi_serve_lock(server);
    RPM_ASSERT(server->engine_runs == (runs ? 0 : 1));
    server->engine_runs = runs ? 1 : 0;
    __atomic_store_n(&server->engine_thread, runs ? (uintptr_t)pthread_self() : 0,
                     __ATOMIC_RELAXED);
    rpmi_serve_unlock(server);
}

int rpm_server_engine(struct rpm_server *server)
{
    rpmi_begin();

    uint32_t cpu = rpmi_bound_cpu();
    int err = 0;

    rpmi_listeners_engine_begin(server, cpu);
    set_running(server, true);
    while (err == 0 && !stopping(server)) {
        if (rpmi_listeners_ready(server) || (may_spin(server, cpu) && spin(server)))
            rpmi_serve_pass(server);
        else if (!stopping(server))
            err = sleep_till_notified(server);
    }
    set_running(server, false);
    rpmi_mac_thread_end();
    return err;
}
