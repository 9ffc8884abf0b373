/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * legs.c: see legs.h.
 *
 * Tests: tests/unit/set/legs_test.cpp
 */
#include "set/legs.h"

#include "base/assert.h"
#include "base/canary.h"
#include "base/err.h"
#include "set/fill.h"

#include <inttypes.h>
#include <string.h>

#define POLL_AT_ONCE 32u
#define WAIT_NS 50000u /* for one leg, while another may have completions */

int rpmi_legs_open(struct rpmi_legs *legs, uint32_t inflight_max, uint64_t ring_bytes,
                   uint64_t suspect_ns)
{
    RPM_ASSERT(inflight_max >= 1 && ring_bytes >= RPMI_LINE_BYTES);
    *legs = (struct rpmi_legs){
        .inflight_max = inflight_max,
        .ring_bytes = ring_bytes,
        .suspect_ns = suspect_ns,
        .queue = rpmi_alloc(inflight_max * sizeof(struct rpmi_queued), RPMI_LINE_BYTES),
        .ring = rpmi_alloc_unset(ring_bytes, RPMI_LINE_BYTES),
        .dead = RPM_E_FENCED, /* until a round */
    };
    if (legs->queue != NULL && legs->ring != NULL)
        return 0;
    rpmi_legs_close(legs);
    return RPM_E_NOMEM;
}

void rpmi_legs_close(struct rpmi_legs *legs)
{
    rpmi_free(legs->queue);
    rpmi_free(legs->ring);
    legs->queue = NULL;
    legs->ring = NULL;
}

static uint64_t now_of(const struct rpmi_leg *leg)
{
    return leg->log->conn->link->ops->now_ns(leg->log->conn->link);
}

/* Frames of large records begin at a media line on all members if they do so on one (H5), so that
 * all have the same places. */
static void choose_layout(struct rpmi_legs *legs)
{
    legs->large_unit = RPMI_LINE_BYTES;
    for (uint32_t i = 0; i < legs->n; i++)
        if (legs->legs[i].sealed && legs->legs[i].log->plan.large_unit > legs->large_unit)
            legs->large_unit = legs->legs[i].log->plan.large_unit;
}

/* Appends to the leg have the set's places and lags from now on. */
static void begin_leg(struct rpmi_legs *legs, uint32_t i)
{
    legs->legs[i].log->plan.large_unit = legs->large_unit;
    legs->legs[i].log->lag_from = &legs->lag_lsn;
    legs->of[i].progress_ns = now_of(&legs->legs[i]);
}

void rpmi_legs_begin(struct rpmi_legs *legs, const struct rpmi_round *round)
{
    legs->legs = round->legs;
    legs->n = round->n;
    legs->acks = round->acks;
    legs->level = round->level;
    legs->epoch = round->epoch;
    legs->submitted = legs->committed = legs->reaped = 0;
    legs->ring_tail = 0;
    legs->tail_lsn = legs->shared_lsn = legs->committed_lsn = legs->lag_lsn = round->tail_lsn;
    legs->dead = 0;
    memset(legs->of, 0, sizeof(legs->of));
    choose_layout(legs);
    for (uint32_t i = 0; i < legs->n; i++)
        if (legs->legs[i].sealed)
            begin_leg(legs, i);
}

static uint32_t count(const struct rpmi_legs *legs)
{
    uint32_t in_use = 0;

    for (uint32_t i = 0; i < legs->n; i++)
        in_use += legs->legs[i].sealed;
    return in_use;
}

/* So many members must have a record. */
static uint32_t needed(const struct rpmi_legs *legs)
{
    if (RPMI_CANARY(ACK_SHORT))
        return 1;
    return RPMI_CANARY(FEW_SEALS) && legs->acks > 1 ? legs->acks - 1 : legs->acks;
}

/* Give the leg no more records. */
static void drop(struct rpmi_legs *legs, uint32_t i, int err)
{
    RPM_ASSERT(legs->legs[i].sealed && err != 0);
    legs->legs[i].sealed = false;
    if (count(legs) < needed(legs) && legs->dead == 0)
        legs->dead = err;
}

static struct rpmi_queued *record(const struct rpmi_legs *legs, uint64_t number)
{
    return &legs->queue[number % legs->inflight_max];
}

