/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * no_codec.c: segments without LZ4: stored as they are, and only such are read.
 *
 * Tests: tests/unit/tier/codec_test.cpp
 */
#include "tier/codec.h"

#include "base/err.h"

size_t rpmi_codec_pack(const void *raw, size_t len, void *to, size_t room)
{
    (void)raw;
    (void)len;
    (void)to;
    (void)room;
    return 0;
}

int rpmi_codec_unpack(const struct rpmi_segment *segment, const void *stored, void *raw)
{
    (void)segment;
    (void)stored;
    (void)raw;
    return rpmi_fail(RPM_E_NOCAP, "the segment is compressed by LZ4, and this librpm was built "
                                  "without it: configure with -DLIBRPM_LZ4=ON");
}
