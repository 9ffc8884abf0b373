/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * start.h: the start counter of a pool: how often a server has opened it to serve it. By a lower
 * number than it remembers, a client detects that the pool was restored from an older copy.
 *
 * Invariants
 *   a counter is one aligned word, so that a power cut never tears it; its copy is in another
 *     sector of the medium
 *
 * Format: FORMAT.md, section 2.   Tests: tests/unit/wire/start_test.cpp
 */
#ifndef RPMI_START_H
#define RPMI_START_H

#include <stdbool.h>
#include <stdint.h>

#define RPMI_START_BYTES 8u
#define RPMI_START_COPIES 2u
#define RPMI_START_AT 2048u     /* in the pool: the first copy, */
#define RPMI_START_STRIDE 1024u /* and the second one behind it */

struct rpmi_layout; /* wire/layout.h */
extern const struct rpmi_layout rpmi_start_layout;

struct rpmi_start_count {
    uint32_t starts;
};

void rpmi_start_put(void *word, const struct rpmi_start_count *start);

/* 0, or RPM_E_TORN: not as rpmi_start_put() writes it. */
int rpmi_start_get(const void *word, struct rpmi_start_count *start);

/* Are the @bytes at @at in a pool, behind its superblock and in front of its directory, as
 * formatting finds or leaves them? Both are multiples of RPMI_START_BYTES. */
bool rpmi_start_is_new(const void *piece, uint64_t at, uint64_t bytes);

#endif
