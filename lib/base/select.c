/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * select.c: rank, select, combine.
 *
 * An alternative's knee is the number of operations outstanding at which a queue forms. By Little's
 * law it is its rate times its idle time, so operations that take T while n are outstanding put it
 * at n x idle / T once T is longer than the idle time. Up to the knee the best alternative is
 * taken, then the next in rank. Beyond all knees the operation goes to the shortest queue in time.
 *
 * Tests: tests/unit/base/select_test.cpp
 */
#include "base/select.h"

#include "base/assert.h"

#include <string.h>

uint32_t rpmi_select_class(uint64_t bytes)
{
    static const uint64_t most[RPMI_SELECT_CLASSES - 1] = { 64, 256, 1024, 4096, 65536, 1048576 };
    uint32_t number = 0;

    while (number < RPMI_SELECT_CLASSES - 1 && bytes > most[number])
        number++;
    return number;
}

void rpmi_select_init(struct rpmi_select *select, uint32_t promise)
{
    memset(select, 0, sizeof(*select));
    select->promise = promise;
}

uint32_t rpmi_select_add(struct rpmi_select *select, uint32_t promise)
{
    uint32_t number = select->count;

    RPM_ASSERT(promise == select->promise);
    RPM_ASSERT(number < RPMI_SELECT_MAX);
    for (uint32_t i = 0; i < RPMI_SELECT_CLASSES; i++) {
        select->of[i].rank[number] = number;
        select->of[i].time[number].knee = RPMI_SELECT_SCALE;
    }
    select->count++;
    return number;
}

static bool has_room(const struct rpmi_select *select, const struct rpmi_select_class *of,
                     uint32_t number)
{
    return select->outstanding[number] * (uint64_t)RPMI_SELECT_SCALE <= of->time[number].knee;
}

/* Beyond its knee an operation waits for those before it. One operation is enough to learn what an
 * alternative takes; more at once would be in each other's way. */
static uint64_t expected(const struct rpmi_select *select, const struct rpmi_select_class *of,
                         uint32_t number)
{
    uint64_t ahead = (select->outstanding[number] + (uint64_t)1) * RPMI_SELECT_SCALE;

    if (of->time[number].idle == 0)
        return UINT64_MAX;
    return of->time[number].idle / of->time[number].knee * ahead;
}

static uint32_t shortest(const struct rpmi_select *select, const struct rpmi_select_class *of)
{
    uint32_t best = of->rank[0];

    for (uint32_t i = 1; i < select->count; i++)
        if (expected(select, of, of->rank[i]) < expected(select, of, best))
            best = of->rank[i];
    return best;
}

/* An alternative of which nothing is known: there is no estimate, no operation has ended, and none
 * is under way. */
static bool unknown(const struct rpmi_select *select, const struct rpmi_select_class *of,
                    uint32_t number)
{
    return of->time[number].idle == 0 && select->outstanding[number] == 0;
}

static uint32_t choose(const struct rpmi_select *select, struct rpmi_select_class *of, bool *probe)
{
    *probe = true;
    for (uint32_t i = 0; i < select->count; i++)
        if (unknown(select, of, i))
            return i;
    if (select->count > 1 && of->picks % RPMI_SELECT_PROBE == 0)
        return of->rank[1 + of->probes++ % (select->count - 1)];
    *probe = false;
    for (uint32_t i = 0; i < select->count; i++)
        if (of->time[of->rank[i]].idle != 0 && has_room(select, of, of->rank[i]))
            return of->rank[i];
    return shortest(select, of);
}

struct rpmi_pick rpmi_select_pick(struct rpmi_select *select, uint64_t bytes)
{
    struct rpmi_pick pick = { .size_class = rpmi_select_class(bytes) };
    struct rpmi_select_class *of = &select->of[pick.size_class];

    RPM_ASSERT(select->count > 0);
    of->picks++;
    pick.alternative = choose(select, of, &pick.probe);
    pick.outstanding = ++select->outstanding[pick.alternative];
    return pick;
}

struct rpmi_pick rpmi_select_take(struct rpmi_select *select, uint32_t alternative, uint64_t bytes)
{
    RPM_ASSERT(alternative < select->count);
    return (struct rpmi_pick){
        .alternative = alternative,
        .size_class = rpmi_select_class(bytes),
        .outstanding = ++select->outstanding[alternative],
    };
}

uint64_t rpmi_select_mean_ns(const struct rpmi_select *select, uint32_t alternative, uint64_t bytes)
{
    RPM_ASSERT(alternative < select->count);
    return select->of[rpmi_select_class(bytes)].time[alternative].recent / RPMI_SELECT_FORGET;
}

