/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keys.cc: hash a name.
 *
 * Tests: tests/unit/fs/format/keys_test.cpp
 */
#include "core/format/keys.h"

#include <xxhash.h>

namespace rfs
{

uint64_t first_name_key(uint32_t directory, std::string_view name, uint64_t seed)
{
    uint64_t hash = XXH3_64bits_withSeed(name.data(), name.size(), seed);

    return key_of(directory, static_cast<uint32_t>(hash >> 36) * kCollisions);
}

} // namespace rfs
