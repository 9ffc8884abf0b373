/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * codec.h: compress the frames of a segment, as one block, by one of several codecs.
 *
 * Invariants
 *   what is stored is shorter than the frames, or is the frames as they are
 *   an unpacked segment has exactly the bytes that its header says; nothing is written behind them
 *
 * Tests: tests/unit/tier/codec_test.cpp
 */
#ifndef RPMI_CODEC_H
#define RPMI_CODEC_H

#include "wire/segment.h"

#include <stddef.h>

/* A codec: in lz4.c and zstd.c, or in no_*.c where librpm is built without its library. */
struct rpmi_codec {
    const char *name;  /* in rpm_tier_opts.codec */
    uint32_t number;   /* enum rpmi_segment_codec */
    const char *lacks; /* the setting that this librpm was built without; NULL: it has the codec */
    /* Make the memory that pack() works with. RPM_E_NOMEM. NULL: pack() needs none. */
    int (*open)(void **state);
    void (*close)(void *state);
    /* Compress @len bytes, at least 1 and at most RPMI_SEGMENT_RAW_MAX, into @room bytes at @to.
     * @packed: how many; 0: they do not fit. RPM_E_NOMEM. The same bytes give the same result. */
    int (*pack)(void *state, const void *raw, size_t len, void *to, size_t room, size_t *packed);
    /* The frames of a segment, at most raw_bytes. False: not exactly as many. RPM_E_NOMEM. */
    int (*unpack)(const struct rpmi_segment *segment, const void *stored, void *raw, bool *whole);
};

extern const struct rpmi_codec rpmi_codec_lz4;
extern const struct rpmi_codec rpmi_codec_zstd;

/* The codec of a name. NULL: LZ4, or none where librpm is built without it. RPM_E_INVAL: no codec
 * has the name; RPM_E_NOCAP: librpm is built without it. */
int rpmi_codec_find(const char *name, const struct rpmi_codec **codec);

/* What compresses segments, one at a time. */
struct rpmi_packer {
    const struct rpmi_codec *codec; /* NULL: not open */
    void *state;
};

/* RPM_E_NOMEM. */
int rpmi_packer_open(struct rpmi_packer *packer, const struct rpmi_codec *codec);
/* Store the raw_bytes of a segment at @to, which has room for as many, and set its codec and
 * stored_bytes. RPM_E_NOMEM: call it again. */
int rpmi_packer_pack(const struct rpmi_packer *packer, const void *raw,
                     struct rpmi_segment *segment, void *to);
void rpmi_packer_close(struct rpmi_packer *packer);

/* The frames of a segment that is compressed, exactly raw_bytes. RPM_E_CORRUPT: they are not what
 * was compressed; RPM_E_NOCAP: librpm is built without its codec; RPM_E_NOMEM. */
int rpmi_codec_unpack(const struct rpmi_segment *segment, const void *stored, void *raw);

#endif
