/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * codec.c: compress segments by LZ4.
 *
 * Tests: tests/unit/tier/codec_test.cpp
 */
#include "tier/codec.h"

#include "base/err.h"

#include <lz4.h>

_Static_assert(RPMI_SEGMENT_RAW_MAX <= LZ4_MAX_INPUT_SIZE, "one block");

size_t rpmi_codec_pack(const void *raw, size_t len, void *to, size_t room)
{
    size_t least = len < room ? len : room;
    int packed;

    RPM_ASSERT(len <= RPMI_SEGMENT_RAW_MAX);
    if (least < 2)
        return 0;
    packed = LZ4_compress_default(raw, to, (int)len, (int)(least - 1));
    return packed > 0 ? (size_t)packed : 0;
}

int rpmi_codec_unpack(const struct rpmi_segment *segment, const void *stored, void *raw)
{
    RPM_ASSERT(segment->codec == RPMI_SEGMENT_LZ4);
    if (LZ4_decompress_safe(stored, raw, (int)segment->stored_bytes, (int)segment->raw_bytes) !=
        (int)segment->raw_bytes)
        return rpmi_fail(RPM_E_CORRUPT, "the compressed bytes do not give %llu bytes of frames",
                         (unsigned long long)segment->raw_bytes);
    return 0;
}
