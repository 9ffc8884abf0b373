/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * object.cc: compute and check the checksum of an object.
 *
 * Tests: tests/unit/dtx/engine/format/object_test.cpp
 */
#include <dtx/object.h>

#include "engine/base/assert.h"

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtx
{

/* Over everything but the checksum itself, which is the last word of the header. */
static uint32_t sum(const unsigned char *image, uint32_t bytes)
{
    uint64_t head = XXH3_64bits(image, offsetof(ObjectHeader, checksum));
    uint64_t all =
        XXH3_64bits_withSeed(image + sizeof(ObjectHeader), bytes - sizeof(ObjectHeader), head);

    return static_cast<uint32_t>(all ^ all >> 32);
}

void seal(unsigned char *image, uint32_t bytes)
{
    DTX_ASSERT(bytes >= sizeof(ObjectHeader) && bytes % 8 == 0);
    header_of(image).checksum = sum(image, bytes);
}

bool is_whole(const unsigned char *image, uint32_t bytes)
{
    const ObjectHeader &header = header_of(image);

    /* Version 0: all bytes must be 0. The header alone does not tell: its cache line may have
     * been lost while the others were written. */
    if (header.version == 0 && header.flags == 0 && header.checksum == 0)
        return image[0] == 0 && std::memcmp(image, image + 1, bytes - 1) == 0;
    return header.version != 0 && header.checksum == sum(image, bytes);
}

} // namespace dtx
