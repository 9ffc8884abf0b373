/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * direct_key.c: keep the table of a direct client's keys: which part of the memory that the server
 * lends each opens, with which rights. The server's answers to open, claim and close calls change
 * it.
 *
 * Invariants
 *   a key's memory is inside the mapping, even if the server's answer is wrong
 *   while this client holds a claim, it holds the file lock of the claim's guard slot, by which the
 *   server sees that the client lives; it writes by the claim only if the server granted no other
 *   claim before it had the lock
 *   before the first access to an object of the pool, and while it has a key of it, this client
 *   holds a file lock on the object: the server may reuse the space once no client holds one
 *
 * Tests: tests/conform/transport_test.cpp, tests/conform/fence_test.cpp
 */
#include "transport/shm/shm.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/fd.h"
#include "pmem/cpu_copy.h"
#include "pool/service.h"
#include "transport/shm/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define POPULATE_MAX (64u << 20) /* bytes of an object whose page tables are filled at once */

/* Open the pool file again: locks on the lent descriptor would be the server's own. */
static int open_for_locks(int fd)
{
    char self[48];

    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    return open(self, O_RDWR | O_CLOEXEC);
}

/* What attach has taken, or a part of it. */
static void give_back(struct rpmi_direct *direct)
{
    rpmi_mapping_put(direct->pool_mapping);
    rpmi_mapping_put(direct->dram_mapping);
    direct->pool_mapping = NULL;
    direct->dram_mapping = NULL;
    direct->pool = NULL;
    direct->dram = NULL;
    rpmi_fd_close(&direct->lock_fd);
}

int rpmi_direct_attach(struct rpmi_shm *shm, struct rpmi_grant *grant)
{
    const struct rpmi_accept *accepted = &grant->accepted;
    struct rpmi_direct *direct = &shm->direct;
    bool fresh = shm->stage.base == NULL;
    int err;

    RPM_ASSERT(direct->lock_fd < 0); /* no claim or object of an earlier connection is locked */
    direct->lock_fd = open_for_locks(grant->fds[RPMI_FD_POOL]);
    if (direct->lock_fd < 0)
        return rpmi_fail(RPM_E_NOCAP, "cannot open the pool for locks: %s; mode=ring needs none",
                         strerror(errno));
    if (accepted->facts.domain == RPM_DOMAIN_ADR && !rpmi_cpu.can_flush) {
        err =
            rpmi_fail(RPM_E_NOCAP, "the server lends a pool in the domain ADR, and this program's "
                                   "CPU has no instruction to flush it: connect with mode=ring");
        goto undo;
    }
    err = rpmi_mapping_get(grant->fds[RPMI_FD_POOL], accepted->pool_bytes, accepted->facts.medium,
                           &direct->pool_mapping);
    if (err != 0)
        goto undo;
    err = rpmi_mapping_get(grant->fds[RPMI_FD_DRAM], accepted->dram_bytes, RPM_MEDIUM_DRAM,
                           &direct->dram_mapping);
    if (err != 0)
        goto undo;
    if (fresh) /* in a reconnect, staging memory stays where it is, with its contents */
        err = rpmi_stage_map(&shm->stage, shm->hello.staging_bytes);
    if (err != 0)
        goto undo;
    direct->pool = rpmi_mapping_base(direct->pool_mapping);
    direct->dram = rpmi_mapping_base(direct->dram_mapping);
    direct->pool_bytes = accepted->pool_bytes;
    direct->dram_bytes = accepted->dram_bytes;
    direct->past_cache = accepted->facts.domain == RPM_DOMAIN_ADR;
    memset(direct->key, 0, sizeof(direct->key));
    direct->key[RPMI_KEY_SCRATCH] = (struct rpmi_shm_key){
        .base = direct->scratch,
        .bytes = sizeof(direct->scratch),
        .rights = RPMI_RIGHT_READ,
    };
    shm->link.flags =
        RPMI_LINK_COMPLETES_ON_POST | RPMI_LINK_STEPS | RPMI_LINK_SUM | RPMI_LINK_COMPARE;
    shm->link.fast_path = &rpmi_direct_fast_path;
    if (fresh)
        shm->link.depth = shm->hello.depth;
    return 0;

undo:
    give_back(direct);
    return err;
}

void rpmi_direct_detach(struct rpmi_shm *shm)
{
    struct rpmi_direct *direct = &shm->direct;

    RPM_ASSERT(direct->entered == NULL); /* no store is under way in what is unmapped here */
    memset(direct->key, 0, sizeof(direct->key));
    shm->link.fast_path = NULL;
    give_back(direct);
}

