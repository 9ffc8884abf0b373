/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * region.h: regions: reads and writes in place of a named span of remote memory, at a level, and
 * 8-byte atomics on volatile words. region_async.h has the calls that do not wait for the server.
 *
 * Until a write completes, each of its aligned 8-byte words may be old or new, both as other
 * clients see it and as it survives a power loss. A word of a write that does not start at a
 * multiple of 8 may also be a mix of both. Bytes outside a write are never touched (but see
 * slot_bytes).
 *
 * A region has no fence of its own. Writes that a client had sent when it died, or when its
 * connection was lost or closed, may still arrive and overwrite newer bytes of other clients, until
 * the server has cleaned up after that client; then none of them arrives any more. The clean-up has
 * ended when one of the dead client's locks is free, when rpm_lock_owner() says that it is not
 * alive, when the client has reconnected, or when the server was restarted. So let clients write to
 * the same bytes only under a lock: a client that gets the lock of a dead client finds bytes that
 * the dead client no longer changes.
 *
 * The claim of a log can guard a region handle (rpm_region_opts.claim), which is then fenced as the
 * log is: after another client's rpm_log_open() of that log has returned 0, the older writer's
 * handle writes nothing and changes no word any more, no matter where or for how long the older
 * writer was suspended. Handles that are not guarded by that log are not fenced.
 */
#ifndef LIBRPM_REGION_H
#define LIBRPM_REGION_H

#include <librpm/append.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rpm_region;

enum rpm_region_flag {
    RPM_REGION_CREATE = 1, /* create it if there is none of that name */
    RPM_REGION_EXCL = 2,   /* with CREATE: fail if there is one */
    RPM_REGION_DRAM = 4    /* volatile words in server DRAM: atomics work, nothing persists (H8) */
};

struct rpm_region_opts {
    size_t size;           /* sizeof this struct as the caller compiled it */
    uint32_t flags;        /* enum rpm_region_flag */
    uint32_t level;        /* enum rpm_level that a completion promises; 0: RPM_DURABLE,
                              RPM_VISIBLE for a DRAM region */
    uint64_t bytes;        /* with CREATE: length, 1 up to the room in the pool */
    uint32_t slot_bytes;   /* the region is an array of slots of this size (multiple of 64), each
                              owned by its writer: a write that begins at the start of a slot may be
                              padded with zeros to a multiple of 64 bytes. 0: no padding */
    uint32_t inflight_max; /* asynchronous operations outstanding; 0: 256 */
    struct rpm_log *claim; /* guard log, open for writing on the same connection: this handle can
                              write only while that log holds its claim. Borrowed until
                              rpm_region_close(). NULL: no guard */
    uint32_t method;       /* enum rpm_method to insist on; 0: the connection's */
};

static inline struct rpm_region_opts rpm_region_opts_init(void)
{
    struct rpm_region_opts opts;

    memset(&opts, 0, sizeof(opts));
    opts.size = sizeof(opts);
    return opts;
}

enum rpm_patch_flag {
    RPM_PATCH_AFTER = 1 /* write this piece only when all earlier pieces are at the region's level:
                           for a flag or version that declares earlier data valid */
};

/* One piece of a vectored write. */
struct rpm_patch {
    uint64_t offset; /* bytes from the start of the region */
    const void *data;
    size_t len;     /* bytes */
    uint32_t flags; /* enum rpm_patch_flag */
};

/**
 * rpm_region_open: open a named span of remote memory.
 *
 * @conn    Borrowed until rpm_region_close().
 * @name    1..RPM_NAME_MAX bytes. Borrowed.
 * @opts    NULL: an existing persistent region at RPM_DURABLE. Borrowed until return.
 * @region  out, set only on 0. Taken by the caller: rpm_region_close().
 *
 * Durable:  with CREATE, on 0 the region exists after power loss, zero-filled (not DRAM).
 * Errors:   RPM_E_NOENT, RPM_E_EXISTS (also: of another kind), RPM_E_NAME, RPM_E_NOCAP (the level
 *           cannot be proven, the method does not reach it, or the link lacks the method),
 *           RPM_E_NOSPACE (no room in the pool or DRAM), RPM_E_LIMIT, RPM_E_INVAL (also: a guard
 *           log of another connection, or open for reading only), RPM_E_FENCED (another writer has
 *           claimed the guard log since), RPM_E_OPTS, RPM_E_NOMEM, RPM_E_LOST, RPM_E_TIMEDOUT.
 * Threads:  one per conn.
 * Cost:     one message round trip; allocates all that the region will ever need.
 */
RPM_MUST_CHECK int rpm_region_open(struct rpm_conn *conn, const char *name,
                                   const struct rpm_region_opts *opts, struct rpm_region **region);

/**
 * rpm_region_bytes: the length of the region in bytes.
 *
 * @region  Borrowed.
 *
 * Threads:  one per conn.
 */
uint64_t rpm_region_bytes(const struct rpm_region *region);

/**
 * rpm_region_write: write in place and wait until the bytes are at the region's level.
 *
 * @region  Borrowed.
 * @offset  bytes from the start of the region.
 * @data    Borrowed until return; never written.
 * @len     bytes, at least 1.
 *
 * Durable:  on 0 the bytes are at the region's level. A write is not atomic: before that, and
 *           after RPM_E_LOST, RPM_E_TIMEDOUT or RPM_E_IO, each aligned 8-byte word of it may be
 *           old or new, and may still change, as said at the top of this file. After RPM_E_FENCED
 *           the same, but no word changes after the next writer's claim of the log has succeeded.
 * Errors:   RPM_E_RANGE (outside the region; nothing was sent), RPM_E_INVAL, RPM_E_FENCED (another
 *           client claimed the guard log: this handle can only read from now on; except on a direct
 *           link the connection may be lost too), RPM_E_LOST, RPM_E_TIMEDOUT, RPM_E_IO.
 * Threads:  one per conn.
 * Cost:     one write and one flush, one round trip; no allocation. On a direct link a guarded
 *           write pays for the check of its claim, as an append does.
 * Source:   H6, H7, H9; lib/plan/rule_word.c.
 */
