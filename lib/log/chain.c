/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chain.c: choose the log among the chains of whole frames in a ring. See chain.h.
 *
 * If no valid head slot says where the log begins, the log is the chain whose last record has the
 * highest epoch, and of several such chains the one with the most records. So a damaged record near
 * the beginning of the log costs the records before it, one near the end the records after it.
 *
 * Tests: tests/unit/log/chain_test.cpp
 */
#include "log/chain.h"

#include "base/assert.h"
#include "base/err.h"

#include <inttypes.h>
#include <stddef.h>

static bool continues(const struct rpmi_chain *chain, uint64_t lsn, uint32_t epoch)
{
    return chain->end_lsn == lsn && chain->epoch_last <= epoch;
}

void rpmi_chains_begin(struct rpmi_chains *chains, uint64_t capacity,
                       const struct rpmi_known *known)
{
    RPM_ASSERT(capacity > 0 && rpmi_is_aligned(capacity, RPMI_LINE_BYTES));
    *chains = (struct rpmi_chains){ .capacity = capacity, .known = *known };
}

bool rpmi_chains_expect(const struct rpmi_chains *chains, uint64_t lsn)
{
    for (uint32_t i = 0; i < chains->count; i++)
        if (chains->chain[i].end_lsn == lsn)
            return true;
    return false;
}

static void append(struct rpmi_chain *chain, const struct rpmi_chain *more)
{
    RPM_ASSERT(chain->end_lsn == more->first_lsn);
    RPM_ASSERT(chain->epoch_last <= more->epoch_first);
    chain->end_lsn = more->end_lsn;
    chain->records += more->records;
    chain->bytes += more->bytes;
    chain->epoch_last = more->epoch_last;
}

static bool is_given_up(const struct rpmi_chain *chain, const struct rpmi_known *known)
{
    if (!known->has_head)
        return false;
    return (chain->first_lsn >= known->head.base_lsn && chain->epoch_last < known->head.epoch) ||
           rpmi_is_unsealed(&known->head, known->claim, chain->epoch_first);
}

static bool holds(const struct rpmi_chain *chain, uint64_t lsn)
{
    return chain->first_lsn <= lsn && lsn < chain->end_lsn;
}

enum rank { RANK_TRIMMED, RANK_GIVEN_UP, RANK_PART, RANK_FIRST };

static enum rank rank(const struct rpmi_chains *chains, const struct rpmi_chain *chain)
{
    const struct rpmi_known *known = &chains->known;

    if ((known->has_from && holds(chain, known->from_lsn)) ||
        (known->has_head && holds(chain, known->trim_lsn)))
        return RANK_FIRST;
    if ((known->has_head && chain->end_lsn <= known->trim_lsn) ||
        chain->end_lsn + chains->capacity <= chains->end_lsn)
        return RANK_TRIMMED;
    return is_given_up(chain, known) ? RANK_GIVEN_UP : RANK_PART;
}

/* Is @a less likely than @b to be a part of the log? Of two chains of the same epoch and length it
 * is the later one: what a power cut left of outstanding appends is behind the log's end. */
static bool is_less(const struct rpmi_chains *chains, const struct rpmi_chain *a,
                    const struct rpmi_chain *b)
{
    enum rank rank_a = rank(chains, a);
    enum rank rank_b = rank(chains, b);

    if (rank_a != rank_b)
        return rank_a < rank_b;
    if (a->epoch_last != b->epoch_last)
        return a->epoch_last < b->epoch_last;
    if (a->records != b->records)
        return a->records < b->records;
    return a->first_lsn > b->first_lsn;
}

/* The entry for a new chain: a free entry, or, if all are in use, the entry of the chain that is
 * least likely to be the log's (see chain.h); that chain is dropped. */
static struct rpmi_chain *entry_for_new(struct rpmi_chains *chains)
{
    struct rpmi_chain *least = &chains->chain[0];

    if (chains->count < RPMI_CHAINS_MAX)
        return &chains->chain[chains->count++];
    for (uint32_t i = 1; i < RPMI_CHAINS_MAX; i++)
        if (is_less(chains, &chains->chain[i], least))
            least = &chains->chain[i];
    if (rank(chains, least) >= RANK_PART)
        chains->dropped_records += least->records;
    return least;
}

