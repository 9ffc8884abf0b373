/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rings.c: create and free the memory that the server shares with a ring client. The server creates
 * the memory file and seals it, so that a client can neither shrink it while the engine uses it nor
 * choose what backs it.
 *
 * Tests: tests/unit/serve/shm/ring_test.cpp
 */
#include "serve/shm/shm.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "transport/stage.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define RETIRE_NS 1000000000u /* wait at most so long for the engine to free a ring */
#define RETIRE_NAP_NS 100000u

/* While no engine runs, the control thread frees closed rings. engine_runs changes under the lock
 * only, so no engine starts during this. */
static void retire_closed(struct rpmi_shm_listener *listener)
{
    struct rpm_server *server = listener->base.server;

    rpmi_serve_lock(server);
    for (uint32_t i = 0; i < listener->rings && server->engine_runs == 0; i++)
        if (listener->ring[i].state == RPMI_RING_CLOSED)
            rpmi_serve_ring_retire(&listener->ring[i]);
    rpmi_serve_unlock(server);
}

static struct rpmi_serve_ring *free_ring(struct rpmi_shm_listener *listener)
{
    retire_closed(listener);
    for (uint32_t i = 0; i < listener->rings; i++) {
        struct rpmi_serve_ring *ring = &listener->ring[i];

        if (__atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) != RPMI_RING_FREE)
            continue;
        if (i >= listener->rings_high)
            __atomic_store_n(&listener->rings_high, i + 1, __ATOMIC_RELEASE);
        return ring;
    }
    return NULL;
}

/* There are more rings than clients, so if no ring is free, some are closed and wait for the engine
 * to free them; it may be busy with a slow medium. Wait for it: if the server refused new clients
 * meanwhile, a client that connects and leaves in a loop would keep the others out. */
static struct rpmi_serve_ring *wait_for_ring(struct rpmi_shm_listener *listener)
{
    uint64_t deadline = rpmi_clock_ns() + RETIRE_NS;
    struct rpmi_serve_ring *ring = free_ring(listener);

    RPM_ASSERT(!rpmi_serve_has_lock(listener->base.server)); /* the engine frees rings under it */
    while (ring == NULL && rpmi_clock_ns() < deadline) {
        rpmi_clock_sleep_ns(RETIRE_NAP_NS);
        ring = free_ring(listener);
    }
    return ring;
}

static int map_memory(struct rpmi_serve_ring *ring, uint32_t slots, uint64_t staging_bytes)
{
    uint64_t bytes = rpmi_ring_bytes(slots, staging_bytes);
    void *base;

    RPM_ASSERT((slots & (slots - 1)) == 0); /* requests find their slot by a mask */
    RPM_ASSERT(ring->ring.head == NULL);
    ring->fd = memfd_create("librpm-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (ring->fd < 0 || ftruncate(ring->fd, (off_t)bytes) != 0 ||
        fcntl(ring->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return rpmi_fail(RPM_E_NOMEM, "no memory for a ring: %s", strerror(errno));
    base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
    if (base == MAP_FAILED)
        return rpmi_fail(RPM_E_NOMEM, "cannot map a ring: %s", strerror(errno));
    rpmi_ring_layout(&ring->ring, base, slots, staging_bytes);
    return 0;
}

/* Each client notifies the engine by an eventfd of its own, which the engine watches edge-triggered
 * and never reads: a client can neither suppress another client's notification nor block the
 * engine. */
static int open_notify_fd(struct rpm_server *server, struct rpmi_serve_ring *ring)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u64 = 0 };

    ring->notify_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ring->notify_fd < 0 ||
        epoll_ctl(server->engine_epoll_fd, EPOLL_CTL_ADD, ring->notify_fd, &event) != 0)
        return rpmi_fail(RPM_E_NOMEM, "no eventfd for a ring: %s", strerror(errno));
    return 0;
}

/* Give the engine a socket descriptor of its own: it may be about to send when the control thread
 * closes the session's descriptor. */