/* Fill the page tables of what was opened. Not for a file in the page cache, all of which would be
 * read in; and not for large objects, of which a client may use few pages: a GiB takes about 0.1 s.
 * A file system on persistent memory has to hear of the first write to each page. */
static void populate(const struct rpmi_shm *shm, const struct rpmi_shm_key *key, bool dram,
                     bool write)
{
    const struct rpmi_direct *direct = &shm->direct;
    uint64_t at = (uint64_t)(key->base - (dram ? direct->dram : direct->pool));

    if (shm->link.facts.medium == RPM_MEDIUM_FILE || key->bytes > POPULATE_MAX)
        return;
#ifdef MADV_POPULATE_WRITE
    if (shm->link.facts.medium == RPM_MEDIUM_FSDAX && write) {
        unsigned char *first = key->base - at % RPMI_PAGE_BYTES;

        (void)madvise(first, key->bytes + at % RPMI_PAGE_BYTES, MADV_POPULATE_WRITE);
        return;
    }
#endif
    rpmi_mapping_populate(dram ? direct->dram_mapping : direct->pool_mapping, at, key->bytes);
}

static int lock_bytes(int fd, uint64_t at, uint64_t len, short type)
{
    struct flock lock = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)at, .l_len = (off_t)len
    };

    return fcntl(fd, F_OFD_SETLK, &lock);
}

static int learn_open(struct rpmi_shm *shm, const struct rpmi_call *call,
                      const struct rpmi_reply *reply)
{
    struct rpmi_direct *direct = &shm->direct;
    bool dram = rpmi_kind_is_volatile(call->object);
    bool log = call->object == RPM_KIND_LOG;
    uint64_t room = dram ? direct->dram_bytes : direct->pool_bytes;
    uint64_t header = log ? RPMI_LOG_HEADER_BYTES : 0;
    struct rpmi_shm_key *key = &direct->key[reply->key % RPMI_KEYS_MAX];
    const struct rpmi_shm_key *claim = NULL;

    if (reply->key == RPMI_KEY_SCRATCH || reply->key >= RPMI_KEYS_MAX ||
        reply->bytes > room - header ||
        !rpmi_in_bounds(reply->offset, reply->bytes + header, room) ||
        !rpmi_is_aligned(reply->offset, sizeof(uint64_t)))
        return rpmi_fail(RPM_E_PROTO,
                         "the server granted key %u to %llu bytes at %llu, which are not in the "
                         "%llu that it lends",
                         reply->key, (unsigned long long)reply->bytes,
                         (unsigned long long)reply->offset, (unsigned long long)room);
    if ((call->flags & RPMI_CALL_GUARDED) != 0) {
        claim = &direct->key[call->key % RPMI_KEYS_MAX];
        if (call->key >= RPMI_KEYS_MAX || claim->lock_at == 0)
            return rpmi_fail(
                RPM_E_PROTO,
                "the server granted a key guarded by key %u, which is no claim of this client",
                call->key);
    }
    if (!dram && lock_bytes(direct->lock_fd, RPMI_LEASE_AT + reply->offset, reply->bytes + header,
                            F_RDLCK) != 0)
        return rpmi_fail(RPM_E_LOST, "cannot lock what was opened: %s", strerror(errno));
    *key = (struct rpmi_shm_key){
        .base = (dram ? direct->dram : direct->pool) + reply->offset,
        .bytes = reply->bytes + header,
        .rights = rpmi_rights_of(call->object),
        .guarded_bytes = log ? RPMI_LOG_GUARDED_BYTES : 0,
        .guard = claim != NULL ? claim->guard : NULL,
        .epoch = claim != NULL ? claim->epoch : 0,
    };
    populate(shm, key, dram, !log);
    return 0;
}

/* Release the lock of the guard slot. Without the lock the server takes the writer for dead, so
 * this process must not write by keys of the claim any more: their epoch becomes 0, which no claim
 * has. */
static void end_claim(struct rpmi_direct *direct, const struct rpmi_shm_key *claim)
{
    uint64_t epoch = claim->epoch;

    RPM_ASSERT(claim->guard != NULL && claim->lock_at != 0);
    if (lock_bytes(direct->lock_fd, claim->lock_at, 1, F_UNLCK) != 0)
        RPM_ASSERT(errno != EINVAL);
    for (uint32_t i = 1; i < RPMI_KEYS_MAX; i++)
        if (direct->key[i].guard == claim->guard && direct->key[i].epoch == epoch)
            direct->key[i].epoch = 0;
}