/* Gives the leg's log the records that it has not taken yet. */
static void feed(struct rpmi_legs *legs, uint32_t i)
{
    struct rpm_log *log = legs->legs[i].log;

    while (legs->legs[i].sealed && legs->of[i].given < legs->submitted) {
        const struct rpmi_queued *next = record(legs, legs->of[i].given);
        uint64_t lsn = 0;
        int err;

        legs->lag_lsn = next->shared_lsn;
        err = rpm_log_append_async(log, legs->ring + next->at % legs->ring_bytes, next->len, 0,
                                   NULL, &lsn);
        if (err == RPM_E_BUSY)
            return;
        RPM_ASSERT(err != 0 || lsn == next->lsn); /* else the members' bytes differ */
        if (err != 0)
            drop(legs, i, err);
        else
            legs->of[i].given++;
    }
}

/* Counts what the leg has acknowledged. */
static void reap(struct rpmi_legs *legs, uint32_t i)
{
    struct rpm_completion done[POLL_AT_ONCE];
    int n = POLL_AT_ONCE;

    while (legs->legs[i].sealed && n == POLL_AT_ONCE) {
        n = rpm_log_poll(legs->legs[i].log, done, POLL_AT_ONCE);
        for (int k = 0; k < n && legs->legs[i].sealed; k++) {
            if (done[k].status != 0) {
                drop(legs, i, done[k].status);
                break;
            }
            legs->of[i].acked++;
            RPM_ASSERT(legs->of[i].acked <= legs->of[i].given);
        }
        if (n < 0 && legs->legs[i].sealed)
            drop(legs, i, n);
        if (n > 0 && legs->legs[i].sealed)
            legs->of[i].progress_ns = now_of(&legs->legs[i]);
    }
    /* A link may be lost while nothing is outstanding. */
    if (legs->legs[i].sealed && legs->legs[i].log->dead != 0)
        drop(legs, i, legs->legs[i].log->dead);
}

/* How many records at least @wanted legs have acknowledged. A member that was dropped may have lost
 * its memory meanwhile, so it does not count any more. */
static uint64_t acked_by(const struct rpmi_legs *legs, uint32_t wanted)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < legs->n; i++) {
        uint32_t as_many = 0;

        for (uint32_t k = 0; k < legs->n; k++)
            as_many += legs->legs[k].sealed && legs->of[k].acked >= legs->of[i].acked;
        if (legs->legs[i].sealed && as_many >= wanted && legs->of[i].acked > most)
            most = legs->of[i].acked;
    }
    return most;
}

/* What acks members, and what all legs, have acknowledged now. */
static void count_acknowledged(struct rpmi_legs *legs)
{
    uint64_t committed = acked_by(legs, needed(legs));
    uint64_t shared_lsn = UINT64_MAX;

    RPM_ASSERT(committed <= legs->submitted);
    if (committed > legs->committed) {
        legs->committed_lsn = record(legs, committed - 1)->end_lsn;
        legs->committed = committed;
    }
    for (uint32_t i = 0; i < legs->n; i++)
        if (legs->legs[i].sealed && legs->legs[i].log->acked_lsn < shared_lsn)
            shared_lsn = legs->legs[i].log->acked_lsn;
    if (shared_lsn != UINT64_MAX && shared_lsn > legs->shared_lsn)
        legs->shared_lsn = shared_lsn;
}

/* The first record that must stay queued. */
static uint64_t oldest(const struct rpmi_legs *legs)
{
    uint64_t first = legs->reaped;

    for (uint32_t i = 0; i < legs->n; i++)
        if (legs->legs[i].sealed && legs->of[i].given < first)
            first = legs->of[i].given;
    return first;
}

/* Drops legs that have acknowledged nothing for suspect_ns while acks others have more. */
static void drop_silent(struct rpmi_legs *legs)
{
    for (uint32_t i = 0; i < legs->n; i++) {
        struct rpmi_leg *leg = &legs->legs[i];

        if (!leg->sealed)
            continue;
        if (legs->of[i].acked == legs->submitted)
            legs->of[i].progress_ns = now_of(leg);
        else if (legs->of[i].acked < legs->committed && count(legs) > legs->acks &&
                 now_of(leg) - legs->of[i].progress_ns > legs->suspect_ns)
            drop(legs, i, RPM_E_TIMEDOUT);
    }
}

