/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * steps.h: steps by the server CPU. A list of steps is a short list of operations on regions of one
 * connection: reads, writes, and atomics on volatile words. The client sends it in one message, and
 * the server CPU carries the steps out in order, in one round trip; a step with RPM_STEP_MUST whose
 * word differs from @expect ends the list. On a direct link the client's CPU carries the steps out,
 * with the same meaning.
 *
 * Every step is checked before the first one is carried out: if a step leaves its region, or the
 * claim of a newer writer forbids it, the list fails and nothing is changed. The list is not a
 * transaction: other clients may act between two steps, and a lost connection may end it after any
 * step.
 *
 * A list that begins with a WATCH waits at the server, which sends one answer when the word has
 * changed and the steps behind the WATCH are carried out: {WATCH a counter, READ what it counts}.
 * The server notices a change that passes through its CPU at once, and one that another client
 * makes by a NIC or by its own CPU (a direct link) within about a millisecond; it may miss a value
 * that the word had for a shorter time. The connection is in order, so its operations behind the
 * list wait too: watch on a connection of its own.
 *
 * A SUM is the checksum of a range: a client that checks bytes, or compares two copies, receives 8
 * bytes and not the range. Other clients may write to the range meanwhile; then the sum is that of
 * a mixture of old and new bytes, which no client has ever written. So an unexpected sum alone does
 * not prove damage: exclude the writers by a lock or a claim and have the range summed again, or
 * read a version of the bytes before and behind the SUM, and repeat all while the two differ.
 *
 * A COMPARE returns the offset at which two ranges of regions first differ. So a client that looks
 * for equal ranges, to store one of them only, or for a change, receives 8 bytes and not both
 * ranges. Other clients may write to the ranges meanwhile, as with a SUM: ranges that were found
 * equal may differ by the time the client gets the result.
 *
 * Each step sees the effects of the steps before it. Another client that sees the effect of a CAS,
 * a FAA or a WRITE to a DRAM region also sees all writes of the steps before it: it never sees a
 * lock free before it sees the rows that were written under the lock. No other order is promised to
 * other clients.
 */
#ifndef LIBRPM_STEPS_H
#define LIBRPM_STEPS_H

#include <librpm/region_async.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RPM_STEPS_MAX 64         /* in one list */
#define RPM_WATCH_US_MAX 1000000 /* a WATCH waits so long at most */
#define RPM_SUM_BYTES_MAX                                                                          \
    (1u << 20) /* of the ranges of all SUMs and COMPAREs in a list: other clients
                                        wait while the server's CPU computes, some 0.1 ms */
#define RPM_COMPARE_BYTES_MAX (RPM_SUM_BYTES_MAX / 2) /* of each of the two ranges of a COMPARE */

enum rpm_step_kind {
    RPM_STEP_READ = 1,   /* @len bytes to @into */
    RPM_STEP_WRITE = 2,  /* @len bytes of @data, brought to the region's level */
    RPM_STEP_CAS = 3,    /* one aligned 8-byte word of a DRAM region: if it equals @expect, it
                           becomes @operand; the old value to @into */
    RPM_STEP_FAA = 4,    /* such a word: @operand is added; the old value to @into */
    RPM_STEP_WATCH = 6,  /* the first step only: wait until an aligned 8-byte word differs from
                           @expect, but at most @operand microseconds; its value to @into. If it
                           does not differ by then, the list ends here */
    RPM_STEP_SUM = 7,    /* the XXH3 checksum, of 64 bits, of @len bytes with the seed @operand to
                           @into, as 8 bytes: XXH3_64bits_withSeed() of libxxhash returns the same
                           value, with the seed 0 XXH3_64bits() too */
    RPM_STEP_COMPARE = 9 /* the offset of the first byte at which this range and the @len bytes at
                            @other_offset of @other differ, from the start of either range, to
                            @into, as 8 bytes; @len: the ranges are equal */
};

enum rpm_step_flag {
    RPM_STEP_MUST = 1 /* CAS, READ of 8 bytes: the list ends here if the word differs from
                         @expect */
};

struct rpm_step {
    uint32_t kind;             /* enum rpm_step_kind */
    uint32_t flags;            /* enum rpm_step_flag */
    struct rpm_region *region; /* of the same connection */
    uint64_t offset;           /* bytes from the start of that region */
    void *into;                /* out: the bytes read, the old value, the checksum, or the offset of
                                  the first difference; NULL: not wanted */
    const void *data;          /* WRITE */
    uint64_t len;              /* READ, WRITE: bytes, at least 1; SUM: 1..RPM_SUM_BYTES_MAX;
                                  COMPARE: 1..RPM_COMPARE_BYTES_MAX; a CAS, FAA or WATCH has 8 */
    uint64_t expect;           /* CAS; READ with MUST; WATCH */
    uint64_t operand;          /* CAS, FAA; WATCH: microseconds, 1..RPM_WATCH_US_MAX, of which at
                                  most half of the connection's timeout_us is waited; SUM: the
                                  seed */
    struct rpm_region *other;  /* COMPARE: of the same connection, or the same region */
    uint64_t other_offset;     /* COMPARE: bytes from the start of that region */
};

