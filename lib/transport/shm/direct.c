/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * direct.c: a link over the server's memory, mapped into this process: the client's CPU does the
 * stores, flushes and fences that a NIC and the server CPU would do.
 *
 * A post that writes to a claimed log, or to a region that a claim guards, is a guarded section
 * (wire/guard.h). No other process can take the mapping away, so the writer itself checks whether
 * its claim still holds, and sets its busy word in the log's header while it writes. A fence ends
 * the section: without it, non-temporal stores might become visible after the busy word is cleared.
 *
 * Invariants
 *   no op touches bytes outside the object of its key
 *   no store to a log or to a region that its claim guards, and no atomic, happens outside its
 *     guarded section
 *   a post that finds the server dead does nothing
 *
 * Tests: tests/conform/transport_test.cpp, tests/conform/fence_test.cpp, tests/kill/
 */
#include "transport/shm/shm.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/differ.h"
#include "base/err.h"
#include "base/sum.h"
#include "pmem/cpu_copy.h"
#include "pool/service.h"
#include "transport/membarrier.h"
#include "transport/step.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define FOLLOW_TURNS 128u /* single writes between two checks for a waiting reader: some 25 us */

/* The guarded section of the current post, see wire/guard.h. */
struct guarded_section {
    const struct rpmi_shm_key *key; /* NULL: not in a section */
    bool unfenced;                  /* stores past the caches since the last fence */
};

static inline uint64_t *busy_word(const struct rpmi_shm_key *key)
{
    return &key->guard->busy[key->epoch % RPMI_GUARD_SLOTS];
}

static inline bool still_claimed(const struct rpmi_shm_key *key)
{
    return le64toh(__atomic_load_n(&key->guard->claim, __ATOMIC_ACQUIRE)) == key->epoch;
}

static inline void section_leave(struct guarded_section *section)
{
    if (section->unfenced) {
        rpmi_cpu_fence();
        section->unfenced = false;
    }
    if (section->key != NULL)
        __atomic_store_n(busy_word(section->key), 0, __ATOMIC_RELEASE);
    section->key = NULL;
}

__attribute__((cold)) static int fenced(void)
{
    return rpmi_fail(RPM_E_FENCED, "another writer claimed the log; claim it to write again");
}

static inline int section_enter(struct guarded_section *section, const struct rpmi_shm_key *key,
                                bool membarrier)
{
    RPM_ASSERT_SLOW(key->guard != NULL);
    if (section->key != NULL) {
        if (section->key->guard == key->guard && section->key->epoch == key->epoch)
            return 0;
        section_leave(section);
    }
    if (!still_claimed(key))
        return fenced();
    __atomic_store_n(busy_word(key), 1, __ATOMIC_RELAXED);
    rpmi_membarrier_self(membarrier);
    section->key = key;
    if (RPMI_LIKELY(still_claimed(key)))
        return 0;
    section_leave(section);
    return fenced();
}

__attribute__((cold)) static int refuse(uint32_t key, uint64_t offset, uint64_t len, int err)
{
    return rpmi_fail(err, "%s: key %u, offset %llu, %llu bytes",
                     err == RPM_E_RANGE    ? "outside the object"
                     : err == RPM_E_DENIED ? "no such right"
                                           : "not possible on a direct link",
                     key, (unsigned long long)offset, (unsigned long long)len);
}

static int refuse_op(const struct rpmi_op *op, int err)
{
    return refuse(op->key, op->offset, op->len, err);
}

/* The key's memory is inside what this process has mapped. */
static inline bool is_mapped(const struct rpmi_direct *direct, const struct rpmi_shm_key *key)
{
    uintptr_t base = (uintptr_t)key->base;

    return rpmi_in_bounds(base - (uintptr_t)direct->pool, key->bytes, direct->pool_bytes) ||
           rpmi_in_bounds(base - (uintptr_t)direct->dram, key->bytes, direct->dram_bytes) ||
           key->base == direct->scratch;
}

