/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * locks.c: a table of lock words in server DRAM. A word is 0 when free, else the owner's id in its
 * upper half and the epoch of the server run that gave the id out in its lower half.
 *
 * Invariants
 *   a word changes only by compare-and-swap
 *   a held word is changed only by its owner, by the server after the owner's death, or by a client
 *   that has asked the server and found the owner dead
 *
 * Format: FORMAT.md, section 1.   Tests: tests/unit/region/locks_test.cpp
 */
#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "region/atomic.h"
#include "wire/super.h"

#include <librpm/lock.h>

#include <inttypes.h>
#include <string.h>

#define LOCKS_MAX (UINT64_MAX / sizeof(uint64_t) / 2)

struct rpm_locks {
    struct rpmi_owner owner;
    struct rpm_conn *conn;
    uint64_t link_generation;
    uint32_t key;
    uint64_t count;
    int dead;
};

static void on_complete(struct rpmi_owner *owner, uint64_t seq, int status)
{
    (void)owner;
    (void)seq;
    (void)status;
}

static void on_lost(struct rpmi_owner *owner, int status)
{
    struct rpm_locks *locks =
        (struct rpm_locks *)((unsigned char *)owner - offsetof(struct rpm_locks, owner));

    RPM_ASSERT(status != 0); /* else the table would be used by a key of the lost link */
    locks->dead = status;
}

int rpm_locks_open(struct rpm_conn *conn, const char *name, uint64_t count,
                   struct rpm_locks **locks)
{
    rpmi_begin();

    struct rpmi_call call = {
        .kind = RPMI_CALL_OPEN,
        .object = RPM_KIND_LOCKS,
        .flags = count != 0 ? RPMI_CALL_CREATE : 0,
        .bytes = count * sizeof(uint64_t),
    };
    struct rpmi_reply reply;
    struct rpm_locks *fresh;
    int err;

    RPM_ASSERT(conn != NULL && name != NULL && locks != NULL);
    if (count > LOCKS_MAX)
        return rpmi_fail(RPM_E_NOSPACE,
                         "a table of %" PRIu64 " locks, maximum %" PRIu64 "; ask for fewer", count,
                         LOCKS_MAX);
    err = rpmi_name_check(name);
    if (err != 0)
        return err;
    fresh = rpmi_alloc(sizeof(*fresh), RPMI_LINE_BYTES);
    if (fresh == NULL)
        return RPM_E_NOMEM;
    fresh->conn = conn;
    fresh->owner.complete = on_complete;
    fresh->owner.lost = on_lost;
    err = rpmi_conn_join(conn, &fresh->owner);
    if (err != 0)
        goto free_handle;
    memcpy(call.name, name, strlen(name) + 1);
    err = rpmi_conn_call(conn, &call, &reply);
    if (err != 0)
        goto leave_conn;
    fresh->key = reply.key;
    fresh->count = reply.bytes / sizeof(uint64_t);
    fresh->link_generation = conn->generation;
    RPM_ASSERT(fresh->dead == 0); /* its loss would not be reported a second time */
    *locks = fresh;
    return 0;
leave_conn:
    rpmi_conn_leave(conn, &fresh->owner);
free_handle:
    rpmi_free(fresh);
    return err;
}

uint64_t rpm_locks_count(const struct rpm_locks *locks)
{
    RPM_ASSERT(locks != NULL);
    return locks->count;
}

static int check(const struct rpm_locks *locks, uint64_t index)
{
    RPM_ASSERT(locks != NULL);
    if (locks->dead != 0)
        return rpmi_fail(
            locks->dead,
            "the lock table's connection was lost; reconnect, then open the table again");
    /* By now an older key may open another object. */
    RPM_ASSERT(locks->link_generation == locks->conn->generation);
    if (index >= locks->count)
        return rpmi_fail(RPM_E_RANGE,
                         "lock %" PRIu64 " of a table of %" PRIu64
                         " locks, which are counted from 0",
                         index, locks->count);
    return 0;
}

static uint64_t my_word(const struct rpm_locks *locks)
{
    const struct rpmi_link *link = locks->conn->link;

    return (uint64_t)link->client << 32 | link->server_epoch;
}

static int swap_word(struct rpm_locks *locks, uint64_t index, uint64_t expect, uint64_t desired,
                     uint64_t *found)
{
    struct rpmi_op op = {
        .kind = RPMI_OP_CAS,
        .key = locks->key,
        .offset = index * sizeof(uint64_t),
        .expect = expect,
        .operand = desired,
    };

    RPM_ASSERT(index < locks->count);
    RPM_ASSERT(expect == 0 || desired == 0 || desired == my_word(locks)); /* no other client's */
    return rpmi_atomic(locks->conn, &op, found);
}

static int refuse_held(const struct rpm_locks *locks, uint64_t index, uint64_t found)
{
    RPM_ASSERT(found != 0);
    if (found == my_word(locks))
        return rpmi_fail(RPM_E_OWNED, "lock %" PRIu64 " is held by this client; release it first",
                         index);
    return rpmi_fail(RPM_E_OWNED,
                     "lock %" PRIu64 " is held by client %" PRIu64
                     "; try again, or break it if rpm_lock_owner() says that this client is dead",
                     index, found >> 32);
}

