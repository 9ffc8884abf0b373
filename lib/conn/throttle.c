/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * throttle.c: try each limit for one epoch, and keep the best for many epochs.
 *
 * Two things differ from the paper. If no post was held back in an epoch, the trial ends at once:
 * the load needs no limit. And an epoch begins only when the operations posted under the previous
 * limit have completed, which may take longer than an epoch.
 *
 * Tests: tests/unit/conn/throttle_test.cpp
 */
#include "conn/throttle.h"

#include "base/assert.h"
#include "base/limits.h"

/* SMART has 8 ms on hardware with round trips of 2 to 3 us: thousands of operations, so that the
 * noise of an epoch is small compared with the effect of a limit. */
#define EPOCH_ROUND_TRIPS 1024u
#define EPOCH_MIN_NS 2000000u
#define EPOCH_MAX_NS 100000000u
#define EPOCHS_KEPT 60u /* SMART: about one tenth of all time goes into trials */
/* Having no limit is preferred unless a limit is better by more than this: SMART's
 * inf_credit_weight. */
#define FREE_PERCENT 105u
#define GAP_EPOCHS                                                                                 \
    4u /* an epoch that lasted this many times its length was idle, and is not
                         counted */
#define NS_PER_S 1000000000u

_Static_assert(RPMI_THROTTLE_LIMIT_MIN >= RPMI_PLAN_OPS_MAX, "one append is never held in parts");

static void set_limit(struct rpmi_throttle *throttle, uint32_t limit)
{
    RPM_ASSERT(limit >= RPMI_THROTTLE_LIMIT_MIN && limit <= throttle->depth);
    throttle->counting = false;
    if (limit == throttle->limit)
        return;
    throttle->limit = limit;
    throttle->changes++;
}

static void begin_trial(struct rpmi_throttle *throttle)
{
    throttle->epochs_left = 0;
    throttle->best_limit = throttle->depth;
    throttle->best_rate = 0;
    set_limit(throttle, RPMI_THROTTLE_LIMIT_MIN);
}

static void keep(struct rpmi_throttle *throttle, uint32_t limit)
{
    throttle->epochs_left = EPOCHS_KEPT;
    set_limit(throttle, limit);
}

void rpmi_throttle_open(struct rpmi_throttle *throttle, uint32_t depth)
{
    RPM_ASSERT(depth >= RPMI_THROTTLE_LIMIT_MIN);
    *throttle = (struct rpmi_throttle){ .depth = depth, .limit = depth };
    rpmi_throttle_restart(throttle);
}

void rpmi_throttle_restart(struct rpmi_throttle *throttle)
{
    throttle->alone_ns = 0;
    throttle->round_trip_ns = 0;
    throttle->epoch_ns = EPOCH_MAX_NS;
    begin_trial(throttle);
}

/* The shortest round trip ever measured sets the length of an epoch. */
static void measure(struct rpmi_throttle *throttle, uint64_t now_ns)
{
    uint64_t took = now_ns - throttle->alone_ns;

    throttle->alone_ns = 0;
    if (throttle->round_trip_ns != 0 && took >= throttle->round_trip_ns)
        return;
    throttle->round_trip_ns = took > 0 ? took : 1;
    throttle->epoch_ns = EPOCH_MAX_NS;
    if (throttle->round_trip_ns <= EPOCH_MAX_NS / EPOCH_ROUND_TRIPS)
        throttle->epoch_ns = throttle->round_trip_ns * EPOCH_ROUND_TRIPS;
    if (throttle->epoch_ns < EPOCH_MIN_NS)
        throttle->epoch_ns = EPOCH_MIN_NS;
}

/* Judge this limit by the rate of its epoch: try the next limit, or keep the best. */
static void judge(struct rpmi_throttle *throttle, uint64_t rate)
{
    bool held = throttle->held != throttle->begin_held;
    uint32_t limit = throttle->limit;

    RPM_ASSERT(throttle->epochs_left == 0);
    if (limit == throttle->depth) {
        bool free = rate * FREE_PERCENT / 100 >= throttle->best_rate;

        keep(throttle, free ? throttle->depth : throttle->best_limit);
        return;
    }
    if (!held) {
        keep(throttle, throttle->depth);
        return;
    }
    if (rate > throttle->best_rate) {
        throttle->best_rate = rate;
        throttle->best_limit = limit;
    }
    set_limit(throttle, limit < throttle->depth / 2 ? limit * 2 : throttle->depth);
}

static void begin_epoch(struct rpmi_throttle *throttle, uint64_t done, uint64_t now_ns)
{
    throttle->counting = true;
    throttle->begin_ns = now_ns;
    throttle->begin_done = done;
    throttle->begin_held = throttle->held;
}

void rpmi_throttle_done(struct rpmi_throttle *throttle, uint32_t outstanding, uint64_t now_ns)
{
    uint64_t done = throttle->posted - outstanding;
    uint64_t elapsed;

    RPM_ASSERT(outstanding <= throttle->posted);
    if (throttle->alone_ns != 0)
        measure(throttle, now_ns);
    if (!throttle->counting) {
        if (outstanding <= throttle->limit)
            begin_epoch(throttle, done, now_ns);
        return;
    }
    elapsed = now_ns - throttle->begin_ns;
    if (elapsed < throttle->epoch_ns)
        return;
    if (elapsed > GAP_EPOCHS * throttle->epoch_ns)
        throttle->counting = false;
    else if (throttle->epochs_left == 0)
        judge(throttle, (done - throttle->begin_done) * NS_PER_S / elapsed);
    else if (--throttle->epochs_left == 0)
        begin_trial(throttle);
    if (throttle->counting)
        begin_epoch(throttle, done, now_ns);
}