RPM_MUST_CHECK int rpm_region_write(struct rpm_region *region, uint64_t offset, const void *data,
                                    size_t len);

/**
 * rpm_region_writev: several writes with one flush, and one more before each RPM_PATCH_AFTER.
 *
 * @region   Borrowed.
 * @patches  1..n pieces, applied in order. Borrowed until return.
 * @n        1..inflight_max.
 *
 * Durable:  on 0 all bytes are at the region's level; before that, any subset may be, but no
 *           piece marked RPM_PATCH_AFTER without all the pieces before it.
 * Errors:   as rpm_region_write(); all pieces are checked before anything is sent.
 * Threads:  one per conn.
 * Cost:     @n writes and the flushes, one round trip; no allocation.
 * Source:   a READ or FLUSH is not ordered before a later WRITE unless the WRITE carries a fence. A
 *           FLUSH is ordered before a later ATOMIC WRITE, and on devices that have it
 *           (rpm_facts.atomic_write) an aligned 8-byte word is sent as ATOMIC WRITE.
 */
RPM_MUST_CHECK int rpm_region_writev(struct rpm_region *region, const struct rpm_patch *patches,
                                     uint32_t n);

/**
 * rpm_region_read: read the bytes that are visible now.
 *
 * @region  Borrowed.
 * @offset  bytes from the start of the region.
 * @data    out, @len bytes. Borrowed until return.
 * @len     bytes, at least 1.
 *
 * If another writer claims the log that guards the region, reads still succeed; the first write of
 * this handle is then refused with RPM_E_FENCED, which ends the connection, and with it the reads.
 *
 * Durable:  bytes read need not be durable yet: rpm_region_persist() makes them durable.
 * Errors:   RPM_E_RANGE, RPM_E_INVAL, RPM_E_LOST, RPM_E_TIMEDOUT, RPM_E_IO.
 * Threads:  one per conn.
 * Cost:     one round trip for each staging buffer full; no allocation.
 */
RPM_MUST_CHECK int rpm_region_read(struct rpm_region *region, uint64_t offset, void *data,
                                   size_t len);

/**
 * rpm_region_prefetch: load a span into this CPU's caches that will soon be read, written or
 * swapped.
 *
 * @region  Borrowed.
 * @offset  bytes from the start of the region.
 * @len     bytes; those outside the region are ignored.
 *
 * On a direct link, where this process maps the server's memory, the CPU begins to load the cache
 * lines, so that the misses of several accesses overlap. On other links, and on a lost connection,
 * the call does nothing.
 *
 * Durable:  changes nothing.
 * Threads:  one per conn.
 * Cost:     a few instructions for each line of 64 bytes; waits for nothing.
 */
void rpm_region_prefetch(struct rpm_region *region, uint64_t offset, size_t len);

/**
 * rpm_region_persist: bring a span, written by any client, to the region's level.
 *
 * @region  Borrowed.
 * @offset  bytes from the start of the region.
 * @len     bytes, at least 1.
 *
 * Durable:  on 0 every byte visible in the span when the call began is at the region's level.
 * Errors:   RPM_E_RANGE, RPM_E_INVAL, RPM_E_FENCED, RPM_E_LOST, RPM_E_TIMEDOUT, RPM_E_IO.
 * Threads:  one per conn.
 * Cost:     one flush, one round trip; if guarded, also a read of one word behind the flush.
 */
RPM_MUST_CHECK int rpm_region_persist(struct rpm_region *region, uint64_t offset, uint64_t len);

/**
 * rpm_region_cas: compare and swap one 8-byte word of a DRAM region.
 *
 * @region   opened with RPM_REGION_DRAM. Borrowed.
 * @offset   bytes, multiple of 8.
 * @expect   value the word must have.
 * @desired  new value of the word if it equals @expect.
 * @found    out: the value it had.
 *
 * Durable:  never: the word is lost when the server ends.
 * Errors:   RPM_E_NOCAP (persistent region), RPM_E_RANGE, RPM_E_INVAL (not aligned), RPM_E_FENCED,
 *           RPM_E_LOST, RPM_E_TIMEDOUT.
 * Threads:  one per conn; atomic against every other client of this server.
 * Cost:     one round trip.
 * Source:   H8; lib/plan/rule_lock.c.
 */
RPM_MUST_CHECK int rpm_region_cas(struct rpm_region *region, uint64_t offset, uint64_t expect,
                                  uint64_t desired, uint64_t *found);

/**
 * rpm_region_faa: fetch and add on one 8-byte word of a DRAM region.
 *
 * @region   opened with RPM_REGION_DRAM. Borrowed.
 * @offset   bytes, multiple of 8.
 * @add      added modulo 2^64.
 * @found    out: the value before.
 *
 * Durable:  never.
 * Errors:   as rpm_region_cas().
 * Threads:  one per conn; atomic against every other client of this server.
 * Cost:     one round trip.
 * Source:   H8.
 */
RPM_MUST_CHECK int rpm_region_faa(struct rpm_region *region, uint64_t offset, uint64_t add,
                                  uint64_t *found);

/**
 * rpm_region_close: release the region. Safe on NULL; sets @region to NULL. Close it before the log
 * that guards it.
 *
 * @region  Taken.
 *
 * Threads:  one per conn.
 */
void rpm_region_close(struct rpm_region **region);

#ifdef __cplusplus
}
#endif
#endif
