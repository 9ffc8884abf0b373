/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * no_zstd.c: without libzstd, codec.c refuses segments that are compressed by zstd.
 *
 * Tests: tests/unit/tier/codec_test.cpp
 */
#include "tier/codec.h"

const struct rpmi_codec rpmi_codec_zstd = {
    .name = "zstd",
    .number = RPMI_SEGMENT_ZSTD,
    .lacks = "-DLIBRPM_ZSTD=ON",
};
