/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * codec.c: find the codec of a name or of a segment, and compress and uncompress by it.
 *
 * Invariants: see codec.h.
 *
 * Format: FORMAT.md, section 13.   Tests: tests/unit/tier/codec_test.cpp
 */
#include "tier/codec.h"

#include "base/assert.h"
#include "base/err.h"

#include <inttypes.h>
#include <string.h>

static const struct rpmi_codec PLAIN = { .name = "none", .number = RPMI_SEGMENT_PLAIN };

/* The first that this librpm has is the default: all that have LZ4 can read it. */
static const struct rpmi_codec *const CODECS[] = { &rpmi_codec_lz4, &PLAIN, &rpmi_codec_zstd };

#define CODECS_COUNT (sizeof(CODECS) / sizeof(CODECS[0]))

int rpmi_codec_find(const char *name, const struct rpmi_codec **codec)
{
    size_t i = 0;

    RPM_ASSERT(codec != NULL);
    while (i < CODECS_COUNT &&
           (name == NULL ? CODECS[i]->lacks != NULL : strcmp(CODECS[i]->name, name) != 0))
        i++;
    if (i == CODECS_COUNT)
        return rpmi_fail(RPM_E_INVAL, "codec is '%s'; expected is lz4, zstd or none", name);
    if (CODECS[i]->lacks != NULL)
        return rpmi_fail(RPM_E_NOCAP,
                         "codec is '%s', and this librpm was built without it: choose another "
                         "one, or configure with %s",
                         name, CODECS[i]->lacks);
    *codec = CODECS[i];
    return 0;
}

int rpmi_packer_open(struct rpmi_packer *packer, const struct rpmi_codec *codec)
{
    void *state = NULL;
    int err = codec->open != NULL ? codec->open(&state) : 0;

    RPM_ASSERT(codec->lacks == NULL);
    if (err == 0)
        *packer = (struct rpmi_packer){ .codec = codec, .state = state };
    return err;
}

int rpmi_packer_pack(const struct rpmi_packer *packer, const void *raw,
                     struct rpmi_segment *segment, void *to)
{
    const struct rpmi_codec *codec = packer->codec;
    size_t packed = 0;
    int err = 0;

    RPM_ASSERT(segment->raw_bytes > 0 && segment->raw_bytes <= RPMI_SEGMENT_RAW_MAX);
    if (codec->pack != NULL)
        err = codec->pack(packer->state, raw, segment->raw_bytes, to, segment->raw_bytes - 1,
                          &packed);
    if (err != 0)
        return err;
    RPM_ASSERT(packed < segment->raw_bytes);
    segment->codec = packed != 0 ? codec->number : RPMI_SEGMENT_PLAIN;
    segment->stored_bytes = packed != 0 ? packed : segment->raw_bytes;
    if (packed == 0)
        memcpy(to, raw, segment->raw_bytes);
    return 0;
}

void rpmi_packer_close(struct rpmi_packer *packer)
{
    if (packer->codec != NULL && packer->codec->close != NULL)
        packer->codec->close(packer->state);
    *packer = (struct rpmi_packer){ .codec = NULL };
}

int rpmi_codec_unpack(const struct rpmi_segment *segment, const void *stored, void *raw)
{
    const struct rpmi_codec *codec = NULL;
    bool whole = false;
    int err;

    for (size_t i = 0; i < CODECS_COUNT && codec == NULL; i++)
        if (CODECS[i]->number == segment->codec)
            codec = CODECS[i];
    RPM_ASSERT(codec != NULL && codec != &PLAIN); /* rpmi_segment_get() refused every other one */
    if (codec->lacks != NULL)
        return rpmi_fail(RPM_E_NOCAP,
                         "the segment is compressed by %s, and this librpm was built without it: "
                         "configure with %s",
                         codec->name, codec->lacks);
    err = codec->unpack(segment, stored, raw, &whole);
    if (err == 0 && !whole)
        err = rpmi_fail(RPM_E_CORRUPT,
                        "the bytes compressed by %s do not give %" PRIu64 " bytes of frames",
                        codec->name, segment->raw_bytes);
    return err;
}