/* May bytes of this key be changed? Those that a claim guards only in the claim's section. */
static inline bool is_entered(const struct guarded_section *section, const struct rpmi_shm_key *key)
{
    return key->guard == NULL || (section->key != NULL && section->key->guard == key->guard &&
                                  section->key->epoch == key->epoch);
}

/* The key @id if it has the rights and the range, or NULL and @err. */
static inline const struct rpmi_shm_key *find(const struct rpmi_direct *direct, uint32_t id,
                                              uint32_t rights, uint64_t offset, uint64_t len,
                                              int *err)
{
    const struct rpmi_shm_key *key = &direct->key[id % RPMI_KEYS_MAX];

    if (RPMI_UNLIKELY(id >= RPMI_KEYS_MAX || key->base == NULL ||
                      (key->rights & rights) != rights)) {
        *err = refuse(id, offset, len, RPM_E_DENIED);
        return NULL;
    }
    if (RPMI_UNLIKELY(!rpmi_in_bounds(offset, len, key->bytes))) {
        *err = refuse(id, offset, len, RPM_E_RANGE);
        return NULL;
    }
    RPM_ASSERT_SLOW(is_mapped(direct, key));
    return key;
}

static inline const struct rpmi_shm_key *
find_op(const struct rpmi_direct *direct, const struct rpmi_op *op, uint32_t rights, int *err)
{
    return find(direct, op->key, rights, op->offset, op->len, err);
}

static inline int do_write(struct rpmi_shm *shm, const struct rpmi_op *op,
                           struct guarded_section *section)
{
    int err = 0;
    const struct rpmi_shm_key *key = find_op(&shm->direct, op, RPMI_RIGHT_WRITE, &err);

    if (key == NULL)
        return err;
    RPM_ASSERT(op->head_bytes <= RPMI_LINE_BYTES && op->body_bytes <= op->len &&
               op->head_bytes <= op->len - op->body_bytes);
    if (op->offset < key->guarded_bytes)
        return refuse_op(op, RPM_E_DENIED);
    if (key->guard != NULL) {
        err = section_enter(section, key, shm->membarrier);
        if (err != 0)
            return err;
    }
    RPM_ASSERT_SLOW(is_entered(section, key));
    if (shm->direct.past_cache) {
        rpmi_write_fn *write =
            (op->flags & RPMI_OP_CACHED) != 0 ? rpmi_cpu.back_write : rpmi_cpu.nt_write;

        write(key->base + op->offset, op->head, op->head_bytes, op->body, op->body_bytes, op->len);
        section->unfenced = true;
    } else {
        rpmi_plain_write(key->base + op->offset, op->head, op->head_bytes, op->body, op->body_bytes,
                         op->len);
    }
    return 0;
}

static int do_persist(struct rpmi_shm *shm, const struct rpmi_op *op,
                      struct guarded_section *section)
{
    int err = 0;
    const struct rpmi_shm_key *key = find_op(&shm->direct, op, RPMI_RIGHT_READ, &err);
    uintptr_t first;

    if (key == NULL)
        return err;
    first = ((uintptr_t)key->base + op->offset) & ~(uintptr_t)(RPMI_PAGE_BYTES - 1);
    switch (shm->link.facts.domain) {
    case RPM_DOMAIN_ADR:
        RPM_ASSERT(rpmi_cpu.can_flush); /* else 0 would promise what no instruction did */
        rpmi_cpu_flush(key->base + op->offset, op->len);
        break;
    case RPM_DOMAIN_MSYNC:
        if (msync((void *)first, (uintptr_t)key->base + op->offset + op->len - first, MS_SYNC) != 0)
            return rpmi_fail(RPM_E_IO, "msync failed: %s", strerror(errno));
        break;
    default:
        break;
    }
    rpmi_cpu_fence();
    section->unfenced = false;
    return 0;
}