static void turn(struct rpmi_legs *legs)
{
    for (uint32_t i = 0; i < legs->n; i++) {
        reap(legs, i);
        feed(legs, i);
    }
    count_acknowledged(legs);
    drop_silent(legs);
}

/* The leg that has acknowledged the most records. */
static uint32_t foremost(const struct rpmi_legs *legs)
{
    uint32_t best = legs->n;

    for (uint32_t i = 0; i < legs->n; i++)
        if (legs->legs[i].sealed && (best == legs->n || legs->of[i].acked > legs->of[best].acked))
            best = i;
    RPM_ASSERT(best < legs->n);
    return best;
}

/* Makes the member the writer's again, in the same epoch, with all that the foremost leg has
 * acknowledged. */
static int claim_again(struct rpmi_legs *legs, struct rpm_log *log, struct rpm_log *best)
{
    uint64_t upto = best->acked_lsn;
    uint64_t filled;
    int err;

    if (log->head.epoch != legs->epoch)
        return rpmi_fail(RPM_E_FENCED,
                         "log '%s' was sealed with epoch %" PRIu32
                         " on this member, and not with %" PRIu32 ": a round brings it back",
                         log->name, log->head.epoch, legs->epoch);
    if (rpmi_leg_lost(log, legs->level) != NULL)
        return rpmi_fail(RPM_E_QUORUM, "log '%s': %s: a round brings the member back", log->name,
                         rpmi_leg_lost(log, legs->level));
    err = rpmi_member_claim(log, legs->epoch, 0);
    if (err == 0)
        err = rpmi_fill(log, best, upto, &filled);
    return err != 0 ? err : rpmi_member_seal(log, upto);
}

int rpmi_legs_rejoin(struct rpmi_legs *legs, uint32_t i)
{
    uint64_t acked;
    uint32_t best;
    int err;

    RPM_ASSERT(i < legs->n && !legs->legs[i].sealed && legs->legs[i].log != NULL);
    turn(legs);
    if (legs->dead != 0)
        return legs->dead;
    best = foremost(legs);
    acked = legs->of[best].acked;
    RPM_ASSERT(acked >= oldest(legs)); /* the records behind are queued */
    err = rpmi_member_attach(legs->legs[i].log);
    if (err == 0)
        err = claim_again(legs, legs->legs[i].log, legs->legs[best].log);
    if (err != 0)
        return err;
    begin_leg(legs, i);
    legs->of[i].given = legs->of[i].acked = acked;
    legs->legs[i].sealed = true;
    feed(legs, i);
    return 0;
}

/* The queue has no room. Drops the legs that alone keep it full: acks others have taken the oldest
 * record, and it is acknowledged and handed out. */
static void drop_laggards(struct rpmi_legs *legs)
{
    uint64_t first = oldest(legs);

    for (uint32_t i = 0; i < legs->n; i++)
        if (first < legs->reaped && legs->legs[i].sealed && legs->of[i].given == first &&
            count(legs) > legs->acks)
            drop(legs, i, RPM_E_TIMEDOUT);
}

/* Where a payload of @len bytes goes in the ring: it does not wrap. False: no room now, there or in
 * the queue. */
static bool has_room(const struct rpmi_legs *legs, uint64_t len, uint64_t *at)
{
    uint64_t position = legs->ring_tail % legs->ring_bytes;
    uint64_t first = oldest(legs);
    uint64_t head = first == legs->submitted ? legs->ring_tail : record(legs, first)->at;

    *at = legs->ring_tail + (position + len > legs->ring_bytes ? legs->ring_bytes - position : 0);
    return legs->submitted - first < legs->inflight_max && *at + len - head <= legs->ring_bytes;
}

/* May a frame that ends at @end_lsn be written to the ring of each leg? */
static int admit(struct rpmi_legs *legs, uint64_t end_lsn)
{
    for (uint32_t i = 0; i < legs->n; i++) {
        int err = legs->legs[i].sealed ? rpmi_log_admit(legs->legs[i].log, end_lsn) : 0;

        if (err == RPM_E_FULL)
            return err;
        if (err != 0)
            drop(legs, i, err);
    }
    return legs->dead;
}

static const struct rpm_log *any_log(const struct rpmi_legs *legs)
{
    uint32_t i = 0;

    while (i < legs->n && !legs->legs[i].sealed)
        i++;
    RPM_ASSERT(i < legs->n);
    return legs->legs[i].log;
}

