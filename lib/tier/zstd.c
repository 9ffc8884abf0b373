/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zstd.c: the codec zstd: smaller segments than by LZ4, for more time of the CPU.
 *
 * A segment is one frame, which is uncompressed in one step: then zstd needs no buffer of the size
 * that the frame asks for, its window, beside the frames themselves, and no window has to be
 * refused.
 *
 * Invariants
 *   a segment is one frame of the present format of zstd, with its size; formats before it, frames
 *   to be skipped, and further frames are refused
 *
 * Format: FORMAT.md, section 13.   Tests: tests/unit/tier/zstd_test.cpp
 */
#include "tier/codec.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/err.h"

#include <zstd.h>
#include <zstd_errors.h>

#define LEVEL 1 /* tools/README.md, "Segments of TPC-C's logs", has what others take and leave */

static int open_context(void **state)
{
    *state = ZSTD_createCCtx();
    return *state != NULL ? 0 : RPM_E_NOMEM;
}

static void close_context(void *state)
{
    (void)ZSTD_freeCCtx(state);
}

static int pack(void *state, const void *raw, size_t len, void *to, size_t room, size_t *packed)
{
    size_t bytes = ZSTD_compressCCtx(state, to, room, raw, len, LEVEL);
    ZSTD_ErrorCode code = ZSTD_getErrorCode(bytes);

    RPM_ASSERT(code == ZSTD_error_no_error || code == ZSTD_error_dstSize_tooSmall ||
               code == ZSTD_error_memory_allocation);
    *packed = code == ZSTD_error_no_error ? bytes : 0;
    return code == ZSTD_error_memory_allocation ? RPM_E_NOMEM : 0;
}

/* One frame, and nothing behind it, that says to have raw_bytes. */
static bool is_frame(const struct rpmi_segment *segment, const void *stored)
{
    return segment->stored_bytes >= sizeof(uint32_t) && rpmi_load32(stored) == ZSTD_MAGICNUMBER &&
           ZSTD_getFrameContentSize(stored, segment->stored_bytes) == segment->raw_bytes &&
           ZSTD_findFrameCompressedSize(stored, segment->stored_bytes) == segment->stored_bytes;
}

static int unpack(const struct rpmi_segment *segment, const void *stored, void *raw, bool *whole)
{
    ZSTD_DCtx *context;

    *whole = false;
    if (!is_frame(segment, stored))
        return 0;
    context = ZSTD_createDCtx();
    if (context == NULL)
        return RPM_E_NOMEM;
    *whole = ZSTD_decompressDCtx(context, raw, segment->raw_bytes, stored, segment->stored_bytes) ==
             segment->raw_bytes;
    (void)ZSTD_freeDCtx(context);
    return 0;
}

const struct rpmi_codec rpmi_codec_zstd = {
    .name = "zstd",
    .number = RPMI_SEGMENT_ZSTD,
    .open = open_context,
    .close = close_context,
    .pack = pack,
    .unpack = unpack,
};