static inline int do_read(struct rpmi_shm *shm, uint32_t id, uint64_t offset, void *into,
                          uint64_t len)
{
    uint64_t word;
    int err = 0;
    const struct rpmi_shm_key *key = find(&shm->direct, id, RPMI_RIGHT_READ, offset, len, &err);

    if (key == NULL)
        return err;
    if (len == sizeof(word) && rpmi_is_aligned(offset, sizeof(word))) {
        word =
            __atomic_load_n((const uint64_t *)(const void *)(key->base + offset), __ATOMIC_RELAXED);
        memcpy(into, &word, sizeof(word));
    } else {
        memcpy(into, key->base + offset, len);
    }
    return 0;
}

/* The word that an atomic changes, with its guarded section entered, or NULL and @err. */
static inline uint64_t *find_word(struct rpmi_shm *shm, uint32_t id, uint64_t offset,
                                  struct guarded_section *section, int *err)
{
    const struct rpmi_shm_key *key =
        find(&shm->direct, id, RPMI_RIGHT_ATOMIC, offset, sizeof(uint64_t), err);

    if (key == NULL)
        return NULL;
    if (!rpmi_is_aligned(offset, sizeof(uint64_t))) {
        *err =
            rpmi_fail(RPM_E_INVAL, "an atomic at offset %llu is not aligned; use a multiple of 8",
                      (unsigned long long)offset);
        return NULL;
    }
    if (key->guard != NULL) {
        *err = section_enter(section, key, shm->membarrier);
        if (*err != 0)
            return NULL;
    }
    RPM_ASSERT_SLOW(is_entered(section, key));
    RPM_ASSERT(rpmi_is_aligned((uintptr_t)key->base, sizeof(uint64_t))); /* else no atomic */
    return (uint64_t *)(void *)(key->base + offset);
}

static inline uint64_t swap(uint64_t *word, uint64_t expect, uint64_t desired)
{
    (void)__atomic_compare_exchange_n(word, &expect, desired, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST);
    return expect;
}

static int do_atomic(struct rpmi_shm *shm, const struct rpmi_op *op,
                     struct guarded_section *section)
{
    int err = 0;
    uint64_t *word = find_word(shm, op->key, op->offset, section, &err);
    uint64_t found;

    if (word == NULL)
        return err;
    found = op->kind == RPMI_OP_FAA ? __atomic_fetch_add(word, op->operand, __ATOMIC_SEQ_CST)
                                    : swap(word, op->expect, op->operand);
    memcpy(op->into, &found, sizeof(found));
    return 0;
}

static inline void drain(struct guarded_section *section)
{
    rpmi_cpu_fence();
    section->unfenced = false;
}

/* A list of steps while this CPU carries it out. */
struct direct_walk {
    struct rpmi_shm *shm;
    struct guarded_section *section;
};

/* Check a step, and enter the guarded section of its claim: the server grants no newer claim before
 * the section ends. */
static int step_may(void *context, const struct rpmi_step *step)
{
    struct direct_walk *walk = context;
    const struct rpmi_shm_key *key;
    struct rpmi_op op;
    uint32_t right;
    int err = 0;

    if (step->kind == RPMI_STEP_PROVE || step->kind == RPMI_STEP_CARRY)
        return rpmi_fail(RPM_E_NOCAP, "only the server CPU certifies records, and this connection "
                                      "has the pool mapped; connect with mode=ring");
    if (step->kind == RPMI_STEP_WATCH)
        return rpmi_fail(RPM_E_NOCAP, "no list waits on a connection that has the pool mapped: it "
                                      "reads the word itself");
    op = rpmi_step_op(step);
    right = rpmi_op_right(op.kind);
    key = find_op(&walk->shm->direct, &op, right, &err);
    if (key == NULL)
        return err;
    if (step->kind == RPMI_STEP_COMPARE)
        (void)find(&walk->shm->direct, step->other_key, right, step->other_offset, step->range,
                   &err);
    if (right == RPMI_RIGHT_READ)
        return err;
    if (op.offset < key->guarded_bytes)
        return refuse_op(&op, RPM_E_DENIED);
    if (right == RPMI_RIGHT_ATOMIC && !rpmi_is_aligned(op.offset, sizeof(uint64_t)))
        return rpmi_fail(RPM_E_INVAL,
                         "an atomic at offset %llu is not aligned; use a multiple of 8",
                         (unsigned long long)op.offset);
    return key->guard != NULL ? section_enter(walk->section, key, walk->shm->membarrier) : 0;
}