int rpm_lock_try(struct rpm_locks *locks, uint64_t index)
{
    rpmi_begin();

    uint64_t found = 0;
    int err = check(locks, index);

    if (err == 0)
        err = swap_word(locks, index, 0, my_word(locks), &found);
    if (err == 0 && found != 0)
        err = refuse_held(locks, index, found);
    return err;
}

/* Another client holds the lock: wait before the next try. */
static void wait_before_retry(struct rpm_conn *conn, uint64_t now_ns, uint64_t deadline_ns)
{
    struct rpm_conn_stats *stats = &conn->link->stats;
    uint64_t wait_ns = rpmi_backoff_conflict(&conn->backoff, now_ns);

    if (conn->eager)
        return;
    rpmi_conn_pause(conn, wait_ns, deadline_ns);
    stats->backoffs++;
    stats->backoff_ns += conn->link->ops->now_ns(conn->link) - now_ns;
}

int rpm_lock_acquire(struct rpm_locks *locks, uint64_t index)
{
    rpmi_begin();

    int err = check(locks, index);
    struct rpm_conn *conn = locks->conn;
    uint64_t now = conn->link->ops->now_ns(conn->link);
    uint64_t deadline = rpmi_conn_deadline(conn);
    uint64_t found = 0;

    rpmi_backoff_begin(&conn->backoff);
    while (err == 0) {
        uint64_t from = now;

        err = swap_word(locks, index, 0, my_word(locks), &found);
        now = conn->link->ops->now_ns(conn->link);
        if (err != 0)
            break;
        rpmi_backoff_round_trip(&conn->backoff, now - from);
        if (found == 0) {
            /* The word names this connection: if it were an older one, any client could break the
             * lock. */
            RPM_ASSERT(locks->link_generation == conn->generation && locks->dead == 0);
            rpmi_backoff_done(&conn->backoff, now);
            break;
        }
        if (found == my_word(locks) || now >= deadline)
            return refuse_held(locks, index, found);
        wait_before_retry(conn, now, deadline);
        now = conn->link->ops->now_ns(conn->link);
    }
    return err;
}

int rpm_lock_release(struct rpm_locks *locks, uint64_t index)
{
    rpmi_begin();

    uint64_t found = 0;
    int err = check(locks, index);

    if (err == 0)
        err = swap_word(locks, index, my_word(locks), 0, &found);
    if (err == 0 && found != my_word(locks))
        err =
            rpmi_fail(RPM_E_FENCED,
                      "lock %" PRIu64 " is not held by this client: its word names client %" PRIu64
                      " (0: it is free); acquire it again",
                      index, found >> 32);
    return err;
}

static int read_owner(struct rpm_locks *locks, uint64_t index, uint64_t *word,
                      struct rpm_lock_owner *owner)
{
    struct rpmi_call call = { .kind = RPMI_CALL_OWNER };
    struct rpmi_reply reply;
    int err = check(locks, index);

    if (err == 0)
        err =
            rpmi_conn_read(locks->conn, locks->key, index * sizeof(uint64_t), word, sizeof(*word));
    if (err != 0)
        return err;
    *owner = (struct rpm_lock_owner){
        .client = (uint32_t)(*word >> 32),
        .epoch = (uint32_t)*word,
    };
    if (*word == 0)
        return 0;
    call.lsn = *word;
    err = rpmi_conn_call(locks->conn, &call, &reply);
    if (err != 0)
        return err;
    /* Word and verdict are of one server run. */
    RPM_ASSERT(locks->link_generation == locks->conn->generation);
    owner->alive = reply.value != 0;
    return 0;
}

int rpm_lock_owner(struct rpm_locks *locks, uint64_t index, struct rpm_lock_owner *owner)
{
    rpmi_begin();

    struct rpm_lock_owner seen;
    uint64_t word;
    int err;

    RPM_ASSERT(owner != NULL);
    err = read_owner(locks, index, &word, &seen);
    if (err == 0)
        *owner = seen;
    return err;
}

int rpm_lock_break(struct rpm_locks *locks, uint64_t index)
{
    rpmi_begin();

    struct rpm_lock_owner owner;
    uint64_t found = 0;
    uint64_t word = 0;
    int err = read_owner(locks, index, &word, &owner);

    if (err != 0)
        return err;
    if (owner.alive)
        return rpmi_fail(RPM_E_OWNED,
                         "lock %" PRIu64 " is held by client %u, which is alive; only the lock of "
                         "a dead client can be broken: try again later",
                         index, owner.client);
    /* The server's verdict is about the owner whose lock this takes, and about no later one. */
    RPM_ASSERT(((uint64_t)owner.client << 32 | owner.epoch) == word);
    err = swap_word(locks, index, word, my_word(locks), &found);
    if (err == 0 && found != word)
        err = rpmi_fail(RPM_E_OWNED,
                        "lock %" PRIu64
                        " changed while it was being broken: its word names client %" PRIu64
                        " (0: it is free); try again",
                        index, found >> 32);
    return err;
}

void rpm_locks_close(struct rpm_locks **locks)
{
    RPM_ASSERT(locks != NULL);
    if (*locks == NULL)
        return;
    if ((*locks)->link_generation == (*locks)->conn->generation)
        rpmi_conn_drop_key((*locks)->conn, (*locks)->key);
    rpmi_conn_leave((*locks)->conn, &(*locks)->owner);
    rpmi_free(*locks);
    *locks = NULL;
}
