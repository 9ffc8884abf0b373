/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * control.c: the loop of the control thread: call turn() of each listener, which accepts
 * connections, makes handshakes and serves calls; then sleep until a listener has work.
 *
 * Tests: tests/unit/serve/shm/accept_test.cpp, tests/unit/serve/server_test.cpp
 */
#include "serve/serve.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mac.h"

#include <string.h>
#include <sys/epoll.h>

#define EVENTS_MAX 16

static int turn(struct rpm_server *server)
{
    struct epoll_event events[EVENTS_MAX];
    int n = epoll_wait(server->epoll_fd, events, EVENTS_MAX, rpmi_listeners_turn(server));

    if (n < 0 && errno != EINTR)
        return rpmi_fail(RPM_E_IO, "cannot wait for clients: %s", strerror(errno));
    return 0;
}

static void set_running(struct rpm_server *server, bool runs)
{
    uintptr_t before = __atomic_exchange_n(&server->control_thread,
                                           runs ? (uintptr_t)pthread_self() : 0, __ATOMIC_RELAXED);

    /* Two control threads would grant one log to two writers. */
    RPM_ASSERT(runs ? before == 0 : before == (uintptr_t)pthread_self());
}

int rpm_server_run(struct rpm_server *server)
{
    rpmi_begin();

    int err = 0;

    set_running(server, true);
    rpmi_listeners_begin(server);
    while (err == 0 && __atomic_load_n(&server->stopping, __ATOMIC_ACQUIRE) == 0)
        err = turn(server);
    rpmi_listeners_end(server);
    set_running(server, false);
    rpmi_mac_thread_end();
    return err;
}
