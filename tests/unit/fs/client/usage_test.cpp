// SPDX-License-Identifier: BSD-3-Clause
// usage_test.cpp: how full a volume is.
#include "../volume.h"

#include "core/client/files.h"
#include "core/client/usage.h"

static rfs::Blocks blocks_of(TestVolume &volume)
{
    return volume.client->finish(rfs::count_blocks(*volume.client));
}

TEST_CASE("fs: blocks are counted on all servers, one copy of each")
{
    TestVolume volume(2, 2, "", { 400, 2 });
    std::vector<char> bytes(1 << 20, 'x');
    rfs::Blocks fresh = blocks_of(volume);
    uint32_t ino = make_file(volume, rfs::kRootIno, "f");

    CHECK(fresh.all == 2 * 2 * rfs::kSlabBlocks);
    CHECK(fresh.free == fresh.all);
    CHECK(fresh.usable == fresh.all - 4 * rfs::kReserveBlocks);
    (void)volume.client->finish(
        rfs::write_file(*volume.client, volume.root, ino, { 0, bytes.data(), bytes.size() }));
    (void)volume.client->finish(
        rfs::write_file(*volume.client, volume.root, ino, { 1 << 20, bytes.data(), 1 }));
    CHECK(blocks_of(volume).free == fresh.all - 257);
    CHECK(blocks_of(volume).usable == fresh.usable - 257);
    (void)volume.client->finish(rfs::resize_file(*volume.client, volume.root, ino, 1));
    CHECK(blocks_of(volume).free == fresh.all - 1);
    CHECK(blocks_of(volume).all == fresh.all);
}
