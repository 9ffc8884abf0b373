/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tier.h: an open tier: a store of segments, and how one of them is read.
 *
 * Tests: tests/unit/tier/
 */
#ifndef RPMI_TIER_H
#define RPMI_TIER_H

#include "log/cold.h"
#include "tier/codec.h"
#include "tier/names.h"

#include <librpm/tier.h>

#define RPMI_SEGMENT_SPAN_DEFAULT (4u << 20)
#define RPMI_SEGMENT_SPAN_MIN (64u << 10)
#define RPMI_SEGMENT_SPAN_MAX (64u << 20)
#define RPMI_PROVEN_MAX 4096u

struct rpm_tier {
    struct rpmi_cold cold; /* first: lib/log sees this part */
    struct rpmi_store *store;
    uint64_t span;                  /* LSNs of a segment */
    const char *engine;             /* by which archivers read; NULL: none */
    const struct rpmi_codec *codec; /* by which archivers store */
    struct rpmi_names names;
    /* Of a store with named_early: segments that were read whole, the last so many; else NULL. */
    struct rpmi_segment_name *proven;
    uint64_t provings;
};

/* load.c: read and check the header of a segment: that it is the one that its name says, and its
 * file has the length that it says. RPM_E_NOENT, RPM_E_FOREIGN, RPM_E_VERSION, RPM_E_CORRUPT, those
 * of a store; the error text names the file. */
int rpmi_segment_open(const struct rpm_tier *tier, const struct rpmi_segment_name *name,
                      struct rpmi_segment *segment);
/* Read its frames as well, uncompressed, into memory that the caller frees. */
int rpmi_segment_load(const struct rpm_tier *tier, const struct rpmi_segment_name *name,
                      struct rpmi_segment *segment, unsigned char **raw);

/* cursor.c: see struct rpmi_cold_ops. */
int rpmi_cursor_seek(struct rpm_tier *tier, uint64_t log_id, uint64_t lsn,
                     struct rpmi_cold_cursor **cursor);
int rpmi_cursor_next(struct rpmi_cold_cursor *cursor, struct rpmi_frame *frame,
                     const void **payload, uint64_t *end_lsn);
void rpmi_cursor_drop(struct rpmi_cold_cursor *cursor);

/* tier.c: a segment of this name was read whole, so that its records may be trimmed. */
void rpmi_tier_proven(struct rpm_tier *tier, const struct rpmi_segment_name *name);

/* tier.c: see struct rpmi_cold_ops. */
int rpmi_tier_oldest(struct rpm_tier *tier, uint64_t log_id, uint64_t *lsn);
int rpmi_tier_stored(struct rpm_tier *tier, uint64_t log_id, uint64_t from_lsn, uint64_t limit_lsn,
                     struct rpmi_stored *stored);

#endif
