// SPDX-License-Identifier: BSD-3-Clause
// Files are written and read.
#include "core/file/contents.h"

#include "unit/fs/file/files.h"

#include <cerrno>

using rfs::Call;
using rfs::kBlockBytes;
using rfs::kRootIno;

namespace
{

// A file in memory, which is written as the file of the volume is.
struct Mirror {
    std::string bytes;

    void write(uint64_t offset, const std::string &text)
    {
        if (bytes.size() < offset + text.size())
            bytes.resize(offset + text.size(), '\0');
        bytes.replace(offset, text.size(), text);
    }
};

} // namespace

TEST_CASE("fs: bytes that were written are read again", "[unit]")
{
    std::string mode = GENERATE("", ",mode=ring", "tcp");
    TestVolume volume(3, 2, mode);
    uint32_t ino = make_file(volume, kRootIno, "f");
    Mirror mirror;
    uint32_t seed = 0;

    CAPTURE(mode);
    CHECK(read_at(volume, ino, 0, 10) == "");
    for (auto [offset, size] :
         std::vector<std::pair<uint64_t, size_t>>{ { 0, 1 },
                                                   { 1, 4095 },
                                                   { 4095, 2 },
                                                   { 100, 50 },
                                                   { 20000, 3 },
                                                   { 5 * kBlockBytes, 9 * kBlockBytes },
                                                   { 6 * kBlockBytes + 1, 4 * kBlockBytes },
                                                   { 100 * kBlockBytes - 1, 2 },
                                                   { 40 * kBlockBytes, 100 },
                                                   { 300000, 1 << 20 } }) {
        std::string text = text_of(size, seed++);
        rfs::Node node = write_at(volume, ino, offset, text);

        mirror.write(offset, text);
        CAPTURE(offset, size);
        CHECK(node.row.size == mirror.bytes.size());
        CHECK((read_at(volume, ino, 0, 1 << 20) == mirror.bytes.substr(0, 1 << 20)));
    }
    for (auto [offset, size] :
         std::vector<std::pair<uint64_t, size_t>>{ { 1, 1 },
                                                   { 4095, 2 },
                                                   { 4096, 4096 },
                                                   { 5000, 20000 },
                                                   { 1 << 20, 1 << 20 },
                                                   { mirror.bytes.size() - 1, 5 },
                                                   { mirror.bytes.size(), 5 } }) {
        CAPTURE(offset, size);
        CHECK((read_at(volume, ino, offset, size) == mirror.bytes.substr(offset, size)));
    }
    CHECK(faults_of_blocks(volume) == "");
}

TEST_CASE("fs: what was not written reads as zeros, and takes no blocks", "[unit]")
{
    TestVolume volume;
    uint32_t ino = make_file(volume, kRootIno, "f");
    rfs::Node node = write_at(volume, ino, 1000 * kBlockBytes + 5, "x");

    CHECK(node.row.blocks == 1);
    CHECK(node.row.size == 1000 * kBlockBytes + 6);
    CHECK(read_at(volume, ino, 500 * kBlockBytes, 100) == std::string(100, '\0'));
    CHECK(read_at(volume, ino, 1000 * kBlockBytes, 10) == std::string("\0\0\0\0\0x", 6));
    node = write_at(volume, ino, 3, "abc");
    CHECK(node.row.blocks == 2);
    CHECK(read_at(volume, ino, 0, 8) == std::string("\0\0\0abc\0\0", 8));
}

TEST_CASE("fs: an append writes behind the end, wherever that is", "[unit]")
{
    TestVolume volume;
    uint32_t ino = make_file(volume, kRootIno, "f");

    for (int i = 0; i < 50; i++)
        (void)write_at(volume, ino, 0, text_of(100, static_cast<uint32_t>(i)), true);

    std::string all;

    for (int i = 0; i < 50; i++)
        all += text_of(100, static_cast<uint32_t>(i));
    CHECK((read_at(volume, ino, 0, 10000) == all));
    CHECK(inode_of(volume, ino).blocks == 2);
    CHECK(faults_of_blocks(volume) == "");
}

