// SPDX-License-Identifier: BSD-3-Clause
// Data and holes of files are found.
#include "core/file/seek.h"

#include "unit/fs/file/files.h"

#include <cerrno>
#include <unistd.h>

using rfs::Call;
using rfs::kBlockBytes;
using rfs::kRootIno;

namespace
{

// The offset, or an error number, negative.
int64_t seek_in(TestVolume &volume, uint32_t ino, uint64_t offset, int what)
{
    try {
        return static_cast<int64_t>(
            volume.client->finish(rfs::seek_file(*volume.client, volume.root, ino, offset, what)));
    } catch (const rfs::Failure &failure) {
        return -failure.error;
    }
}

} // namespace

TEST_CASE("fs: data and holes are found at each edge", "[unit]")
{
    TestVolume volume;
    uint32_t ino = make_file(volume, kRootIno, "f");
    constexpr int64_t kBlock = kBlockBytes;

    CHECK(seek_in(volume, ino, 0, SEEK_DATA) == -ENXIO);
    CHECK(seek_in(volume, ino, 0, SEEK_HOLE) == -ENXIO);
    // Blocks 2 to 3 and 7 to 8 are data, of which 8 is in a row of maps; then 31 to 32 of two rows,
    // and 63 and 96, whose rows have no row between them.
    for (uint64_t block : { 2, 3, 7, 8, 31, 32, 63, 96 })
        (void)write_at(volume, ino, block * kBlockBytes, "x");
    (void)resize_to(volume, ino, 100 * kBlockBytes + 5);
    for (auto [from, data, hole] :
         std::vector<std::array<int64_t, 3>>{ { 0, 2 * kBlock, 0 },
                                              { 2 * kBlock - 1, 2 * kBlock, 2 * kBlock - 1 },
                                              { 2 * kBlock, 2 * kBlock, 4 * kBlock },
                                              { 3 * kBlock + 77, 3 * kBlock + 77, 4 * kBlock },
                                              { 4 * kBlock, 7 * kBlock, 4 * kBlock },
                                              { 7 * kBlock, 7 * kBlock, 9 * kBlock },
                                              { 8 * kBlock, 8 * kBlock, 9 * kBlock },
                                              { 9 * kBlock, 31 * kBlock, 9 * kBlock },
                                              { 31 * kBlock, 31 * kBlock, 33 * kBlock },
                                              { 32 * kBlock + 1, 32 * kBlock + 1, 33 * kBlock },
                                              { 33 * kBlock, 63 * kBlock, 33 * kBlock },
                                              { 63 * kBlock, 63 * kBlock, 64 * kBlock },
                                              { 64 * kBlock, 96 * kBlock, 64 * kBlock },
                                              { 97 * kBlock, -ENXIO, 97 * kBlock },
                                              { 100 * kBlock + 4, -ENXIO, 100 * kBlock + 4 },
                                              { 100 * kBlock + 5, -ENXIO, -ENXIO } }) {
        CAPTURE(from);
        CHECK(seek_in(volume, ino, static_cast<uint64_t>(from), SEEK_DATA) == data);
        CHECK(seek_in(volume, ino, static_cast<uint64_t>(from), SEEK_HOLE) == hole);
    }
    // Without a hole in it, a file has one at its end.
    (void)resize_to(volume, ino, 0);
    for (uint64_t size : { 100u, 8 * kBlockBytes, 40 * kBlockBytes + 1 }) {
        CAPTURE(size);
        (void)write_at(volume, ino, 0, text_of(size, 1));
        CHECK(seek_in(volume, ino, 0, SEEK_DATA) == 0);
        CHECK(seek_in(volume, ino, 0, SEEK_HOLE) == static_cast<int64_t>(size));
        CHECK(seek_in(volume, ino, size - 1, SEEK_HOLE) == static_cast<int64_t>(size));
    }
    CHECK(seek_in(volume, ino, 0, SEEK_SET) == -EINVAL);
    CHECK(seek_in(volume, ino, UINT64_MAX, SEEK_DATA) == -ENXIO);
    CHECK(seek_in(volume, kRootIno, 0, SEEK_DATA) == -EISDIR);
}

TEST_CASE("fs: a hole of 16 TiB is passed at once, and many rows in steps", "[unit]")
{
    TestVolume volume(1, 1, "", { 400, 12 });
    uint32_t ino = make_file(volume, kRootIno, "f");
    constexpr uint64_t kRows = rfs::kSeekRows + 3;

    (void)write_at(volume, ino, rfs::kFileMax - 1, "x");
    CHECK(volume.as_root([&](Call &call) { return rfs::seek(call, ino, 0, SEEK_DATA); }).offset ==
          rfs::kFileMax - kBlockBytes);
    CHECK(seek_in(volume, ino, rfs::kFileMax - 1, SEEK_HOLE) == int64_t{ rfs::kFileMax });

    // Rows without a written block, or without a hole, take a second step.
    uint32_t full = make_file(volume, kRootIno, "full");

    for (uint64_t at = 0; at < kRows * 32; at += 64)
        (void)write_at(volume, full, at * kBlockBytes, text_of(64 * kBlockBytes, 1));
    for (uint64_t row = 1; row <= kRows; row++)
        (void)volume.client->finish(rfs::allocate_file(*volume.client, volume.root, ino, 0,
                                                       row * 32 * kBlockBytes, kBlockBytes));

    rfs::Sought hole =
        volume.as_root([&](Call &call) { return rfs::seek(call, full, 0, SEEK_HOLE); });
    rfs::Sought data =
        volume.as_root([&](Call &call) { return rfs::seek(call, ino, 0, SEEK_DATA); });

    CHECK_FALSE(hole.found);
    CHECK(hole.offset == rfs::kSeekRows * 32 * kBlockBytes);
    CHECK_FALSE(data.found);
    CHECK(seek_in(volume, full, 0, SEEK_HOLE) == static_cast<int64_t>(inode_of(volume, full).size));
    CHECK(seek_in(volume, ino, 0, SEEK_DATA) == int64_t{ rfs::kFileMax - kBlockBytes });
}