/* Is the effect of this step visible at once, so that a CPU that sees it must also see the writes
 * before it? True for atomics and for writes to DRAM. */
static bool step_publishes(const struct rpmi_direct *direct, const struct rpmi_step *step)
{
    const unsigned char *base = direct->key[step->key].base;

    if (step->kind != RPMI_STEP_WRITE)
        return step->kind == RPMI_STEP_CAS || step->kind == RPMI_STEP_FAA;
    return base >= direct->dram && base < direct->dram + direct->dram_bytes;
}

/* Of bytes that other processes may change meanwhile. */
static int do_sum(struct rpmi_shm *shm, const struct rpmi_step *step, void *result)
{
    int err = 0;
    const struct rpmi_shm_key *key =
        find(&shm->direct, step->key, RPMI_RIGHT_READ, step->offset, step->range, &err);
    uint64_t sum;

    if (key == NULL)
        return err;
    sum = rpmi_sum_seeded(key->base + step->offset, step->range, step->operand);
    memcpy(result, &sum, sizeof(sum));
    return 0;
}

/* As do_sum(). */
static int do_compare(struct rpmi_shm *shm, const struct rpmi_step *step, void *result)
{
    int err = 0;
    const struct rpmi_shm_key *one =
        find(&shm->direct, step->key, RPMI_RIGHT_READ, step->offset, step->range, &err);
    const struct rpmi_shm_key *other =
        find(&shm->direct, step->other_key, RPMI_RIGHT_READ, step->other_offset, step->range, &err);
    uint64_t at;

    if (one == NULL || other == NULL)
        return err;
    at = rpmi_differ_at(one->base + step->offset, other->base + step->other_offset, step->range);
    memcpy(result, &at, sizeof(at));
    return 0;
}

static int step_act(void *context, const struct rpmi_step *step, void *result)
{
    struct direct_walk *walk = context;
    struct rpmi_op op = rpmi_step_op(step);

    op.into = result;
    if (walk->section->unfenced && step_publishes(&walk->shm->direct, step))
        drain(walk->section);
    /* A step sees no older state than the step before it saw. */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (step->kind == RPMI_STEP_SUM)
        return do_sum(walk->shm, step, result);
    if (step->kind == RPMI_STEP_COMPARE)
        return do_compare(walk->shm, step, result);
    switch (op.kind) {
    case RPMI_OP_READ:
        return do_read(walk->shm, op.key, op.offset, op.into, op.len);
    case RPMI_OP_COPY:
        return do_write(walk->shm, &op, walk->section);
    default:
        return do_atomic(walk->shm, &op, walk->section);
    }
}

static int do_steps(struct rpmi_shm *shm, const struct rpmi_op *op, struct guarded_section *section)
{
    struct direct_walk walk = { .shm = shm, .section = section };
    struct rpmi_stepper stepper = { &walk, shm->direct.steps, step_may, step_act };
    int err = rpmi_steps_walk(&stepper, op->body, op->body_bytes, op->into, op->len);

    if (section->unfenced || (op->flags & RPMI_OP_DURABLE) != 0)
        drain(section);
    return err;
}