/**
 * rpm_steps_async: submit a list of steps; exactly one completion follows.
 *
 * rpm_region_poll() of @region returns the completion, in order with that region's other
 * operations. Its lsn is the number of steps that succeeded. If it is less than @n, the step of
 * that index has RPM_STEP_MUST and found another value than its @expect, or is a WATCH and found
 * the same: the value found is at its @into, and @into of the later steps is not written.
 *
 * The list sees every operation that completed before the list was submitted. Operations that were
 * submitted earlier and have not completed may or may not be seen.
 *
 * @region   the region that reports the completion; the list counts towards its inflight_max. Any
 *           region of the same connection; if steps that write or change words are on guarded
 *           regions, a region guarded by the same log. Borrowed.
 * @steps    Borrowed until the completion is polled, or until rpm_region_close(); the bytes at
 *           @data until return, the room at @into as long as @steps.
 * @n        1..RPM_STEPS_MAX.
 * @context  echoed in the completion. Borrowed until then; never looked at.
 *
 * Durable:  nothing until the completion says 0, then every write that was carried out is at its
 *           region's level. After an error in the completion any part may have happened, except
 *           after RPM_E_FENCED: then nothing has. If this call returns an error, no completion
 *           follows.
 * Errors:   RPM_E_NOCAP (the link carries no lists, or an atomic on a persistent region, or a
 *           WATCH where the server cannot hold lists: a direct link, the device model, an older
 *           server; or a SUM or COMPARE at an older server; rpm_steps_run() can),
 *           RPM_E_TOOBIG (more than RPM_STEPS_MAX; or the message exceeds 4096 bytes, in which a
 *           READ takes 16 bytes, 24 with MUST, a WRITE 16 and its bytes, a CAS, WATCH or SUM 32, a
 *           COMPARE 40, a FAA 24; or the answer exceeds 4096 bytes, in which the first 8 are a
 *           header, a READ takes its bytes and a CAS, FAA, WATCH, SUM or COMPARE 8; each rounded up
 *           to a multiple of 8; or the ranges of all SUMs and COMPAREs, two of each COMPARE, have
 *           more than RPM_SUM_BYTES_MAX bytes together), RPM_E_RANGE, RPM_E_INVAL, RPM_E_FENCED,
 *           RPM_E_BUSY, RPM_E_LOST; in the completion also RPM_E_IO, RPM_E_TIMEDOUT, RPM_E_PROTO.
 * Threads:  one per conn; a CAS or FAA is atomic against every other client of this server.
 * Cost:     one message each way and one copy; no allocation; does not wait.
 * Source:   H4, how bytes leave the server CPU's caches; lib/serve/steps.c.
 */
RPM_MUST_CHECK int rpm_steps_async(struct rpm_region *region, const struct rpm_step *steps,
                                   uint32_t n, void *context);

/**
 * rpm_steps_run: carry out a list of steps and wait until it has completed. Where the server cannot
 * hold a list that begins with a WATCH, this call reads the word until it has changed, with pauses
 * that grow to 1 ms, and then has the other steps carried out. Where the server is too old for a
 * SUM or a COMPARE, this call reads the ranges and computes the same value; the steps before it and
 * behind it are lists of their own, so that RPM_E_FENCED may come after the first of them were
 * carried out.
 *
 * @region  as rpm_steps_async() has it. Borrowed.
 * @steps   Borrowed until return, with all that they point to.
 * @n       1..RPM_STEPS_MAX.
 * @done    out: the number of steps that succeeded, as rpm_steps_async() counts them. Set only on
 *          0.
 *
 * Durable:  on 0 every write that was carried out is at its region's level; else as
 *           rpm_steps_async().
 * Errors:   as rpm_steps_async() but RPM_E_BUSY.
 * Threads:  one per conn.
 * Cost:     one round trip, and with a WATCH the time that it waits; for a SUM or a COMPARE the
 *           time of the CPU that carries it out, some 0.1 ms for each MiB, or READs of the ranges
 *           where the server is too old for it; no allocation.
 * Source:   as rpm_steps_async().
 */
RPM_MUST_CHECK int rpm_steps_run(struct rpm_region *region, const struct rpm_step *steps,
                                 uint32_t n, uint32_t *done);

#ifdef __cplusplus
}
#endif
#endif
