/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ring.c: a link over a ring shared with the server's engine: the client's side, which posts
 * requests and reaps completions.
 *
 * A request is one cache line: it contains the head of a write; the body is in staging memory,
 * where the engine reads it. Completions are one counter; only failures have words of their own. On
 * x86 no fence is needed while both sides are awake.
 *
 * Waiting: spin, first without pauses (a pause costs more than the whole round trip), then with
 * pauses, then sleep on the counter. The client never yields: on a busy machine that gives the CPU
 * to other processes than the engine. Between short sleeps it checks the liveness page.
 *
 * Tests: tests/conform/transport_test.cpp, tests/unit/serve/shm/ring_test.cpp
 */
#include "transport/shm/shm.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "transport/membarrier.h"
#include "transport/remote.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPINS_AT_ONCE 64u /* checks between two reads of the clock */
#define SPINS_EAGER 4096u /* checks before the first pause: a few microseconds */
#define SPINS_EAGER_AT_ONCE 512u
#define SLICE_NS 5000000u /* longest sleep between two checks of the liveness page */

static int map_ring(const struct rpmi_grant *grant, struct rpmi_ring *ring)
{
    uint64_t bytes = rpmi_ring_bytes(grant->accepted.depth, grant->accepted.staging_bytes);
    struct stat st = { 0 };
    void *base;

    if (fstat(grant->fds[RPMI_FD_RING], &st) != 0 || (uint64_t)st.st_size != bytes)
        return rpmi_fail(RPM_E_PROTO, "the server's ring has %llu bytes, expected are %llu",
                         (unsigned long long)st.st_size, (unsigned long long)bytes);
    base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, grant->fds[RPMI_FD_RING], 0);
    if (base == MAP_FAILED)
        return rpmi_fail(RPM_E_NOMEM, "cannot map the ring: %s", strerror(errno));
    rpmi_ring_layout(ring, base, grant->accepted.depth, grant->accepted.staging_bytes);
    return 0;
}

/* After a reconnect: map the new ring where the old one was, and copy the staged bytes into it. */
static int move_ring(struct rpmi_shm *shm, struct rpmi_ring *fresh)
{
    struct rpmi_ring *old = &shm->ring.ring;
    void *base;

    if (fresh->bytes != old->bytes || fresh->slots != old->slots) {
        (void)munmap(fresh->head, fresh->bytes);
        return rpmi_fail(
            RPM_E_NOCAP,
            "the server now grants a ring of %u slots, before it were %u; open a new connection",
            fresh->slots, old->slots);
    }
    memcpy(fresh->staging, old->staging, old->staging_bytes);
    base =
        mremap(fresh->head, fresh->bytes, fresh->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, old->head);
    RPM_ASSERT(base == (void *)old->head);
    return 0;
}

static int take_ring(struct rpmi_shm *shm, struct rpmi_ring *fresh)
{
    struct rpmi_ring_client *ring = &shm->ring;

    RPM_ASSERT(ring->sent == NULL && shm->stage.used == 0); /* staging memory never moves */
    ring->sent = rpmi_alloc(fresh->slots * sizeof(ring->sent[0]), RPMI_LINE_BYTES);
    if (ring->sent == NULL) {
        (void)munmap(fresh->head, fresh->bytes);
        return RPM_E_NOMEM;
    }
    ring->ring = *fresh;
    shm->stage.base = fresh->staging;
    shm->stage.bytes = fresh->staging_bytes;
    shm->link.depth = fresh->slots;
    return 0;
}

int rpmi_ring_attach(struct rpmi_shm *shm, struct rpmi_grant *grant)
{
    struct rpmi_ring_client *ring = &shm->ring;
    struct rpmi_ring fresh;
    int err = map_ring(grant, &fresh);

    if (err == 0)
        err = ring->sent == NULL ? take_ring(shm, &fresh) : move_ring(shm, &fresh);
    if (err != 0)
        return err;
    RPM_ASSERT(ring->notify_fd < 0); /* no engine of an earlier server is notified */
    shm->link.flags = rpmi_remote_step_flags(&grant->accepted);
    ring->posted = 0;
    ring->reaped = 0;
    ring->done = 0;
    ring->failures = 0;
    ring->broken = false;
    ring->notify_fd = grant->fds[RPMI_FD_NOTIFY];
    grant->fds[RPMI_FD_NOTIFY] = -1;
    ring->cpu = rpmi_bound_cpu();
    __atomic_store_n(&ring->ring.head->cpu, ring->cpu, __ATOMIC_RELAXED);
    __atomic_store_n(&ring->ring.head->fences, shm->membarrier ? 0 : 1, __ATOMIC_RELEASE);
    return 0;
}

