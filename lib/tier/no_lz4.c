/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * no_lz4.c: without liblz4, codec.c refuses segments that are compressed by LZ4.
 *
 * Tests: tests/unit/tier/codec_test.cpp
 */
#include "tier/codec.h"

const struct rpmi_codec rpmi_codec_lz4 = {
    .name = "lz4",
    .number = RPMI_SEGMENT_LZ4,
    .lacks = "-DLIBRPM_LZ4=ON",
};
