// SPDX-License-Identifier: BSD-3-Clause
// The keys of rows.
#include "core/format/keys.h"

#include "support/catch.h"

#include <set>
#include <string>

TEST_CASE("fs: the key of a name has its directory, and room for names of the same hash", "[unit]")
{
    std::set<uint64_t> keys;

    for (int i = 0; i < 1000; i++) {
        uint64_t key = rfs::first_name_key(77, "name" + std::to_string(i), 1);

        CHECK(rfs::upper_half(key) == 77);
        CHECK(rfs::lower_half(key) % rfs::kCollisions == 0);
        keys.insert(key);
    }
    CHECK(keys.size() > 990);
    CHECK(rfs::first_name_key(77, "name", 1) != rfs::first_name_key(77, "name", 2));
}

TEST_CASE("fs: the rows of a file are on the shard of its number", "[unit]")
{
    for (uint32_t ino : { 1u, 7u, UINT32_MAX })
        for (uint32_t shards : { 1u, 3u, 256u })
            CHECK(rfs::shard_of(ino, shards) == rfs::upper_half(rfs::key_of(ino, 5)) % shards);
}