void rpmi_ring_detach(struct rpmi_shm *shm)
{
    rpmi_fd_close(&shm->ring.notify_fd);
}

static inline uint32_t staged(const struct rpmi_ring *ring, const void *ptr, uint64_t bytes)
{
    uint64_t at = (uint64_t)((const unsigned char *)ptr - ring->staging);

    RPM_ASSERT(rpmi_in_bounds(at, bytes, ring->staging_bytes));
    return (uint32_t)at;
}

static inline void put_head(const struct rpmi_ring *ring, uint32_t index, struct rpmi_slot *slot,
                            const struct rpmi_op *op)
{
    RPM_ASSERT(op->head_bytes <= RPMI_LINE_BYTES);
    slot->head_bytes = op->head_bytes;
    if (RPMI_LIKELY(op->head_bytes <= RPMI_SLOT_INLINE))
        memcpy(slot->head, op->head, op->head_bytes);
    else
        memcpy(ring->heads + (uint64_t)index * RPMI_LINE_BYTES, op->head, op->head_bytes);
}

/* Fill in a slot, all but its turn. */
static inline void put_op(const struct rpmi_ring *ring, uint32_t index, const struct rpmi_op *op,
                          uint8_t last)
{
    struct rpmi_slot *slot = &ring->slot[index];

    slot->kind = op->kind;
    slot->flags = (uint8_t)(op->flags | last);
    slot->head_bytes = 0;
    slot->offset = op->offset;
    slot->len = op->len;
    slot->key = op->key;
    slot->body = 0;
    slot->body_bytes = 0;
    switch (op->kind) {
    case RPMI_OP_WRITE:
    case RPMI_OP_COPY:
        if (op->head_bytes != 0)
            put_head(ring, index, slot, op);
        if (op->body_bytes != 0)
            slot->body = staged(ring, op->body, op->body_bytes);
        slot->body_bytes = (uint32_t)op->body_bytes;
        break;
    case RPMI_OP_READ:
        slot->body = staged(ring, op->into, op->len);
        break;
    case RPMI_OP_CAS:
    case RPMI_OP_FAA:
        slot->body = staged(ring, op->into, sizeof(uint64_t));
        memcpy(slot->head, &op->expect, sizeof(op->expect));
        memcpy(slot->head + sizeof(op->expect), &op->operand, sizeof(op->operand));
        break;
    case RPMI_OP_STEPS:
        slot->body = staged(ring, op->body, op->body_bytes);
        slot->body_bytes = (uint32_t)op->body_bytes;
        slot->offset = staged(ring, op->into, op->len);
        break;
    default:
        break;
    }
}

/* Read how many requests are done. False: the count is impossible. */
static inline bool refresh(struct rpmi_ring_client *ring)
{
    uint64_t done = __atomic_load_n(&ring->ring.head->done, __ATOMIC_ACQUIRE);

    if (RPMI_UNLIKELY(done - ring->reaped > ring->posted - ring->reaped))
        return false;
    ring->done = done;
    return true;
}

/* Free the slots of complete requests that need no report. */
static void skip_silent(struct rpmi_ring_client *ring)
{
    uint32_t mask = ring->ring.slots - 1;

    if (!refresh(ring) ||
        __atomic_load_n(&ring->ring.head->failures, __ATOMIC_RELAXED) != ring->failures)
        return;
    while (ring->reaped != ring->done && !ring->sent[ring->reaped & mask].signaled)
        ring->reaped++;
}

