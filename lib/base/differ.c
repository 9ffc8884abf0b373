/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * differ.c: compare 64 bytes at a time, as words whose differences are combined: one branch for
 * each line of memory.
 *
 * Tests: tests/unit/base/differ_test.cpp
 */
#include "base/differ.h"

#include "base/bytes.h"

#define WORD_BYTES 8u
#define LINE_WORDS 8u
#define LINE_BYTES (LINE_WORDS * WORD_BYTES)

/* The first byte that differs in the words' @differences; LINE_BYTES: none. */
static uint64_t first_of(const uint64_t differences[LINE_WORDS])
{
    for (uint64_t i = 0; i < LINE_WORDS; i++)
        if (differences[i] != 0)
            return i * WORD_BYTES + (uint64_t)__builtin_ctzll(differences[i]) / WORD_BYTES;
    return LINE_BYTES;
}

uint64_t rpmi_differ_at(const void *one, const void *other, uint64_t len)
{
    const unsigned char *left = one;
    const unsigned char *right = other;
    uint64_t at = 0;

    for (; len - at >= LINE_BYTES; at += LINE_BYTES) {
        uint64_t differences[LINE_WORDS];
        uint64_t any = 0;

        for (uint64_t i = 0; i < LINE_WORDS; i++) {
            differences[i] =
                rpmi_load64(left + at + i * WORD_BYTES) ^ rpmi_load64(right + at + i * WORD_BYTES);
            any |= differences[i];
        }
        if (any != 0)
            return at + first_of(differences);
    }
    while (at < len && left[at] == right[at])
        at++;
    return at;
}