uint64_t rpmi_legs_record_max(const struct rpmi_legs *legs)
{
    uint64_t max = legs->ring_bytes;

    for (uint32_t i = 0; i < legs->n; i++)
        if (legs->legs[i].sealed && rpm_log_record_max(legs->legs[i].log) < max)
            max = rpm_log_record_max(legs->legs[i].log);
    return max;
}

int rpmi_legs_submit(struct rpmi_legs *legs, const void *data, uint32_t len, void *context,
                     uint64_t *lsn)
{
    struct rpmi_place place;
    uint64_t at = 0;
    int err;

    if (legs->dead != 0)
        return legs->dead;
    RPM_ASSERT(len >= 1 && len <= rpmi_legs_record_max(legs));
    if (!has_room(legs, len, &at)) {
        turn(legs);
        drop_laggards(legs);
        if (legs->dead != 0 || !has_room(legs, len, &at))
            return legs->dead != 0 ? legs->dead : RPM_E_BUSY;
    }
    rpmi_ring_place(any_log(legs), legs->tail_lsn, len, &place);
    err = admit(legs, place.lsn + place.stride);
    if (err != 0)
        return err;
    memcpy(legs->ring + at % legs->ring_bytes, data, len);
    legs->ring_tail = at + len;
    *record(legs, legs->submitted++) = (struct rpmi_queued){
        .lsn = place.lsn,
        .end_lsn = place.lsn + place.stride,
        .shared_lsn = legs->shared_lsn,
        .at = at,
        .len = len,
        .context = context,
    };
    legs->tail_lsn = place.lsn + place.stride;
    *lsn = place.lsn;
    for (uint32_t i = 0; i < legs->n; i++)
        feed(legs, i);
    return 0;
}

uint32_t rpmi_legs_poll(struct rpmi_legs *legs, struct rpm_completion *done, uint32_t n)
{
    uint32_t given = 0;

    turn(legs);
    while (given < n && legs->reaped < (legs->dead != 0 ? legs->submitted : legs->committed)) {
        const struct rpmi_queued *ended = record(legs, legs->reaped);

        done[given++] = (struct rpm_completion){
            .context = ended->context,
            .lsn = ended->lsn,
            .status = legs->reaped < legs->committed ? 0 : legs->dead,
        };
        legs->reaped++;
    }
    return given;
}

/* Waits for a completion of one of the legs that are behind. */
static void wait_for_one(struct rpmi_legs *legs)
{
    for (uint32_t i = 0; i < legs->n; i++) {
        struct rpmi_leg *leg = &legs->legs[i];

        if (leg->sealed && legs->of[i].acked < legs->of[i].given) {
            (void)rpmi_conn_wait_until(leg->log->conn, now_of(leg) + WAIT_NS);
            return;
        }
    }
}

int rpmi_legs_flush(struct rpmi_legs *legs)
{
    uint64_t until;

    if (legs->dead != 0)
        return legs->dead;
    until = rpmi_conn_deadline(any_log(legs)->conn);
    for (;;) {
        turn(legs);
        if (legs->dead != 0 || legs->committed == legs->submitted)
            return legs->dead;
        wait_for_one(legs);
        if (legs->dead == 0 &&
            any_log(legs)->conn->link->ops->now_ns(any_log(legs)->conn->link) > until)
            return RPM_E_TIMEDOUT;
    }
}

int rpmi_legs_trim(struct rpmi_legs *legs, uint64_t lsn)
{
    turn(legs);
    if (legs->dead == 0 && lsn > legs->committed_lsn)
        return rpmi_fail(RPM_E_RANGE,
                         "%" PRIu64 " lies beyond the acknowledged tail %" PRIu64
                         " of the set: trim to that at most",
                         lsn, legs->committed_lsn);
    for (uint32_t i = 0; i < legs->n && legs->dead == 0; i++) {
        struct rpm_log *log = legs->legs[i].log;
        int err = 0;

        if (!legs->legs[i].sealed)
            continue;
        if (log->acked_lsn < lsn)
            err = RPM_E_TIMEDOUT;
        else
            err = rpm_log_trim(log, lsn);
        if (err == RPM_E_RANGE)
            return err;
        if (err != 0)
            drop(legs, i, err);
    }
    return legs->dead;
}
