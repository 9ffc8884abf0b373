// SPDX-License-Identifier: BSD-3-Clause
// Files become longer and shorter, and are freed.
#include "core/file/resize.h"

#include "unit/fs/file/files.h"

#include <cerrno>

using rfs::Call;
using rfs::kBlockBytes;
using rfs::kRootIno;

namespace
{

uint64_t orphans_of(const TestVolume &volume)
{
    uint64_t orphans = 0;

    volume.open->cluster->each_row(volume.open->volume.tables.orphans.number, 0,
                                   [&](uint64_t, const void *, size_t) { orphans++; });
    return orphans;
}

} // namespace

TEST_CASE("fs: what was cut off does not come back", "[unit]")
{
    TestVolume volume(2, 2);
    uint32_t ino = make_file(volume, kRootIno, "f");
    std::string text = text_of(100 * kBlockBytes, 1);

    (void)write_at(volume, ino, 0, text);
    for (uint64_t size :
         { 100 * kBlockBytes, 99 * kBlockBytes + 1, 50 * kBlockBytes, 33 * kBlockBytes - 7,
           9 * kBlockBytes, 8 * kBlockBytes - 1, 3 * kBlockBytes, 1u, 0u }) {
        rfs::Node node = resize_to(volume, ino, size);

        CAPTURE(size);
        CHECK(node.row.size == size);
        CHECK(node.row.blocks == (size + kBlockBytes - 1) / kBlockBytes);
        CHECK((read_at(volume, ino, 0, text.size()) == text.substr(0, size)));
        (void)resize_to(volume, ino, size + 5000);
        CHECK((read_at(volume, ino, 0, size + 9999) ==
               text.substr(0, size) + std::string(5000, '\0')));
        CHECK(inode_of(volume, ino).blocks == node.row.blocks);
    }
    CHECK(faults_of_blocks(volume) == "");
}

TEST_CASE("fs: the blocks of a large file are freed in steps", "[unit]")
{
    bool writes = GENERATE(true, false);
    TestVolume volume(1, 1, "", { 400, 12 });
    uint32_t ino = make_file(volume, kRootIno, "f");
    constexpr uint64_t kRows = 2 * rfs::kCutRows + 3;

    for (uint64_t row = 0; row < kRows; row++) // one block in each row of maps
        (void)write_at(volume, ino, (row * 32 + 9) * kBlockBytes, "x");
    CHECK(used_blocks(*volume.open) == kRows);

    // The client ends after the first step.
    rfs::Node node =
        volume.as_root([&](Call &call) { return rfs::resize(call, ino, 0, rfs::Room{}); });

    CHECK(node.row.cut == uint64_t{ rfs::kCutRows } * 32);
    CHECK(used_blocks(*volume.open) == kRows - rfs::kCutRows);
    CHECK(read_at(volume, ino, 0, 100) == "");
    volume.client.emplace(*volume.open);

    CHECK_THROWS_AS(volume.as_root([&](Call &call) {
        return rfs::resize(call, ino, kRows * 32 * kBlockBytes, rfs::Room{});
    }),
                    rfs::Unfinished);

    // The next one that makes the file longer finishes it, and no old block comes back.
    if (writes)
        (void)write_at(volume, ino, (kRows * 32) * kBlockBytes, "y");
    else
        (void)resize_to(volume, ino, (kRows * 32) * kBlockBytes);
    CHECK(inode_of(volume, ino).cut == rfs::kNoCut);
    CHECK(used_blocks(*volume.open) == (writes ? 1 : 0));
    CHECK(read_at(volume, ino, (rfs::kCutRows * 32 + 9) * kBlockBytes, 1) == std::string(1, '\0'));
    CHECK(faults_of_blocks(volume) == "");
}

TEST_CASE("fs: a file without names is freed with all its rows", "[unit]")
{
    TestVolume volume(2, 2, "", { 400, 6 });
    uint32_t file = make_file(volume, kRootIno, "f");
    std::string target(4000, 'a');
    uint32_t link = volume
                        .as_root([&](Call &call) {
                            return rfs::create(call, kRootIno, "l", { S_IFLNK | 0777, 0, target });
                        })
                        .ino;
    uint32_t directory = make_directory(volume, kRootIno, "d");

    for (uint64_t row = 0; row < rfs::kCutRows + 3; row++)
        (void)write_at(volume, file, row * 32 * kBlockBytes, "x");
    volume.client->finish(rfs::free_file(*volume.client, file)); // it has a name
    CHECK(inode_of(volume, file).links == 1);
    volume.as_root([&](Call &call) { return rfs::remove_file(call, kRootIno, "f"); });
    volume.as_root([&](Call &call) { return rfs::remove_file(call, kRootIno, "l"); });
    volume.as_root([&](Call &call) { return rfs::remove_directory(call, kRootIno, "d"); });
    CHECK(orphans_of(volume) == 3);
    CHECK(read_at(volume, file, 0, 1) == "x"); // until it is freed, it can be read
    for (uint32_t ino : { file, link, directory, 12345u })
        volume.client->finish(rfs::free_file(*volume.client, ino));
    CHECK(error_of([&] { (void)inode_of(volume, file); }) == ESTALE);
    CHECK(used_blocks(*volume.open) == 0);
    CHECK(orphans_of(volume) == 0);
    for (uint32_t table :
         { volume.open->volume.tables.maps.number, volume.open->volume.tables.blobs.number }) {
        uint64_t rows = 0;

        volume.open->cluster->each_row(table, 0, [&](uint64_t, const void *, size_t) { rows++; });
        CHECK(rows == 0);
    }
    CHECK(faults_of_blocks(volume) == "");
}

TEST_CASE("fs: sizes that no file has are refused", "[unit]")
{
    TestVolume volume;
    uint32_t ino = make_file(volume, kRootIno, "f");

    CHECK(error_of([&] { (void)resize_to(volume, ino, rfs::kFileMax); }) == 0);
    CHECK(error_of([&] { (void)resize_to(volume, ino, rfs::kFileMax + 1); }) == EFBIG);
    CHECK(error_of([&] { (void)resize_to(volume, kRootIno, 0); }) == EISDIR);
    CHECK(error_of([&] { (void)resize_to(volume, ino, 0); }) == 0);
}