/*
 * Does the claim still hold, now that this client has its lock? Before that the server may have
 * granted a later one. The claim word shows a later claim, unless it has the same epoch, by its
 * token: so ask the server, by a call that it refuses to a key that it has revoked, and that
 * changes nothing else. A claim that comes from now on finds the lock.
 */
static int confirm_claim(struct rpmi_shm *shm, uint32_t id, uint64_t deadline_ns)
{
    const struct rpmi_call call = { .kind = RPMI_CALL_UNDELEGATE, .key = id };
    struct rpmi_shm_key *key = &shm->direct.key[id];
    struct rpmi_reply reply = { 0 };
    int err = rpmi_shm_ask(shm, &call, &reply, deadline_ns);

    if (err != 0 || reply.status != 0) {
        end_claim(&shm->direct, key);
        key->lock_at = 0;
    }
    return err;
}

static int learn_claim(struct rpmi_shm *shm, const struct rpmi_call *call,
                       const struct rpmi_reply *reply, uint64_t deadline_ns)
{
    struct rpmi_direct *direct = &shm->direct;
    const struct rpmi_shm_key *opened = &direct->key[call->key % RPMI_KEYS_MAX];
    struct rpmi_shm_key *key = &direct->key[reply->key % RPMI_KEYS_MAX];
    int err;

    if (reply->key == RPMI_KEY_SCRATCH || reply->key >= RPMI_KEYS_MAX ||
        call->key >= RPMI_KEYS_MAX || opened->guarded_bytes == 0 ||
        opened->base != direct->pool + reply->offset)
        return rpmi_fail(
            RPM_E_PROTO,
            "the server granted a claim on offset %llu, which is not the log of key %u",
            (unsigned long long)reply->offset, call->key);
    *key = *opened;
    key->rights = RPMI_RIGHT_READ | RPMI_RIGHT_WRITE;
    key->guard = (struct rpmi_guard *)(void *)(key->base + RPMI_GUARD_OFFSET);
    key->epoch = reply->epoch;
    key->lock_at = reply->offset + reply->epoch % RPMI_GUARD_SLOTS;
    if (lock_bytes(direct->lock_fd, key->lock_at, 1, F_WRLCK) != 0) {
        memset(key, 0, sizeof(*key));
        return rpmi_fail(RPM_E_LOST, "cannot lock the claim's guard slot: %s", strerror(errno));
    }
    err = confirm_claim(shm, reply->key, deadline_ns);
    if (err == 0)
        populate(shm, key, false, true);
    return err;
}

/* The last key of an object in the pool was closed: release its lock. */
static void end_lease(const struct rpmi_direct *direct, const unsigned char *base, uint64_t bytes)
{
    uintptr_t at = (uintptr_t)base - (uintptr_t)direct->pool;

    if (at >= direct->pool_bytes) /* DRAM: its objects end with their server and have no lock */
        return;
    for (uint32_t i = 1; i < RPMI_KEYS_MAX; i++)
        if (direct->key[i].base == base)
            return;
    if (lock_bytes(direct->lock_fd, RPMI_LEASE_AT + at, bytes, F_UNLCK) != 0)
        RPM_ASSERT(errno != EINVAL);
}

static void learn_close(struct rpmi_shm *shm, const struct rpmi_call *call)
{
    struct rpmi_direct *direct = &shm->direct;
    struct rpmi_shm_key *key = &direct->key[call->key % RPMI_KEYS_MAX];
    struct rpmi_shm_key old = *key;

    if (call->key == RPMI_KEY_SCRATCH || call->key >= RPMI_KEYS_MAX || old.base == NULL)
        return;
    memset(key, 0, sizeof(*key));
    if (old.lock_at != 0)
        end_claim(direct, &old);
    end_lease(direct, old.base, old.bytes);
}

int rpmi_direct_learn(struct rpmi_shm *shm, const struct rpmi_call *call,
                      const struct rpmi_reply *reply, uint64_t deadline_ns)
{
    RPM_ASSERT(shm->direct.entered == NULL); /* no key that is in use changes */
    if (reply->status != 0)
        return 0;
    switch (call->kind) {
    case RPMI_CALL_OPEN:
        return learn_open(shm, call, reply);
    case RPMI_CALL_CLAIM:
        return learn_claim(shm, call, reply, deadline_ns);
    case RPMI_CALL_CLOSE:
        learn_close(shm, call);
        return 0;
    default:
        return 0;
    }
}
