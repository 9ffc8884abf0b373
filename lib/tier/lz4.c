/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lz4.c: the codec LZ4: fast, and fast to read.
 *
 * Tests: tests/unit/tier/lz4_test.cpp
 */
#include "tier/codec.h"

#include "base/assert.h"

#include <lz4.h>

_Static_assert(RPMI_SEGMENT_RAW_MAX <= LZ4_MAX_INPUT_SIZE, "one block");

static int pack(void *state, const void *raw, size_t len, void *to, size_t room, size_t *packed)
{
    int bytes = LZ4_compress_default(raw, to, (int)len, (int)room);

    RPM_ASSERT(state == NULL && len <= RPMI_SEGMENT_RAW_MAX);
    *packed = bytes > 0 ? (size_t)bytes : 0;
    return 0;
}

static int unpack(const struct rpmi_segment *segment, const void *stored, void *raw, bool *whole)
{
    *whole = LZ4_decompress_safe(stored, raw, (int)segment->stored_bytes,
                                 (int)segment->raw_bytes) == (int)segment->raw_bytes;
    return 0;
}

const struct rpmi_codec rpmi_codec_lz4 = {
    .name = "lz4",
    .number = RPMI_SEGMENT_LZ4,
    .pack = pack,
    .unpack = unpack,
};
