// SPDX-License-Identifier: BSD-3-Clause
// Blocks are taken and freed.
#include "core/file/slabs.h"

#include "core/format/keys.h"
#include "unit/fs/file/files.h"

#include <set>

using rfs::Call;
using rfs::Pointer;
using rfs::Room;
using rfs::Slab;

namespace
{

constexpr size_t kUsable = rfs::kSlabBlocks - rfs::kReserveBlocks;

// Makes a slab of shard 0 that belongs to an owner.
void make_slab(TestVolume &volume, uint32_t number, uint64_t owner)
{
    volume.as_root([&](Call &call) -> dtx::Task<> {
        rfs::SlabRow row{};

        row.owner = owner;
        (void)co_await call.txn.insert(call.tables().slabs, rfs::key_of(0, number), row);
    });
}

std::vector<Pointer> take_from(TestVolume &volume, const Room &room, size_t count)
{
    return volume.as_root([&](Call &call) { return rfs::take_blocks(call, room, count); });
}

} // namespace

TEST_CASE("fs: each block is taken once, and again when it is free", "[unit]")
{
    TestVolume volume(1, 1, "", { 400, 4 });
    Room room{ { Slab{ 0, 1 }, Slab{ 0, 2 } } };
    std::set<uint64_t> seen;

    make_slab(volume, 1, volume.client->owner());
    make_slab(volume, 2, volume.client->owner());
    for (size_t count : { 1, 63, 64, 300, 580 })
        for (const Pointer &pointer : take_from(volume, room, count)) {
            CHECK(seen.insert(pointer.block()).second);
            CHECK(pointer.block() / 512 == (seen.size() <= kUsable ? 1 : 2));
        }
    CHECK(seen.size() == 2 * kUsable);
    CHECK(used_blocks(*volume.open) == 2 * kUsable);
    CHECK_THROWS_AS(take_from(volume, room, 1), rfs::Shortage);

    volume.as_root([&](Call &call) {
        return rfs::free_blocks(
            call, { rfs::point_to(0, 1000), Pointer{}, rfs::point_to(0, 513), Pointer{} });
    });
    CHECK(used_blocks(*volume.open) == 2 * kUsable - 2);

    auto again = take_from(volume, room, 2);

    CHECK(again[0].block() == 513);
    CHECK(again[1].block() == 1000);
}

TEST_CASE("fs: blocks of another owner are not taken", "[unit]")
{
    TestVolume volume(1, 1, "", { 400, 4 });

    // Of another client, of none, and of an earlier session with this client's number.
    uint32_t number_of_client = rfs::coordinator_of(volume.client->owner());

    make_slab(volume, 1, rfs::owner_of(number_of_client + 1, volume.client->owner() >> 16));
    make_slab(volume, 2, 0);
    make_slab(volume, 3, rfs::owner_of(number_of_client, (volume.client->owner() >> 16) + 1));
    for (uint32_t number : { 0, 1, 2, 3 }) // 0 has no row
        CHECK_THROWS_AS(take_from(volume, Room{ { Slab{ 0, number } } }, 1), rfs::Shortage);
    CHECK_THROWS_AS(take_from(volume, Room{}, 1), rfs::Shortage);
    CHECK(used_blocks(*volume.open) == 0);
}

TEST_CASE("fs: a block that is free is not freed again", "[unit]")
{
    TestVolume volume(1, 1, "", { 400, 4 });

    make_slab(volume, 1, volume.client->owner());
    for (uint64_t block : { 512, 3 * 512 }) // the second slab has no row
        CHECK_THROWS_AS(volume.as_root([&](Call &call) {
            return rfs::free_blocks(call, { rfs::point_to(0, block) });
        }),
                        dtx::Error);
}
