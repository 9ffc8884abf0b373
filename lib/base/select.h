/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * select.h: which of several alternatives carries out the next operation. All of them give the same
 * promise, and differ in what they cost: rank them by measured time, take the best until its queue
 * is saturated, then add the next. No I/O and no clock: the caller says what an operation took,
 * and may have an estimate for each alternative to begin with.
 *
 * Invariants
 *   an alternative with another promise is never added
 *   each pick is ended once, by rpmi_select_done(), rpmi_select_lost() or rpmi_select_lose_all()
 *
 * Tests: tests/unit/base/select_test.cpp
 */
#ifndef RPMI_SELECT_H
#define RPMI_SELECT_H

#include <stdbool.h>
#include <stdint.h>

#define RPMI_SELECT_MAX 8u      /* alternatives */
#define RPMI_SELECT_CLASSES 7u  /* of sizes: to 64 B, 256 B, 1 KiB, 4 KiB, 64 KiB, 1 MiB, above */
#define RPMI_SELECT_PROBE 100u  /* one operation of so many goes to an alternative but the best */
#define RPMI_SELECT_CHANGE 115u /* percent: a smaller difference of times changes no rank */
#define RPMI_SELECT_QUEUED 106u /* percent of its idle time: an alternative has a queue */
#define RPMI_SELECT_SCALE 16u   /* knees are kept in 16ths, and move by a 16th of what is new */
#define RPMI_SELECT_MEAN 32u    /* mean times move by such a part of what is new */
#define RPMI_SELECT_FIRST 16u   /* the first so many operations are averaged */
#define RPMI_SELECT_TRUST 8u    /* an estimate has no weight after so many operations */
#define RPMI_SELECT_GIVEN_MAX UINT64_C(10000000000) /* nanoseconds of such an estimate */
#define RPMI_SELECT_DRAIN 512u /* operations, after which a knee is halved once */

/* Times are kept in such parts of a nanosecond. Of what operations take longer now, an idle time
 * takes up one such part. */
#define RPMI_SELECT_FORGET 1024u

/* What has been measured of one alternative, for operations of one size class. */
struct rpmi_select_time {
    uint64_t ended;  /* operations */
    uint64_t recent; /* mean of the last operations, in 1024ths of a nanosecond */
    uint64_t idle;   /* least such mean: without a queue in front; 0: not known yet */
    uint64_t knee;   /* in 16ths: operations outstanding at which a queue forms */
    uint64_t given;  /* estimate of the idle time by the caller; 0: none */
};

struct rpmi_select_class {
    struct rpmi_select_time time[RPMI_SELECT_MAX];
    uint32_t rank[RPMI_SELECT_MAX]; /* alternatives, the best first */
    uint64_t picks;
    uint32_t probes;
};

struct rpmi_select {
    uint32_t promise;
    uint32_t count;
    uint32_t outstanding[RPMI_SELECT_MAX]; /* of all classes: they share an alternative's queue */
    struct rpmi_select_class of[RPMI_SELECT_CLASSES];
};

/* An operation under way. */
struct rpmi_pick {
    uint32_t alternative;
    uint32_t size_class;
    uint32_t outstanding; /* of this alternative when it was taken, itself included */
    bool probe;           /* taken to measure it, not because it is the best */
};

uint32_t rpmi_select_class(uint64_t bytes);

/* @promise: what all alternatives give, such as an rpm_level. */
void rpmi_select_init(struct rpmi_select *select, uint32_t promise);

/* Its number, from 0. */
uint32_t rpmi_select_add(struct rpmi_select *select, uint32_t promise);

/* Begin with an estimate of how long operations of a size class take by an alternative, @ns of 1 to
 * RPMI_SELECT_GIVEN_MAX, of which none has ended: so the alternative need not be tried first. Each
 * of the first RPMI_SELECT_TRUST operations that end replaces an equal part of the estimate. */
void rpmi_select_expect(struct rpmi_select *select, uint32_t alternative, uint32_t size_class,
                        uint64_t ns);

/* The alternative for an operation of @bytes. */
struct rpmi_pick rpmi_select_pick(struct rpmi_select *select, uint64_t bytes);

/* The same, of an operation for which the caller has chosen. */
struct rpmi_pick rpmi_select_take(struct rpmi_select *select, uint32_t alternative, uint64_t bytes);

/* What the last operations of @bytes took by an alternative, on the average; 0: none has ended. */
uint64_t rpmi_select_mean_ns(const struct rpmi_select *select, uint32_t alternative,
                             uint64_t bytes);

/* The operation took @ns, or has failed, which says nothing of its time. */
void rpmi_select_done(struct rpmi_select *select, const struct rpmi_pick *pick, uint64_t ns);
void rpmi_select_lost(struct rpmi_select *select, const struct rpmi_pick *pick);

/* All operations under way have failed, and none of them is ended by itself. */
void rpmi_select_lose_all(struct rpmi_select *select);

#endif
