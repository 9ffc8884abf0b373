/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * region.h: region writes: reads and writes in place of a named span of remote memory, at a level,
 * and 8-byte atomics on volatile words. What does not wait for the server is in region_async.h.
 *
 * Before a write completes, every aligned 8-byte word of it that others see, or that survives, is
 * old or new, in any mix. This holds for a write that starts at a multiple of 8; of another one a
 * word may also be made of both. Bytes outside a write are never touched (but see slot_bytes).
 *
 * Nothing fences a region by itself. What a client had sent when it died, or when its connection
 * was lost or closed, may land later in the same way, over what others wrote meanwhile, until the
 * server has cleaned up after it; from then on nothing of it lands. The clean-up is over when one
 * of its locks is free or rpm_lock_owner() calls it gone, when it has reconnected, and when the
 * server was restarted. So what several clients write belongs under a lock: a client that gets that
 * of a dead client finds bytes that stay as they are.
 *
 * Guarded, a region is fenced as a log is (rpm_region_opts.claim): when another client's
 * rpm_log_open() of that log has returned 0, nothing is written, nor any word changed, through the
 * older writer's handles any more, whatever that one was at when it was stopped, and for how long.
 * Other handles to the same region know nothing of that.
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
    uint32_t slot_bytes;   /* records are slots of this size (multiple of 64), owned whole by their
                              writer: a write from a slot's start may zero up to its next multiple
                              of 64 bytes. 0: bytes outside a write are never touched */
    uint32_t inflight_max; /* asynchronous operations outstanding; 0: 256 */
    struct rpm_log *claim; /* open for writing on the same connection: what goes through this handle
                              is let in only while that log is claimed by it. Borrowed until
                              rpm_region_close(). NULL: nothing guards it */
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
    RPM_PATCH_AFTER = 1 /* place this piece only when all earlier ones are at the region's level:
                           for a flag or version that vouches for data written before it */
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
 * Errors:   RPM_E_NOENT, RPM_E_EXISTS (also: of another kind), RPM_E_NAME, RPM_E_NOCAP (the level,
 *           or the method, which does not reach it or which the link cannot carry out),
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
 *           old or new, and may still change, as said at the top of this file.
 *           After RPM_E_FENCED the same, but nothing changes once the log's next writer has it.
 * Errors:   RPM_E_RANGE (outside the region; nothing was sent), RPM_E_INVAL, RPM_E_FENCED (another
 *           client claimed the log that guards the region: this handle only reads from now on, and
 *           but for a direct link the connection may be lost with it), RPM_E_LOST, RPM_E_TIMEDOUT,
 *           RPM_E_IO.
 * Threads:  one per conn.
 * Cost:     one write and one flush, one round trip; no allocation. On a direct link a guard costs
 *           what it costs an append.
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
 * Source:   a READ or FLUSH is not ordered before a later WRITE unless that one carries a fence; a
 *           FLUSH is before a later ATOMIC WRITE, which an aligned word of 8 bytes is where the
 *           devices have it (rpm_facts.atomic_write).
 */
RPM_MUST_CHECK int rpm_region_writev(struct rpm_region *region, const struct rpm_patch *patches,
                                     uint32_t n);

/**
 * rpm_region_read: read what is visible now.
 *
 * @region  Borrowed.
 * @offset  bytes from the start of the region.
 * @data    out, @len bytes. Borrowed until return.
 * @len     bytes, at least 1.
 *
 * If another writer claims the log that guards the region, reads still succeed; the first write of
 * this handle is then refused with RPM_E_FENCED, which ends the connection and so its reads.
 *
 * Durable:  what is read need not be durable yet: rpm_region_persist() makes it so.
 * Errors:   RPM_E_RANGE, RPM_E_INVAL, RPM_E_LOST, RPM_E_TIMEDOUT, RPM_E_IO.
 * Threads:  one per conn.
 * Cost:     one round trip for each staging buffer full; no allocation.
 */
RPM_MUST_CHECK int rpm_region_read(struct rpm_region *region, uint64_t offset, void *data,
                                   size_t len);

/**
 * rpm_region_prefetch: say what will be read, written or swapped soon.
 *
 * @region  Borrowed.
 * @offset  bytes from the start of the region.
 * @len     bytes. What lies outside the region is not asked for.
 *
 * Where the server's memory is mapped here this CPU begins to load the lines, so that several
 * accesses miss its caches at the same time and not one after the other. Elsewhere, and where the
 * connection was lost, it does nothing.
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
 * Cost:     one flush, one round trip; guarded, with a read of one word behind it.
 */
RPM_MUST_CHECK int rpm_region_persist(struct rpm_region *region, uint64_t offset, uint64_t len);

/**
 * rpm_region_cas: compare and swap one 8-byte word of a DRAM region.
 *
 * @region   opened with RPM_REGION_DRAM. Borrowed.
 * @offset   bytes, multiple of 8.
 * @expect   value the word must have.
 * @desired  value it gets then.
 * @found    out: the value it had.
 *
 * Durable:  never: the word is gone when the server ends.
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
 * rpm_region_close: release the region. Safe on NULL; sets @region to NULL. Before the log that
 * guards it is closed.
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
