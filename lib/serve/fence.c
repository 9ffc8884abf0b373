/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fence.c: wait until no older direct writer of a log is in its guarded section (between its check
 * of the claim word and its fence), or until no direct client holds an object open any more.
 *
 * The service has raised the claim word before it calls these functions. After a membarrier, each
 * registered writer sees the new word, or the server sees the writer's busy word. A busy writer
 * becomes idle within a few microseconds, unless its process was stopped or killed. The kernel
 * releases the file lock of the writer's slot when the process dies, so a lock that is still held
 * means that the process was stopped. This holds for writers of an earlier server on the same pool
 * too: the words are in the pool, and the locks are on its file.
 *
 * The control thread releases the lock over the service while it waits here, so that the engine
 * serves other clients. The service is between two steps of a claim then; it has revoked the older
 * key already.
 *
 * Tests: tests/conform/fence_test.cpp, tests/kill/
 */
#include "serve/serve.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "transport/membarrier.h"
#include "wire/guard.h"

#include <fcntl.h>
#include <inttypes.h>

#define NAP_FIRST_NS 20000u
#define NAP_LAST_NS 1000000u
#define VACATE_NS 100000000u /* wait so long for a client that has just closed the object */

struct wait {
    struct rpm_server *server;
    struct rpmi_guard *guard;
    uint64_t header_offset;
    uint64_t deadline_ns;
    bool ordered; /* membarrier worked: a busy word of 0 proves that the writer is idle */
    bool killed;
};

/* No living process holds the slot. */
static bool holder_is_dead(const struct wait *wait, uint32_t slot)
{
    struct flock lock = {
        .l_type = F_WRLCK,
        .l_whence = SEEK_SET,
        .l_start = (off_t)(wait->header_offset + slot),
        .l_len = 1,
    };

    RPM_ASSERT(slot < RPMI_GUARD_SLOTS);
    if (fcntl(wait->server->guard_fd, F_OFD_SETLK, &lock) != 0)
        return false;
    lock.l_type = F_UNLCK;
    (void)fcntl(wait->server->guard_fd, F_OFD_SETLK, &lock);
    return true;
}

static bool slot_is_quiet(const struct wait *wait, uint32_t slot)
{
    uint64_t *busy = &wait->guard->busy[slot];

    RPM_ASSERT(rpmi_serve_has_lock(wait->server)); /* no newer claim owns the slot by now */
    if (wait->ordered && __atomic_load_n(busy, __ATOMIC_ACQUIRE) == 0)
        return true;
    if (!holder_is_dead(wait, slot))
        return false;
    __atomic_store_n(busy, 0, __ATOMIC_RELAXED);
    return true;
}

static void sleep_unlocked(struct wait *wait, uint64_t ns)
{
    rpmi_serve_unlock(wait->server);
    rpmi_clock_sleep_ns(ns);
    rpmi_serve_lock(wait->server);
}

/* The deadline has passed: with --fence kill, kill the writer and wait once more. True: give up. */
static bool give_up(struct wait *wait, uint32_t slot)
{
    if ((wait->server->flags & RPM_SERVER_FENCE_KILL) == 0 || wait->killed ||
        !rpmi_listeners_kill_writer(wait->server, wait->header_offset, slot))
        return true;
    wait->killed = true;
    wait->deadline_ns = rpmi_clock_ns() + wait->server->fence_ns;
    return false;
}

static int wait_for_slot(struct wait *wait, uint32_t slot)
{
    uint64_t ns = NAP_FIRST_NS;

    while (!slot_is_quiet(wait, slot)) {
        if (rpmi_clock_ns() >= wait->deadline_ns && give_up(wait, slot))
            return rpmi_fail(RPM_E_OWNED,
                             "the writer that was fenced is alive and did not stop within %" PRIu64
                             " ms; try again, or stop it",
                             wait->server->fence_ns / 1000000);
        sleep_unlocked(wait, ns);
        ns = ns * 2 < NAP_LAST_NS ? ns * 2 : NAP_LAST_NS;
    }
    return 0;
}

static struct rpmi_stuck *find_stuck(struct rpm_server *server, uint64_t header_offset)
{
    for (uint32_t i = 0; i < server->stuck_n; i++)
        if (server->stuck[i].header_offset == header_offset)
            return &server->stuck[i];
    return NULL;
}

