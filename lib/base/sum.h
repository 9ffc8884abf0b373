/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sum.h: the checksum of all formats: XXH3, 64 bits, from the system's xxHash header.
 *
 * Why this one
 *   64 bits: with one torn frame a second for a century, the probability that any of them has a
 *     right checksum is below 10^-9; with 32 bits it is about one half
 *   speed: about 5 ns for the 64 bytes of a small record, inline and with no dispatch; at memory
 *     speed for large payloads
 *   kept: xxHash is maintained by others, packaged everywhere, and its XXH3 output is frozen
 *   no hardware need: CRC32C instructions are as fast for small input only, and have 32 bits
 * It protects against torn, stale and rotten bytes, not against an adversary.
 *
 * What makes a frame of an earlier log in the same bytes fail is the log id, which goes into every
 * frame's sum (wire/frame.h). XXH3 picks its vector path when it is compiled, so the paths for long
 * input are compiled once for each instruction set (sum_*.c) and one is chosen when first used;
 * all give the same value.
 *
 * This is the only place that includes <xxhash.h>.   Tests: tests/unit/base/sum_test.cpp
 */
#ifndef RPMI_SUM_H
#define RPMI_SUM_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stddef.h>
#include <stdint.h>

/* XXH3 takes its vector path above this (XXH3_MIDSIZE_MAX). */
#define RPMI_SUM_SHORT_MAX 240u

/* For input longer than RPMI_SUM_SHORT_MAX, by the widest vectors this CPU has. */
uint64_t rpmi_sum_long(const void *data, size_t len);
uint64_t rpmi_sum_seeded_long(const void *data, size_t len, uint64_t seed);

/* Start a state, and add to it, by the widest vectors. Both use the same width: bytes that were
 * stored in narrow pieces cannot be loaded as one vector until the stores have reached the
 * cache. */
void rpmi_sum_reset(XXH3_state_t *state);
void rpmi_sum_update(XXH3_state_t *state, const void *data, size_t len);

void rpmi_sum_reset_base(XXH3_state_t *state);
void rpmi_sum_reset_avx2(XXH3_state_t *state);
void rpmi_sum_reset_avx512(XXH3_state_t *state);
void rpmi_sum_update_base(XXH3_state_t *state, const void *data, size_t len);
void rpmi_sum_update_avx2(XXH3_state_t *state, const void *data, size_t len);
void rpmi_sum_update_avx512(XXH3_state_t *state, const void *data, size_t len);

/* Paths of rpmi_sum_long() and rpmi_sum_seeded_long(), for these and for the tests that they agree.
 */
uint64_t rpmi_sum_base(const void *data, size_t len);
uint64_t rpmi_sum_avx2(const void *data, size_t len);
uint64_t rpmi_sum_avx512(const void *data, size_t len);
uint64_t rpmi_sum_seeded_base(const void *data, size_t len, uint64_t seed);
uint64_t rpmi_sum_seeded_avx2(const void *data, size_t len, uint64_t seed);
uint64_t rpmi_sum_seeded_avx512(const void *data, size_t len, uint64_t seed);

static inline uint64_t rpmi_sum(const void *data, size_t len)
{
    if (len > RPMI_SUM_SHORT_MAX)
        return rpmi_sum_long(data, len);
    return XXH3_64bits(data, len);
}

/* With a seed; 0: the same value as rpmi_sum(). Other CPUs may change @data meanwhile: no address
 * and no branch depends on its bytes. */
static inline uint64_t rpmi_sum_seeded(const void *data, size_t len, uint64_t seed)
{
    if (len > RPMI_SUM_SHORT_MAX)
        return rpmi_sum_seeded_long(data, len, seed);
    return XXH3_64bits_withSeed(data, len, seed);
}

/* The same value over input that comes in pieces. */
struct rpmi_sum_stream {
    XXH3_state_t state;
};

static inline void rpmi_sum_begin(struct rpmi_sum_stream *stream)
{
    rpmi_sum_reset(&stream->state);
}

/* With a seed. For long input: the first piece is not loaded as fast as after rpmi_sum_begin(). */
static inline void rpmi_sum_begin_seeded(struct rpmi_sum_stream *stream, uint64_t seed)
{
    XXH3_INITSTATE(&stream->state);
    (void)XXH3_64bits_reset_withSeed(&stream->state, seed);
}

static inline void rpmi_sum_more(struct rpmi_sum_stream *stream, const void *data, size_t len)
{
    rpmi_sum_update(&stream->state, data, len);
}

static inline uint64_t rpmi_sum_end(const struct rpmi_sum_stream *stream)
{
    return XXH3_64bits_digest(&stream->state);
}

#endif