void rpmi_chains_add(struct rpmi_chains *chains, const struct rpmi_frame *frame)
{
    bool pad = (frame->flags & RPMI_FRAME_PAD) != 0;
    uint64_t position = frame->lsn % chains->capacity;
    struct rpmi_chain one = {
        .first_lsn = frame->lsn,
        .end_lsn = rpmi_frame_end(frame),
        .records = pad ? 0 : 1,
        .bytes = pad ? 0 : frame->len,
        .epoch_first = frame->epoch,
        .epoch_last = frame->epoch,
    };

    RPM_ASSERT(frame->lsn < RPMI_HEAD_LIMIT && rpmi_is_aligned(frame->lsn, RPMI_LINE_BYTES));
    if (one.end_lsn > chains->end_lsn)
        chains->end_lsn = one.end_lsn;
    if (frame->epoch > chains->epoch)
        chains->epoch = frame->epoch;
    /* The bytes that a later pad frame skips, and the padding of a later frame's last line, may
     * still hold a whole frame of an earlier lap. */
    if (position < chains->last_end && frame->lsn < chains->last_lsn)
        return;
    chains->last_lsn = frame->lsn;
    chains->last_end = position + (one.end_lsn - one.first_lsn);
    for (uint32_t i = chains->count; i > 0; i--)
        if (continues(&chains->chain[i - 1], one.first_lsn, one.epoch_first)) {
            append(&chains->chain[i - 1], &one);
            return;
        }
    *entry_for_new(chains) = one;
}

/* Join the first two chains of which one continues the other. False: there are none. */
static bool join_one(struct rpmi_chains *chains)
{
    for (uint32_t i = 0; i < chains->count; i++)
        for (uint32_t j = 0; j < chains->count; j++)
            if (i != j && continues(&chains->chain[i], chains->chain[j].first_lsn,
                                    chains->chain[j].epoch_first)) {
                append(&chains->chain[i], &chains->chain[j]);
                chains->chain[j] = chains->chain[--chains->count];
                return true;
            }
    return false;
}

void rpmi_chains_end(struct rpmi_chains *chains)
{
    uint32_t joined = 0;

    while (joined < RPMI_CHAINS_MAX && join_one(chains))
        joined++;
}

bool rpmi_known_allows(const struct rpmi_known *known, const struct rpmi_frame *frame,
                       uint32_t prior_epoch)
{
    if (frame->epoch < prior_epoch)
        return false;
    if (!known->has_head)
        return true;
    if (rpmi_is_unsealed(&known->head, known->claim, frame->epoch))
        return false;
    return frame->lsn >= known->head.base_lsn ? frame->epoch >= known->head.epoch
                                              : frame->epoch < known->head.epoch;
}

static bool is_in_chain(const struct rpmi_chains *chains, uint64_t lsn)
{
    for (uint32_t i = 0; i < chains->count; i++)
        if (holds(&chains->chain[i], lsn))
            return true;
    return false;
}

static const struct rpmi_chain *best(const struct rpmi_chains *chains,
                                     const struct rpmi_known *known, uint64_t floor_lsn)
{
    const struct rpmi_chain *best = NULL;

    for (uint32_t i = 0; i < chains->count; i++) {
        const struct rpmi_chain *chain = &chains->chain[i];

        if (chain->end_lsn <= floor_lsn || is_given_up(chain, known))
            continue;
        if (best == NULL || chain->epoch_last > best->epoch_last ||
            (chain->epoch_last == best->epoch_last && chain->records > best->records))
            best = chain;
    }
    return best;
}

int rpmi_chains_choose(const struct rpmi_chains *chains, const struct rpmi_known *known,
                       struct rpmi_start *start)
{
    uint64_t lap = chains->end_lsn > chains->capacity ? chains->end_lsn - chains->capacity : 0;
    uint64_t floor = known->has_head && known->trim_lsn > lap ? known->trim_lsn : lap;
    const struct rpmi_chain *chain;

    *start = (struct rpmi_start){ .walk_lsn = floor, .least_lsn = floor, .floor_lsn = floor };
    if (known->has_from) {
        if (known->from_lsn < floor || !rpmi_is_aligned(known->from_lsn, RPMI_LINE_BYTES) ||
            !is_in_chain(chains, known->from_lsn))
            return rpmi_fail(RPM_E_RANGE,
                             "the log cannot begin at %" PRIu64
                             ": expected the first byte of a whole record that was neither trimmed "
                             "nor overwritten",
                             known->from_lsn);
        start->walk_lsn = known->from_lsn;
        start->least_lsn = known->from_lsn;
        return 0;
    }
    if (known->has_head && !known->lacks_start && floor == known->trim_lsn)
        return 0;
    chain = best(chains, known, floor);
    if (chain == NULL)
        return 0;
    start->walk_lsn = chain->first_lsn;
    if (chain->first_lsn > floor)
        start->least_lsn = chain->first_lsn;
    return 0;
}

enum rpmi_fate rpmi_chain_fate(const struct rpmi_chain *chain, const struct rpmi_known *known,
                               const struct rpmi_start *start, const struct rpmi_chain *kept)
{
    RPM_ASSERT(kept->first_lsn <= kept->end_lsn);
    if (chain->end_lsn <= start->floor_lsn)
        return RPMI_FATE_TRIMMED;
    if (chain->first_lsn < kept->end_lsn && chain->end_lsn > kept->first_lsn)
        return RPMI_FATE_KEPT;
    if (is_given_up(chain, known) ||
        (chain->first_lsn >= kept->end_lsn && chain->epoch_last < kept->epoch_last))
        return RPMI_FATE_GIVEN_UP;
    return RPMI_FATE_LOST;
}