int rpmi_ring_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n)
{
    struct rpmi_shm *shm = rpmi_shm_of(link);
    struct rpmi_ring_client *ring = &shm->ring;
    uint32_t slots = ring->ring.slots;
    uint64_t room;
    int err;

    if (RPMI_UNLIKELY(link->lost != 0 || ring->broken))
        return rpmi_fail(RPM_E_LOST, "the link is lost: reconnect first");
    err = rpmi_remote_check_kinds(ops, n, "the ring");
    if (err != 0)
        return err;
    if (RPMI_UNLIKELY(slots - (ring->posted - ring->reaped) < n))
        skip_silent(ring);
    room = slots - (ring->posted - ring->reaped);
    if (n > room)
        n = (uint32_t)room;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t index = (uint32_t)ring->posted & (slots - 1);

        RPM_ASSERT_SLOW(ring->posted - ring->reaped < slots); /* the slot's last op was reaped */
        put_op(&ring->ring, index, &ops[i], i + 1 == n ? RPMI_SLOT_LAST : 0);
        ring->sent[index].id = ops[i].id;
        ring->sent[index].signaled = (ops[i].flags & RPMI_OP_SIGNALED) != 0;
        ring->posted++;
        __atomic_store_n(&ring->ring.slot[index].turn, (uint32_t)ring->posted, __ATOMIC_RELEASE);
    }
    rpmi_membarrier_self(shm->membarrier);
    if (RPMI_UNLIKELY(__atomic_load_n(&shm->liveness->engine_sleeps, __ATOMIC_RELAXED) != 0) &&
        n != 0) {
        uint64_t one = 1;

        /* EAGAIN: the eventfd is full of earlier notifications, by which the engine will wake. */
        if (write(ring->notify_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
            return rpmi_shm_lose(shm);
    }
    return (int)n;
}

/* The status of the oldest request that is done. */
static inline int outcome(struct rpmi_ring_client *ring, uint32_t index)
{
    int32_t *status = &ring->ring.status[index];
    int found;

    if (RPMI_UNLIKELY(ring->broken))
        return RPM_E_LOST;
    if (RPMI_LIKELY(__atomic_load_n(&ring->ring.head->failures, __ATOMIC_RELAXED) ==
                    ring->failures))
        return 0;
    found = __atomic_load_n(status, __ATOMIC_RELAXED);
    if (found == 0)
        return 0;
    __atomic_store_n(status, 0, __ATOMIC_RELAXED);
    ring->failures++;
    if (found != RPM_E_FENCED && found != RPM_E_DENIED && found != RPM_E_RANGE)
        ring->broken = true;
    return found < 0 ? found : RPM_E_PROTO;
}

static int reap(struct rpmi_ring_client *ring, struct rpmi_done *done, uint32_t n)
{
    uint32_t mask = ring->ring.slots - 1;
    uint32_t count = 0;

    RPM_ASSERT(ring->done - ring->reaped <= ring->posted - ring->reaped); /* refresh() judges it */
    while (ring->reaped != ring->done && count < n) {
        uint32_t index = (uint32_t)ring->reaped & mask;
        int status = outcome(ring, index);

        ring->reaped++;
        if (RPMI_UNLIKELY(status != 0))
            (void)rpmi_fail(status, "%s", rpmi_remote_reason(status));
        if (status != 0 || ring->sent[index].signaled)
            done[count++] = (struct rpmi_done){ .id = ring->sent[index].id, .status = status };
    }
    return (int)count;
}

int rpmi_ring_poll(struct rpmi_link *link, struct rpmi_done *done, uint32_t n)
{
    struct rpmi_shm *shm = rpmi_shm_of(link);
    struct rpmi_ring_client *ring = &shm->ring;
    bool lives;
    int count;

    if (link->lost != 0)
        return RPM_E_LOST;
    lives = rpmi_liveness_alive(shm->liveness);
    /* On a broken ring all posted requests count as done: do not read the count again. */
    if (!(ring->broken && ring->done == ring->posted) && !refresh(ring)) {
        link->lost = RPM_E_LOST;
        return rpmi_fail(
            RPM_E_LOST,
            "the ring counts %llu requests as done, expected are %llu to %llu; "
            "reconnect",
            (unsigned long long)__atomic_load_n(&ring->ring.head->done, __ATOMIC_RELAXED),
            (unsigned long long)ring->reaped, (unsigned long long)ring->posted);
    }
    count = reap(ring, done, n);
    if (count > 0 || ring->reaped != ring->done)
        return count;
    if (RPMI_UNLIKELY(ring->broken && ring->done == ring->posted))
        return rpmi_shm_lose(shm);
    if (RPMI_LIKELY(lives))
        return 0;
    /* The server is dead, and was so before the counter was read: the counter is final. */
    ring->broken = true;
    ring->done = ring->posted;
    count = reap(ring, done, n);
    return count > 0 ? count : rpmi_shm_lose(shm);
}

static bool ready(struct rpmi_shm *shm)
{
    struct rpmi_ring_client *ring = &shm->ring;

    return __atomic_load_n(&ring->ring.head->done, __ATOMIC_ACQUIRE) != ring->reaped ||
           !rpmi_liveness_alive(shm->liveness);
}

static bool may_spin(const struct rpmi_shm *shm)
{
    return shm->ring.cpu == 0 ||
           shm->ring.cpu != __atomic_load_n(&shm->liveness->engine_cpu, __ATOMIC_RELAXED);
}

static bool spin(struct rpmi_shm *shm, uint64_t until_ns)
{
    for (uint32_t i = 1; i <= SPINS_EAGER; i++) {
        if (ready(shm))
            return true;
        if (i % SPINS_EAGER_AT_ONCE == 0 && rpmi_clock_ns() >= until_ns)
            return false;
    }
    while (rpmi_clock_ns() < until_ns)
        for (uint32_t i = 0; i < SPINS_AT_ONCE; i++) {
            if (ready(shm))
                return true;
            rpmi_cpu_relax();
        }
    return false;
}

static void sleep_on(struct rpmi_shm *shm, uint64_t ns)
{
    struct rpmi_ring_client *ring = &shm->ring;
    struct timespec slice = { .tv_sec = 0, .tv_nsec = (long)(ns < SLICE_NS ? ns : SLICE_NS) };
    struct rpmi_ring_head *head = ring->ring.head;

    __atomic_store_n(&head->waits, RPMI_WAITS_FUTEX, __ATOMIC_SEQ_CST);
    (void)rpmi_membarrier_all();
    if (!ready(shm)) {
        shm->link.stats.sleeps++;
        (void)syscall(SYS_futex, (uint32_t *)(void *)&head->done, FUTEX_WAIT,
                      (uint32_t)ring->reaped, &slice, NULL, 0);
    }
    __atomic_store_n(&head->waits, RPMI_WAITS_NOT, __ATOMIC_RELAXED);
}

/*
 * As for a sleep: ask for an event, order that against the engine by a membarrier, check for
 * completions once more. Old events are received before the new event is requested: after it, the
 * new event could be received with them, and lost.
 */
int rpmi_ring_arm(struct rpmi_link *link, uint64_t *by_ns)
{
    struct rpmi_shm *shm = rpmi_shm_of(link);
    struct rpmi_ring_client *ring = &shm->ring;

    (void)by_ns;
    if (link->lost != 0 || ready(shm))
        return 1;
    if (rpmi_shm_take_events(shm)) {
        __atomic_store_n(&ring->ring.head->waits, RPMI_WAITS_EVENT, __ATOMIC_SEQ_CST);
        (void)rpmi_membarrier_all();
        return ready(shm) ? 1 : 0;
    }
    /* The server closed the socket. Its counter is final. */
    if (!ready(shm)) {
        ring->broken = true;
        ring->done = ring->posted;
    }
    return 1;
}

int rpmi_ring_wait(struct rpmi_link *link, uint64_t deadline_ns)
{
    struct rpmi_shm *shm = rpmi_shm_of(link);
    uint64_t now;

    if (link->lost != 0 || ready(shm))
        return 0;
    now = rpmi_clock_ns();
    if (may_spin(shm) &&
        spin(shm, now + RPMI_SPIN_NS < deadline_ns ? now + RPMI_SPIN_NS : deadline_ns))
        return 0;
    for (;;) {
        now = rpmi_clock_ns();
        if (ready(shm))
            return 0;
        if (now >= deadline_ns)
            return RPM_E_TIMEDOUT;
        sleep_on(shm, deadline_ns - now);
    }
}