static int do_other(struct rpmi_shm *shm, const struct rpmi_op *op, struct guarded_section *section)
{
    switch (op->kind) {
    case RPMI_OP_READ:
        return do_read(shm, op->key, op->offset, op->into, op->len);
    case RPMI_OP_PERSIST:
        return do_persist(shm, op, section);
    case RPMI_OP_CAS:
    case RPMI_OP_FAA:
        return do_atomic(shm, op, section);
    case RPMI_OP_STEPS:
        return do_steps(shm, op, section);
    default:
        return refuse_op(op, RPM_E_NOCAP);
    }
}

int rpmi_direct_post(struct rpmi_link *link, const struct rpmi_op *ops, uint32_t n)
{
    struct rpmi_shm *shm = rpmi_shm_of(link);
    struct guarded_section section = { 0 };
    int err = 0;

    RPM_ASSERT(shm->direct.entered == NULL); /* this would end the section that was entered */
    if (RPMI_UNLIKELY(link->lost != 0))
        return rpmi_fail(RPM_E_LOST, "the link is lost: reconnect first");
    if (RPMI_UNLIKELY(!rpmi_liveness_alive(shm->liveness)))
        return rpmi_shm_lose(shm);
    for (uint32_t i = 0; i < n && err == 0; i++) {
        const struct rpmi_op *op = &ops[i];

        if (op->kind == RPMI_OP_WRITE) {
            err = do_write(shm, op, &section);
        } else if (op->kind == RPMI_OP_DRAIN) {
            drain(&section);
        } else {
            err = do_other(shm, op, &section);
        }
    }
    section_leave(&section);
    return err != 0 ? err : (int)n;
}

/* A single append is stored by write-backs, or by non-temporal stores if a reader waits at the
 * tail. A line that is written back stays in this CPU's cache, and a reader that polls it takes it
 * away repeatedly: then non-temporal stores complete sooner. */
__attribute__((noinline)) static void check_for_followers(struct rpmi_direct *direct,
                                                          const struct rpmi_guard *guard)
{
    uint64_t seen = __atomic_load_n(&guard->followed, __ATOMIC_RELAXED);

    direct->followed = seen != direct->follow_seen;
    direct->follow_seen = seen;
    direct->follow_turns = FOLLOW_TURNS;
}

static inline bool is_open(const struct rpmi_shm *shm)
{
    return shm->link.lost == 0 && rpmi_liveness_alive(shm->liveness);
}

static int fast_enter(struct rpmi_link *link, uint32_t id, uint64_t bytes, bool alone, bool cached)
{
    struct rpmi_shm *shm = rpmi_shm_of(link);
    struct rpmi_direct *direct = &shm->direct;
    const struct rpmi_shm_key *key = &direct->key[id % RPMI_KEYS_MAX];
    struct guarded_section section = { 0 };

    RPM_ASSERT(direct->entered == NULL);
    if (RPMI_UNLIKELY(!is_open(shm) || id >= RPMI_KEYS_MAX || key->base == NULL ||
                      key->guard == NULL || (key->rights & RPMI_RIGHT_WRITE) == 0 ||
                      bytes > key->bytes))
        return RPM_E_DENIED;
    if (RPMI_UNLIKELY(section_enter(&section, key, shm->membarrier) != 0))
        return RPM_E_FENCED;
    direct->entered = key;
    direct->entered_bytes = bytes;
    if (alone && RPMI_UNLIKELY(direct->follow_turns-- == 0))
        check_for_followers(direct, key->guard);
    direct->entered_cached = cached;
    direct->put_frame = !direct->past_cache          ? rpmi_plain_frame
                        : cached                     ? rpmi_back_frame
                        : alone && !direct->followed ? rpmi_cpu.lone_frame
                                                     : rpmi_cpu.nt_frame;
    return 0;
}

static inline unsigned char *fast_place(const struct rpmi_direct *direct, uint64_t offset,
                                        uint64_t len)
{
    RPM_ASSERT_SLOW(direct->entered != NULL);
    RPM_ASSERT(offset >= direct->entered->guarded_bytes && offset < direct->entered_bytes &&
               len <= direct->entered_bytes - offset);
    return direct->entered->base + offset;
}