static int keep_socket(struct rpmi_serve_ring *ring, int sock)
{
    ring->sock = fcntl(sock, F_DUPFD_CLOEXEC, 0);
    return ring->sock >= 0
               ? 0
               : rpmi_fail(RPM_E_NOMEM, "cannot duplicate a client's socket: %s", strerror(errno));
}

int rpmi_serve_ring_open(struct rpmi_shm_listener *listener, const struct rpmi_hello *hello,
                         int sock, struct rpmi_serve_ring **ring)
{
    struct rpmi_serve_ring *fresh;
    int err;

    RPM_ASSERT(rpmi_serve_is_control(listener->base.server)); /* no free ring is handed out twice */
    if (hello->depth == 0 || hello->depth > RPMI_DEPTH_MAX || hello->staging_bytes == 0 ||
        hello->staging_bytes > RPMI_STAGING_MAX)
        return rpmi_fail(RPM_E_PROTO,
                         "a hello asks for a ring of depth %u with %" PRIu64
                         " staging bytes, expected are 1 to %u and 1 to %llu",
                         hello->depth, hello->staging_bytes, RPMI_DEPTH_MAX, RPMI_STAGING_MAX);
    fresh = wait_for_ring(listener);
    if (fresh == NULL)
        return rpmi_fail(RPM_E_NOMEM,
                         "all %u rings are in use, and the engine frees none in time; try again",
                         listener->rings);
    RPM_ASSERT(fresh->ring.head == NULL); /* retired: unmapped by the engine */
    RPM_ASSERT(fresh->take.n == 0);
    fresh->notify_fd = -1;
    fresh->sock = -1;
    err = map_memory(fresh, rpmi_ring_slots(hello->depth), hello->staging_bytes);
    if (err == 0)
        err = open_notify_fd(listener->base.server, fresh);
    if (err == 0)
        err = keep_socket(fresh, sock);
    if (err != 0) {
        rpmi_serve_ring_retire(fresh);
        return err;
    }
    fresh->next = 0;
    fresh->failures = 0;
    fresh->post_status = 0;
    fresh->carried = 0;
    fresh->held = false;
    *ring = fresh;
    return 0;
}

void rpmi_serve_ring_close(struct rpmi_shm_listener *listener, struct rpmi_serve_ring *ring)
{
    struct rpm_server *server = listener->base.server;
    uint64_t one = 1;

    RPM_ASSERT(ring >= listener->ring && ring < listener->ring + listener->rings);
    RPM_ASSERT(__atomic_load_n(&ring->state, __ATOMIC_RELAXED) == RPMI_RING_LIVE);
    /* Needed although the server closes its descriptor: a client that keeps its own open keeps the
     * eventfd in the epoll set. */
    (void)epoll_ctl(server->engine_epoll_fd, EPOLL_CTL_DEL, ring->notify_fd, NULL);
    __atomic_store_n(&ring->state, RPMI_RING_CLOSED, __ATOMIC_RELEASE);
    if (write(server->engine_notify_fd, &one, sizeof(one)) < 0)
        RPM_ASSERT(errno == EAGAIN);
}

void rpmi_serve_ring_retire(struct rpmi_serve_ring *ring)
{
    /* A closed ring is still mapped: only this function unmaps it. */
    RPM_ASSERT(__atomic_load_n(&ring->state, __ATOMIC_RELAXED) != RPMI_RING_CLOSED ||
               ring->ring.head != NULL);
    RPM_ASSERT(__atomic_load_n(&ring->state, __ATOMIC_RELAXED) != RPMI_RING_LIVE);
    if (ring->ring.head != NULL)
        (void)munmap(ring->ring.head, ring->ring.bytes);
    ring->ring.head = NULL;
    rpmi_fd_close(&ring->fd);
    rpmi_fd_close(&ring->notify_fd);
    rpmi_fd_close(&ring->sock);
    ring->fd = -1;
    ring->notify_fd = -1;
    ring->sock = -1;
    __atomic_store_n(&ring->state, RPMI_RING_FREE, __ATOMIC_RELEASE);
}