/* One that is better by less than RPMI_SELECT_CHANGE does not pass another. */
static bool beats(const struct rpmi_select_class *of, uint32_t number, uint32_t other)
{
    uint64_t ours = of->time[number].idle;
    uint64_t theirs = of->time[other].idle;

    return ours != 0 && (theirs == 0 || ours / 100 < theirs / RPMI_SELECT_CHANGE);
}

static void rank(const struct rpmi_select *select, struct rpmi_select_class *of)
{
    for (uint32_t i = 1; i < select->count; i++)
        for (uint32_t k = i; k > 0 && beats(of, of->rank[k], of->rank[k - 1]); k--) {
            uint32_t better = of->rank[k];

            of->rank[k] = of->rank[k - 1];
            of->rank[k - 1] = better;
        }
}

void rpmi_select_expect(struct rpmi_select *select, uint32_t alternative, uint32_t size_class,
                        uint64_t ns)
{
    struct rpmi_select_class *of = &select->of[size_class];
    struct rpmi_select_time *time = &of->time[alternative];

    RPM_ASSERT(alternative < select->count && size_class < RPMI_SELECT_CLASSES);
    RPM_ASSERT(time->ended == 0 && ns > 0 && ns <= RPMI_SELECT_GIVEN_MAX);
    time->given = ns * RPMI_SELECT_FORGET;
    time->idle = time->given;
    rank(select, of);
}

/* The mean of what has been measured, mixed with the estimate that was given. */
static uint64_t mixed(const struct rpmi_select_time *time)
{
    uint64_t ended = time->ended < RPMI_SELECT_TRUST ? time->ended : RPMI_SELECT_TRUST;

    if (time->given == 0 || ended == RPMI_SELECT_TRUST)
        return time->recent;
    return time->recent / RPMI_SELECT_TRUST * ended +
           time->given / RPMI_SELECT_TRUST * (RPMI_SELECT_TRUST - ended);
}

/* Idle times come from a mean of a few operations, because single ones differ for other reasons
 * than a queue. A longer time with few outstanding is the alternative's own, and idle times follow
 * it slowly; with many it may be the queue. */
static void learn_idle(struct rpmi_select_time *time, uint64_t outstanding, uint64_t took)
{
    uint64_t part = RPMI_SELECT_MEAN;

    time->ended++;
    if (time->ended <= RPMI_SELECT_FIRST)
        part = time->ended;
    time->recent -= time->recent / part;
    time->recent += took / part;
    if (time->ended <= RPMI_SELECT_FIRST || time->recent < time->idle)
        time->idle = mixed(time);
    else if (outstanding == 1 || outstanding * RPMI_SELECT_SCALE <= time->knee / 2)
        time->idle += (time->recent - time->idle) / RPMI_SELECT_FORGET;
}

static bool queued(const struct rpmi_select_time *time, uint64_t took)
{
    return took / RPMI_SELECT_QUEUED > time->idle / 100;
}

/* A queue that has been there from the beginning looks like the alternative's own time. So its knee
 * is halved now and then: such a queue drains, and shows that the time was not its own. */
static void learn_knee(struct rpmi_select_time *time, uint64_t outstanding, uint64_t took)
{
    uint64_t knee = outstanding * RPMI_SELECT_SCALE;

    if (time->ended % RPMI_SELECT_DRAIN == 0) {
        time->knee /= 2;
    } else if (queued(time, time->recent)) {
        knee = knee * time->idle / time->recent;
        time->knee = (time->knee * (RPMI_SELECT_SCALE - 1) + knee) / RPMI_SELECT_SCALE;
    } else if (!queued(time, took) && knee > time->knee) {
        time->knee = knee;
    }
    time->knee = time->knee < RPMI_SELECT_SCALE ? RPMI_SELECT_SCALE : time->knee;
}

void rpmi_select_lost(struct rpmi_select *select, const struct rpmi_pick *pick)
{
    RPM_ASSERT(pick->alternative < select->count && pick->size_class < RPMI_SELECT_CLASSES);
    RPM_ASSERT(select->outstanding[pick->alternative] > 0);
    select->outstanding[pick->alternative]--;
}

void rpmi_select_done(struct rpmi_select *select, const struct rpmi_pick *pick, uint64_t ns)
{
    struct rpmi_select_class *of = &select->of[pick->size_class];
    struct rpmi_select_time *time = &of->time[pick->alternative];
    uint64_t took = (ns == 0 ? 1 : ns) * RPMI_SELECT_FORGET;

    rpmi_select_lost(select, pick);
    learn_idle(time, pick->outstanding, took);
    learn_knee(time, pick->outstanding, took);
    rank(select, of);
}

void rpmi_select_lose_all(struct rpmi_select *select)
{
    memset(select->outstanding, 0, sizeof(select->outstanding));
}