TEST_CASE("fs: what has no contents is not read or written", "[unit]")
{
    TestVolume volume;
    uint32_t pipe = make(volume, volume.root, kRootIno, "p", S_IFIFO | 0644);
    uint32_t file = make_file(volume, kRootIno, "f");

    CHECK(error_of([&] { (void)write_at(volume, kRootIno, 0, "x"); }) == EISDIR);
    CHECK(error_of([&] { (void)read_at(volume, kRootIno, 0, 1); }) == EISDIR);
    CHECK(error_of([&] { (void)write_at(volume, pipe, 0, "x"); }) == EINVAL);
    CHECK(error_of([&] { (void)read_at(volume, pipe, 0, 1); }) == EINVAL);
    CHECK(error_of([&] { (void)write_at(volume, 99, 0, "x"); }) == ESTALE);
    CHECK(error_of([&] { (void)write_at(volume, file, rfs::kFileMax, "x"); }) == EFBIG);
    CHECK(error_of([&] { (void)write_at(volume, file, rfs::kFileMax - 1, "x"); }) == 0);
    CHECK(inode_of(volume, file).size == rfs::kFileMax);
    CHECK(read_at(volume, file, rfs::kFileMax - 2, 5) == std::string("\0x", 2));
}

TEST_CASE("fs: a write takes set-ID bits away, unless user 0 writes", "[unit]")
{
    TestVolume volume;
    rfs::Credentials user{ 10, 20, {} };
    uint32_t ino = make(volume, volume.root, kRootIno, "f", S_IFREG | 06775);

    CHECK(write_at(volume, ino, 0, "x").row.mode == (S_IFREG | 06775));
    CHECK(
        volume.client->finish(rfs::write_file(*volume.client, user, ino, { 0, "y", 1 })).row.mode ==
        (S_IFREG | 0775));
}

TEST_CASE("fs: a block that is damaged on one copy is read from the other", "[unit]")
{
    TestVolume volume(2, 2);
    uint32_t ino = make_file(volume, kRootIno, "f");
    std::string text = text_of(3 * kBlockBytes, 1);
    std::string damage(1, '!');
    auto damage_copy = [&](uint64_t number) {
        volume.as_root([&](Call &call) -> dtx::Task<> {
            rfs::Node node = co_await rfs::held_inode(call, ino);
            rfs::Pointer pointer = node.row.pointers[number];
            dtx::SpanWrite piece{ call.tables().blocks, pointer.shard(),
                                  pointer.block() * kBlockBytes + 77, damage.data(), 1 };

            co_await call.txn.write_span({ &piece, 1 });
        });
    };

    (void)write_at(volume, ino, 0, text);
    CHECK((read_at(volume, ino, 0, text.size()) == text));

    // A client that leaves the second copy out damages the first alone.
    dtx::Options options = volume.options;

    options.canary = dtx::kCanarySpanPrimary;

    rfs::OpenVolume open = rfs::open_volume("home", options);

    volume.client.emplace(open);
    damage_copy(1);
    volume.client.emplace(*volume.open);
    CHECK((read_at(volume, ino, 0, text.size()) == text));
    CHECK((read_at(volume, ino, kBlockBytes + 5, 100) == text.substr(kBlockBytes + 5, 100)));

    damage_copy(1); // on both
    CHECK_THROWS_AS(read_at(volume, ino, 0, text.size()), dtx::Error);
    CHECK((read_at(volume, ino, 0, kBlockBytes) == text.substr(0, kBlockBytes)));
    CHECK_THROWS_AS(write_at(volume, ino, kBlockBytes + 1, "x"), dtx::Error); // would be lost
    (void)write_at(volume, ino, kBlockBytes, text.substr(kBlockBytes, kBlockBytes));
    CHECK((read_at(volume, ino, 0, text.size()) == text));
}

// Each write is one byte value over two blocks: a reader that saw half of a write would find two.
TEST_CASE("fs: a reader sees each write as a whole or not at all", "[unit]")
{
    std::string mode = GENERATE("", "tcp");
    TestVolume volume(2, 2, mode);
    uint32_t ino = make_file(volume, kRootIno, "f");
    std::atomic<bool> over = false;
    uint64_t torn = 0;
    std::atomic<uint64_t> changed = 0;
    char before = 0;

    (void)write_at(volume, ino, 0, std::string(2 * kBlockBytes, 'a'));

    std::thread writer([&] {
        rfs::Client client(*volume.open);

        /* On a busy machine the reader may sleep through the first 200. */
        for (int i = 0; i < 200 || (changed <= 1 && i < 100000); i++) {
            std::string bytes(2 * kBlockBytes, static_cast<char>('a' + i % 26));

            (void)client.finish(
                rfs::write_file(client, volume.root, ino, { 0, bytes.data(), bytes.size() }));
        }
        over = true;
    });

    while (!over) {
        std::string bytes = read_at(volume, ino, 0, 2 * kBlockBytes);

        torn += bytes != std::string(2 * kBlockBytes, bytes[0]) ? 1 : 0;
        changed += std::exchange(before, bytes[0]) != bytes[0] ? 1 : 0;
    }
    writer.join();
    CHECK(torn == 0);
    CHECK(changed > 1);
    CHECK(faults_of_blocks(volume) == "");
}
