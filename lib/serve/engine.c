/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine.c: the engine's loop: pass after pass while there is something to do, then spin a little,
 * then sleep until an eventfd or a socket wakes it.
 *
 * Going to sleep: the engine sets engine_sleeps, orders that store against every client's (by a
 * membarrier), and looks for requests once more. A client stores its request, then reads
 * engine_sleeps. So either the engine sees the request, or the client sees it asleep and wakes it.
 *
 * Tests: tests/conform/transport_test.cpp, tests/unit/serve/ring_test.cpp
 */
#include "serve/serve.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mac.h"
#include "transport/shm/membarrier.h"

#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS_MAX 16
#define SPINS_AT_ONCE 64u /* looks between two at the clock */
#define SPINS_EAGER 4096u /* looks before the first pause: a few microseconds */

static bool stopping(const struct rpm_server *server)
{
    return __atomic_load_n(&server->stopping, __ATOMIC_ACQUIRE) != 0;
}

/* Not if every client is bound to the CPU that the engine is bound to: spinning would keep it. */
static bool may_spin(const struct rpm_server *server, uint32_t cpu)
{
    uint32_t high = __atomic_load_n(&server->rings_high, __ATOMIC_ACQUIRE);

    if (cpu == 0 || server->listeners_n != 0)
        return true;
    for (uint32_t i = 0; i < high; i++) {
        const struct rpmi_serve_ring *ring = &server->rings[i];

        if (__atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) == RPMI_RING_LIVE &&
            __atomic_load_n(&ring->ring.head->cpu, __ATOMIC_RELAXED) != cpu)
            return true;
    }
    return false;
}

static bool look(const struct rpm_server *server, uint32_t looks)
{
    for (uint32_t i = 0; i < looks; i++)
        if (rpmi_serve_ready(server))
            return true;
    return false;
}

/* True: there is something to do. A look at memory costs little, a look at sockets is a system
 * call: an engine that repeats it keeps the CPU from the client, or the other server, that is about
 * to send. So with listeners the engine spins by the clock only, and yields between looks; where no
 * thread waits for the CPU, sched_yield() returns at once. */
static bool spin(const struct rpm_server *server)
{
    bool listeners = server->listeners_n != 0;
    uint64_t until;

    if (!listeners && look(server, SPINS_EAGER))
        return true;
    until = rpmi_clock_ns() + RPMI_SPIN_NS;
    while (rpmi_clock_ns() < until && !stopping(server)) {
        for (uint32_t i = 0; i < SPINS_AT_ONCE; i++) {
            if (rpmi_serve_ready(server))
                return true;
            rpmi_cpu_relax();
        }
        if (listeners)
            (void)sched_yield();
    }
    return false;
}

static int sleep_till_notified(struct rpm_server *server)
{
    struct epoll_event events[EVENTS_MAX];
    uint64_t count;
    int n = 0;

    __atomic_store_n(&server->liveness->engine_sleeps, 1, __ATOMIC_SEQ_CST);
    /* The client of a ring that begins after this look learns of the ring later, so it finds the
     * engine asleep. */
    if (__atomic_load_n(&server->rings_high, __ATOMIC_SEQ_CST) != 0)
        (void)rpmi_membarrier_all();
    if (!rpmi_listeners_arm(server) && !rpmi_serve_ready(server) && !stopping(server))
        n = epoll_wait(server->engine_epoll_fd, events, EVENTS_MAX, -1);
    __atomic_store_n(&server->liveness->engine_sleeps, 0, __ATOMIC_RELAXED);
    if (n < 0 && errno != EINTR)
        return rpmi_fail(RPM_E_IO, "cannot wait for clients' notifications: %s", strerror(errno));
    if (n > 0 && read(server->kick_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
        return rpmi_fail(RPM_E_IO, "cannot read the engine's eventfd: %s", strerror(errno));
    return 0;
}

/* The engine frees what a client leaves behind; while it does not run, the control thread does.
 * Changed under the lock, so that both know for certain which of them it is. */
static void set_running(struct rpm_server *server, bool runs)
{
    rpmi_serve_lock(server);
    RPM_ASSERT(server->engine_runs == (runs ? 0 : 1));
    server->engine_runs = runs ? 1 : 0;
    rpmi_serve_unlock(server);
}

int rpm_server_engine(struct rpm_server *server)
{
    rpmi_begin();

    uint32_t cpu = rpmi_bound_cpu();
    int err = 0;

    __atomic_store_n(&server->liveness->engine_cpu, cpu, __ATOMIC_RELAXED);
    set_running(server, true);
    while (err == 0 && !stopping(server)) {
        if (rpmi_serve_ready(server) || (may_spin(server, cpu) && spin(server)))
            rpmi_serve_pass(server);
        else if (!stopping(server))
            err = sleep_till_notified(server);
    }
    set_running(server, false);
    rpmi_mac_thread_end();
    return err;
}
