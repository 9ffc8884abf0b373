// SPDX-License-Identifier: BSD-3-Clause
// Repairs of each kind of damage: afterwards the volume is whole, or as it was.
#include "core/check/repair.h"

#include "core/check/check.h"
#include "unit/fs/check/damages.h"
#include "unit/fs/check/saved.h"

#include <cstdio>
#include <set>

using rfs::Call;

namespace
{

// Damage that a repair cannot decide, and so must leave.
const std::set<std::string> kLeft = {
    "the volume has no row",
    "a mode without a type",
    "a file with a parent",
    "a link longer than a path",
    "a zero byte in a target",
    "a zero byte in a target in an inode",
    "a link without a piece of its target",
    "no first piece of attributes",
    "no last piece of attributes",
    "a length in the attributes",
    "a byte of attributes too many",
    "attributes that are not counted",
    "more attributes than a file can have",
    "attributes without any piece",
};

uint64_t wrong_in(const TestVolume &volume)
{
    dtx::Findings findings = rfs::check_tables(*volume.open);
    uint64_t broken = 0;

    for (const std::string &text : findings.texts())
        UNSCOPED_INFO(text);
    for (const dtx::Finding &finding : findings.all())
        broken += finding.broken;
    return broken;
}

} // namespace

TEST_CASE("fs: a repair leaves a whole volume, or what it cannot decide untouched", "[unit]")
{
    std::vector<Damage> all = all_damage();
    Filled volume;
    SavedVolume whole(volume);
    size_t mended = 0;

    for (const Damage &damage : all) {
        std::string texts;
        auto told = [&](const std::string &text) { texts += "\n" + text; };

        volume.as_root([&](Call &call) { return damage.make(volume, call); });

        SavedVolume damaged(volume);
        uint64_t repairs = rfs::repair_tables(*volume.open, *volume.client, told);
        uint64_t wrong = wrong_in(volume);

        CAPTURE(damage.rule, damage.what, texts);
        CHECK((wrong == 0) == (kLeft.count(damage.what) == 0));
        CHECK((repairs != 0) == (wrong == 0));
        if (wrong != 0)
            CHECK(damaged.is_unchanged(volume));
        CHECK(rfs::repair_tables(*volume.open, *volume.client, told) == 0);
        mended += wrong == 0 ? 1 : 0;
        whole.put_back(volume);
    }
    CHECK(mended + kLeft.size() == all.size());
    printf("repaired %zu of %zu, %zu are left\n", mended, all.size(), kLeft.size());
}

TEST_CASE("fs: a repair keeps the contents of a file whose name or pointer was lost", "[unit]")
{
    Filled volume;
    std::string before = read_at(volume, volume.file, 0, 40 * rfs::kBlockBytes);
    auto told = [](const std::string &) {};

    volume.as_root([&](Call &call) -> dtx::Task<> {
        co_await erase_row(call, call.tables().names, volume.place_key(volume.directory, "file"));
        co_await alter(call, volume.file, [](rfs::InodeRow &row) { row.pointers[3].place ^= 32; });
    });
    CHECK(rfs::repair_tables(*volume.open, *volume.client, told) > 0);
    CHECK(wrong_in(volume) == 0);

    rfs::Place place = place_of(volume, place_of(volume, rfs::kRootIno, "lost+found").ino,
                                "#" + std::to_string(volume.file));

    CHECK(place.ino == volume.file);
    CHECK(read_at(volume, volume.file, 0, 40 * rfs::kBlockBytes) == before);
}

TEST_CASE("fs: a repair gives no block away while a damaged inode may have it", "[unit]")
{
    Filled volume;
    rfs::Pointer pointer = inode_of(volume, volume.other).pointers[0];

    volume.as_root([&](Call &call) -> dtx::Task<> {
        co_await alter(call, volume.file, [](rfs::InodeRow &row) { row.mode = 0; });
        co_await alter(call, volume.other, [](rfs::InodeRow &row) {
            row.pointers[0] = {};
            row.blocks--;
        });
    });

    uint64_t used = used_blocks(*volume.open);

    (void)rfs::repair_tables(*volume.open, *volume.client, [](const std::string &) {});
    CHECK(used_blocks(*volume.open) == used);
    CHECK(!pointer.is_hole());
}

TEST_CASE("fs: a repair writes a damaged block as it is on another copy", "[unit]")
{
    Filled volume;
    dtx::Options options = volume.options;
    rfs::Pointer pointer = inode_of(volume, volume.file).pointers[5];
    std::string texts;

    options.canary = dtx::kCanarySpanPrimary; // writes the first copy alone

    rfs::OpenVolume one_copy = rfs::open_volume("home", options);
    rfs::Client client(one_copy);

    client.call_now(volume.root, [&](Call &call) -> dtx::Task<> {
        dtx::SpanWrite piece{ call.tables().blocks, pointer.shard(),
                              pointer.block() * rfs::kBlockBytes + 4095, "!", 1 };

        co_await call.txn.write_span({ &piece, 1 });
    });
    CHECK(rfs::repair_data(*volume.open, *volume.client,
                           [&](const std::string &text) { texts += text; }) == 1);
    CHECK(texts == "block 5 of file " + std::to_string(volume.file) +
                       " is damaged on copy 0: wrote it as it is on another copy");
    CHECK(rfs::check_data(*volume.open).texts().empty());
}