/* Only the first claim waits for a writer that does not stop. A later claim of the same log checks
 * once and fails: the control thread answers no other client while it waits. */
static uint64_t fence_deadline(struct rpm_server *server, uint64_t header_offset)
{
    const struct rpmi_stuck *stuck = find_stuck(server, header_offset);

    return stuck != NULL ? stuck->deadline_ns : rpmi_clock_ns() + server->fence_ns;
}

static void record_outcome(const struct wait *wait, int err)
{
    struct rpm_server *server = wait->server;
    struct rpmi_stuck *stuck = find_stuck(server, wait->header_offset);

    if (stuck == NULL && err != 0 && server->stuck_n < RPMI_POOL_ENTRIES_MAX)
        stuck = &server->stuck[server->stuck_n++];
    if (stuck == NULL)
        return;
    if (err != 0)
        *stuck = (struct rpmi_stuck){ wait->header_offset, wait->deadline_ns };
    else
        *stuck = server->stuck[--server->stuck_n];
}

static int wait_for_all(struct wait *wait)
{
    int err = 0;

    for (uint32_t slot = 0; slot < RPMI_GUARD_SLOTS && err == 0; slot++)
        err = wait_for_slot(wait, slot);
    record_outcome(wait, err);
    return err;
}

int rpmi_serve_quiesce(void *context, uint64_t header_offset)
{
    struct rpm_server *server = context;
    struct wait wait = {
        .server = server,
        .guard =
            (struct rpmi_guard *)(void *)(server->pool.base + header_offset + RPMI_GUARD_OFFSET),
        .header_offset = header_offset,
        .deadline_ns = fence_deadline(server, header_offset),
        .ordered = rpmi_membarrier_all(),
    };
    uint64_t epoch = le64toh(__atomic_load_n(&wait.guard->claim, __ATOMIC_RELAXED));
    int err;

    RPM_ASSERT(rpmi_serve_has_lock(server) && rpmi_serve_is_control(server));
    RPM_ASSERT(header_offset != 0 && rpmi_is_aligned(header_offset, RPMI_PAGE_BYTES));
    RPM_ASSERT(rpmi_in_bounds(header_offset, RPMI_LOG_HEADER_BYTES, server->pool.mem.bytes));
    err = rpmi_listeners_quiesce(server, header_offset);
    if (err == 0)
        err = wait_for_all(&wait);
    if (err != 0)
        return err;
    if (!holder_is_dead(&wait, (uint32_t)(epoch % RPMI_GUARD_SLOTS)))
        return rpmi_fail(RPM_E_OWNED,
                         "the guard slot of epoch %" PRIu64
                         " is still held by a fenced writer; try again, or stop that writer",
                         epoch);
    return 0;
}

/* Does a living client hold a lock for an object in this range? A kernel without OFD locks has
 * none: clients cannot take them there either. */
static bool is_leased(const struct rpm_server *server, uint64_t offset, uint64_t bytes)
{
    struct flock lock = {
        .l_type = F_WRLCK,
        .l_whence = SEEK_SET,
        .l_start = (off_t)(RPMI_LEASE_AT + offset),
        .l_len = (off_t)bytes,
    };

    RPM_ASSERT(bytes != 0); /* to the kernel 0 bytes mean all that follow */
    return fcntl(server->guard_fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

int rpmi_serve_vacate(void *context, uint64_t offset, uint64_t bytes)
{
    struct rpm_server *server = context;
    uint64_t deadline = rpmi_clock_ns() + VACATE_NS;

    /* A lock is looked for on the object's own bytes, and no client opens it before this ends. */
    RPM_ASSERT(rpmi_in_bounds(offset, bytes, server->pool.mem.bytes));
    RPM_ASSERT(rpmi_serve_has_lock(server));
    while (is_leased(server, offset, bytes)) {
        if (rpmi_clock_ns() >= deadline)
            return RPM_E_OWNED;
        rpmi_serve_unlock(server);
        rpmi_clock_sleep_ns(NAP_LAST_NS);
        rpmi_serve_lock(server);
    }
    return 0;
}
