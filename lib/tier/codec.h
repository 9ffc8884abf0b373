/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * codec.h: compress the frames of a segment, as one block. codec.c, or no_codec.c where librpm is
 * built without LZ4: it stores them as they are.
 *
 * Tests: tests/unit/tier/codec_test.cpp
 */
#ifndef RPMI_CODEC_H
#define RPMI_CODEC_H

#include "wire/segment.h"

#include <stddef.h>

/* Compress @len bytes, at most RPMI_SEGMENT_RAW_MAX, into the @room at @to. The number of bytes
 * there, or 0: they would not be fewer. The same bytes give the same result. */
size_t rpmi_codec_pack(const void *raw, size_t len, void *to, size_t room);

/* The frames of a segment with RPMI_SEGMENT_LZ4, exactly raw_bytes. RPM_E_CORRUPT: they are not
 * what was compressed; RPM_E_NOCAP: this library cannot. */
int rpmi_codec_unpack(const struct rpmi_segment *segment, const void *stored, void *raw);

#endif
