/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * steps.h: steps by the server CPU. A short list of operations on regions of one connection, which
 * the server CPU carries out for us one after the other, in one message and one round trip: reads,
 * writes, and atomics on volatile words, the later ones only if the earlier ones found what they
 * had to. On a direct link the near CPU carries them out, with the same meaning.
 *
 * Every step is judged before the first one is carried out: one that leaves its region, or that a
 * newer writer's claim shuts out, fails the list with nothing done. The list is not a transaction:
 * others may act between two steps, and a loss may end it in the middle.
 *
 * Each step sees what the ones before it did. When others see what a CAS, a FAA or a WRITE to a
 * DRAM region changed, they see all that was written by the steps before it: a lock is never seen
 * free before the rows are in place. Nothing else is promised of the order in which others see it.
 */
#ifndef LIBRPM_STEPS_H
#define LIBRPM_STEPS_H

#include <librpm/region_async.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RPM_STEPS_MAX 64 /* in one list */

enum rpm_step_kind {
    RPM_STEP_READ = 1,  /* @len bytes to @into */
    RPM_STEP_WRITE = 2, /* @len bytes of @data, brought to the region's level */
    RPM_STEP_CAS = 3,   /* one aligned word of a DRAM region, 8 bytes: if it is @expect it becomes
                           @operand; what it was to @into */
    RPM_STEP_FAA = 4    /* such a word: @operand is added; what it was to @into */
};

enum rpm_step_flag {
    RPM_STEP_MUST = 1 /* CAS, READ of 8 bytes: unless the word is @expect, the list ends here */
};

struct rpm_step {
    uint32_t kind;             /* enum rpm_step_kind */
    uint32_t flags;            /* enum rpm_step_flag */
    struct rpm_region *region; /* of the same connection */
    uint64_t offset;           /* bytes from the start of that region */
    void *into;                /* what is brought back; NULL: it is not wanted */
    const void *data;          /* WRITE */
    uint64_t len;              /* READ, WRITE: bytes, at least 1; a CAS or FAA has 8 */
    uint64_t expect;           /* CAS; READ with MUST */
    uint64_t operand;          /* CAS, FAA */
};

/**
 * rpm_steps_async: submit a list of steps; exactly one completion follows.
 *
 * It comes with rpm_region_poll() of @region, in order with that region's other operations. Its lsn
 * is how many steps were carried out, and held if they had to: less than @n when the step of that
 * index found something else than its @expect, which is then at its @into. What steps behind it
 * were to bring back is not touched.
 *
 * It sees what completed before it was submitted; what was submitted before and has not completed
 * it may see or not.
 *
 * @region   whose completion it is; it counts among that region's inflight_max. Any of the same
 *           connection; if steps that write or change words are on guarded regions, one guarded by
 *           the same log. Borrowed.
 * @steps    Borrowed until the completion is polled, or until rpm_region_close(); what @data points
 *           to until return, what @into points to as long as @steps.
 * @n        1..RPM_STEPS_MAX.
 * @context  echoed in the completion. Borrowed until then; never looked at.
 *
 * Durable:  nothing until the completion says 0, then every write that was carried out is at its
 *           region's level. After an error any part may have happened, but nothing after
 *           RPM_E_FENCED; on an error here no completion follows.
 * Errors:   RPM_E_NOCAP (the link carries no lists, or an atomic on a persistent region),
 *           RPM_E_TOOBIG (more than RPM_STEPS_MAX; or a READ takes 16 bytes, 24 with MUST, a WRITE
 *           16 and its bytes, a CAS 32, a FAA 24 of 4096 bytes of message, and of the 4096 of
 *           answer its bytes, or 8, behind the first 8, each up to a multiple of 8),
 *           RPM_E_RANGE, RPM_E_INVAL, RPM_E_FENCED, RPM_E_BUSY, RPM_E_LOST; in the completion also
 *           RPM_E_IO, RPM_E_TIMEDOUT, RPM_E_PROTO.
 * Threads:  one per conn; each step's word is atomic against every other client of this server.
 * Cost:     one message each way and one copy; no allocation; does not wait.
 * Source:   H4 for how bytes leave the server CPU's caches; lib/serve/steps.c.
 */
RPM_MUST_CHECK int rpm_steps_async(struct rpm_region *region, const struct rpm_step *steps,
                                   uint32_t n, void *context);

/**
 * rpm_steps_run: the same, and wait.
 *
 * @region  as rpm_steps_async() has it. Borrowed.
 * @steps   Borrowed until return, with all that they point to.
 * @n       1..RPM_STEPS_MAX.
 * @done    out: how many steps were carried out, and held if they had to. Set only on 0.
 *
 * Durable:  on 0 every write that was carried out is at its region's level; else as
 *           rpm_steps_async().
 * Errors:   as rpm_steps_async() but RPM_E_BUSY.
 * Threads:  one per conn.
 * Cost:     one round trip; no allocation.
 * Source:   as rpm_steps_async().
 */
RPM_MUST_CHECK int rpm_steps_run(struct rpm_region *region, const struct rpm_step *steps,
                                 uint32_t n, uint32_t *done);

#ifdef __cplusplus
}
#endif
#endif
