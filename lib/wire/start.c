/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * start.c: encode and decode the start counter of a pool.
 *
 * Format: FORMAT.md, section 2.   Tests: tests/unit/wire/start_test.cpp
 */
#include "wire/start.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"
#include "wire/layout.h"
#include "wire/super.h"

#include <inttypes.h>

#define AT_INVERTED 4

_Static_assert(RPMI_START_AT >= RPMI_SUPER_BYTES, "behind the superblock");
_Static_assert(RPMI_START_AT + (RPMI_START_COPIES - 1) * RPMI_START_STRIDE + RPMI_START_BYTES <=
                   RPMI_DIR_OFFSET,
               "in front of the directory");

static const struct rpmi_field FIELDS[] = {
    RPMI_NUMBER(0, struct rpmi_start_count, starts),
    RPMI_OWN(AT_INVERTED, 4, "inverted"),
};

const struct rpmi_layout rpmi_start_layout = RPMI_LAYOUT("start counter", FIELDS, RPMI_START_BYTES);

void rpmi_start_put(void *word, const struct rpmi_start_count *start)
{
    unsigned char *to = word;

    RPM_ASSERT(word != NULL && start != NULL);
    rpmi_layout_put(&rpmi_start_layout, to, start);
    rpmi_store32(to + AT_INVERTED, ~start->starts);
    RPM_ASSERT(rpmi_load64(to) != 0); /* zeros, as a lost line reads, are no counter */
}

int rpmi_start_get(const void *word, struct rpmi_start_count *start)
{
    const unsigned char *from = word;
    struct rpmi_start_count found;

    RPM_ASSERT(word != NULL && start != NULL);
    (void)rpmi_layout_get(&rpmi_start_layout, from, &found); /* it has neither text nor gap */
    if (rpmi_load32(from + AT_INVERTED) != ~found.starts)
        return rpmi_fail(RPM_E_TORN,
                         "start counter %#" PRIx32 " with %#" PRIx32
                         " as its inverse, expected is %#" PRIx32,
                         found.starts, rpmi_load32(from + AT_INVERTED), ~found.starts);
    *start = found;
    return 0;
}

bool rpmi_start_is_new(const void *piece, uint64_t at, uint64_t bytes)
{
    const unsigned char *from = piece;
    unsigned char first[RPMI_START_BYTES];

    RPM_ASSERT(rpmi_is_aligned(at, RPMI_START_BYTES) && rpmi_is_aligned(bytes, RPMI_START_BYTES));
    RPM_ASSERT(at >= RPMI_SUPER_BYTES && at + bytes <= RPMI_DIR_OFFSET);
    rpmi_start_put(first, &(struct rpmi_start_count){ .starts = 0 });
    for (uint64_t i = 0; i < bytes; i += RPMI_START_BYTES) {
        bool counter = rpmi_is_aligned(at + i, RPMI_START_STRIDE);

        if (rpmi_load64(from + i) != 0 && (!counter || rpmi_load64(from + i) != rpmi_load64(first)))
            return false;
    }
    return true;
}
