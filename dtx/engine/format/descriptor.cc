/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * descriptor.cc: compute and check the checksum of a descriptor.
 *
 * Tests: tests/unit/dtx/engine/format/descriptor_test.cpp
 */
#include "engine/format/descriptor.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtx
{

static uint64_t sum(const Descriptor &descriptor)
{
    return XXH3_64bits(&descriptor, offsetof(Descriptor, checksum));
}

void seal(Descriptor &descriptor)
{
    descriptor.magic = kDescriptorMagic;
    descriptor.format = kFormatVersion;
    descriptor.checksum = sum(descriptor);
}

bool is_whole(const Descriptor &descriptor)
{
    return descriptor.checksum == sum(descriptor);
}

} // namespace dtx