static void fast_frame(struct rpmi_link *link, uint64_t offset, const uint64_t head[3],
                       const void *body, uint64_t body_bytes, uint64_t len)
{
    const struct rpmi_direct *direct = &rpmi_shm_of(link)->direct;

    direct->put_frame(fast_place(direct, offset, len), head, body, body_bytes, len);
}

static void fast_body(struct rpmi_link *link, uint64_t offset, const void *body,
                      uint64_t body_bytes, uint64_t len)
{
    const struct rpmi_direct *direct = &rpmi_shm_of(link)->direct;
    unsigned char *to = fast_place(direct, offset, len);

    if (direct->past_cache && direct->entered_cached)
        rpmi_back_write(to, NULL, 0, body, body_bytes, len);
    else if (direct->past_cache)
        rpmi_nt_write(to, NULL, 0, body, body_bytes, len);
    else
        rpmi_plain_write(to, NULL, 0, body, body_bytes, len);
}

static void fast_leave(struct rpmi_link *link)
{
    struct rpmi_direct *direct = &rpmi_shm_of(link)->direct;
    struct guarded_section section = { .key = direct->entered, .unfenced = true };

    RPM_ASSERT_SLOW(direct->entered != NULL);
    section_leave(&section);
    direct->entered = NULL;
}

static void fast_follow(struct rpmi_link *link, uint32_t id)
{
    const struct rpmi_shm_key *key = &rpmi_shm_of(link)->direct.key[id % RPMI_KEYS_MAX];
    struct rpmi_guard *guard;

    if (link->lost != 0 || id >= RPMI_KEYS_MAX || key->base == NULL ||
        key->bytes < RPMI_LOG_HEADER_BYTES)
        return;
    guard = (struct rpmi_guard *)(void *)(key->base + RPMI_GUARD_OFFSET);
    (void)__atomic_fetch_add(&guard->followed, 1, __ATOMIC_RELAXED);
}

static int fast_read(struct rpmi_link *link, uint32_t id, uint64_t offset, void *into, uint64_t len)
{
    struct rpmi_shm *shm = rpmi_shm_of(link);

    return RPMI_LIKELY(is_open(shm)) ? do_read(shm, id, offset, into, len) : RPM_E_LOST;
}

static int fast_swap(struct rpmi_link *link, uint32_t id, uint64_t offset, uint64_t expect,
                     uint64_t desired, uint64_t *found)
{
    struct rpmi_shm *shm = rpmi_shm_of(link);
    struct guarded_section section = { 0 };
    int err = RPM_E_LOST;
    uint64_t *word = RPMI_LIKELY(is_open(shm)) ? find_word(shm, id, offset, &section, &err) : NULL;

    RPM_ASSERT_SLOW(shm->direct.entered == NULL); /* this would end the section that was entered */
    if (word == NULL)
        return err;
    *found = swap(word, expect, desired);
    section_leave(&section);
    return 0;
}

const struct rpmi_fast_path rpmi_direct_fast_path = {
    .enter = fast_enter,
    .frame = fast_frame,
    .body = fast_body,
    .leave = fast_leave,
    .follow = fast_follow,
    .read = fast_read,
    .swap = fast_swap,
};

const void *rpmi_direct_peek(struct rpmi_link *link, uint32_t key, uint64_t offset, uint64_t len)
{
    const struct rpmi_shm *shm = rpmi_shm_of(link);
    const struct rpmi_shm_key *entry = &shm->direct.key[key % RPMI_KEYS_MAX];

    if (link->lost != 0 || key >= RPMI_KEYS_MAX || entry->base == NULL ||
        !rpmi_in_bounds(offset, len, entry->bytes))
        return NULL;
    return entry->base + offset;
}
