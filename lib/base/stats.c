/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats.c: the histogram of <librpm/stats.h>.
 *
 * Values below 64 have a bucket each. Above, every power of two is cut into 64 buckets, so a
 * bucket is at most 1/64 of its lowest value wide, and 64 + 58 * 64 buckets cover 64 bits.
 *
 * Invariants
 *   count is the number of values added; min and max are exact
 *   a percentile is never below the true one, and above it by less than 1/64 of it
 *   a counter that has reached its maximum stays there and does not wrap
 *
 * Tests: tests/unit/base/stats_test.cpp
 */
#include "base/assert.h"

#include <librpm/stats.h>
#include <string.h>

#define SUB_BITS 6u
#define SUBS (1u << SUB_BITS)

_Static_assert(RPM_HIST_BUCKETS == SUBS + (64 - SUB_BITS) * SUBS, "64-bit values are covered");

static uint32_t bucket_of(uint64_t value);
static uint64_t highest_in(uint32_t bucket);
static uint64_t add64(uint64_t a, uint64_t b);
static uint32_t add32(uint32_t a, uint32_t b);

void rpm_hist_init(struct rpm_hist *hist)
{
    memset(hist, 0, sizeof(*hist));
}

void rpm_hist_add(struct rpm_hist *hist, uint64_t value)
{
    uint32_t *bucket = &hist->bucket[bucket_of(value)];

    RPM_ASSERT_SLOW(highest_in(bucket_of(value)) >= value);

    if (hist->count == 0 || value < hist->min)
        hist->min = value;
    if (value > hist->max)
        hist->max = value;
    hist->count++;
    hist->sum = add64(hist->sum, value);
    *bucket = add32(*bucket, 1);
}

void rpm_hist_merge(struct rpm_hist *into, const struct rpm_hist *from)
{
    RPM_ASSERT(into != from);
    if (from->count == 0)
        return;
    if (into->count == 0 || from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
    into->count += from->count;
    into->sum = add64(into->sum, from->sum);
    for (uint32_t i = 0; i < RPM_HIST_BUCKETS; i++)
        into->bucket[i] = add32(into->bucket[i], from->bucket[i]);
}

uint64_t rpm_hist_percentile(const struct rpm_hist *hist, uint32_t permille)
{
    uint64_t rank;
    uint64_t seen = 0;

    RPM_ASSERT(hist->min <= hist->max);
    if (hist->count == 0)
        return 0;
    if (permille > 1000)
        permille = 1000;
    /* ceil(count * permille / 1000) without overflow; at least the first value. */
    rank = hist->count / 1000 * permille + (hist->count % 1000 * permille + 999) / 1000;
    if (rank <= 1)
        return hist->min;

    for (uint32_t i = 0; i < RPM_HIST_BUCKETS; i++) {
        seen += hist->bucket[i];
        if (seen >= rank)
            return highest_in(i) < hist->max ? highest_in(i) : hist->max;
    }
    return hist->max; /* only if a counter has reached its maximum */
}

static uint32_t bucket_of(uint64_t value)
{
    uint32_t octave;

    if (value < SUBS)
        return (uint32_t)value;
    octave = 63u - (uint32_t)__builtin_clzll(value) - SUB_BITS; /* 0: values 64..127 */
    return SUBS + octave * SUBS + (uint32_t)(value >> octave) - SUBS;
}

static uint64_t highest_in(uint32_t bucket)
{
    uint32_t octave;

    RPM_ASSERT(bucket < RPM_HIST_BUCKETS);
    if (bucket < SUBS)
        return bucket;
    octave = bucket / SUBS - 1;
    return ((uint64_t)(SUBS + bucket % SUBS) << octave) + ((1ull << octave) - 1);
}

static uint64_t add64(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint32_t add32(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}
