// SPDX-License-Identifier: BSD-3-Clause
// Contents change in calls that run beside each other, in one client and in several.
#include "core/client/files.h"

#include "unit/fs/file/files.h"

#include <atomic>
#include <fcntl.h>
#include <thread>

using rfs::Call;
using rfs::kBlockBytes;
using rfs::kRootIno;

TEST_CASE("fs: writes that run beside each other do not share blocks", "[unit]")
{
    std::string mode = GENERATE("", "tcp");
    TestVolume volume(2, 2, mode);
    std::vector<uint32_t> inos;
    std::vector<dtx::Task<>> tasks;
    auto writes = [&](uint32_t number) -> dtx::Task<> {
        for (uint32_t i = 0; i < 10; i++) {
            std::string text = text_of(3 * kBlockBytes, 100 * number + i);

            (void)co_await rfs::write_file(*volume.client, volume.root, inos[number],
                                           { 2 * i * kBlockBytes, text.data(), text.size() });
        }
    };

    CAPTURE(mode);
    for (uint32_t number = 0; number < 4; number++)
        inos.push_back(make_file(volume, kRootIno, "f" + std::to_string(number)));
    for (uint32_t number = 0; number < 4; number++)
        tasks.push_back(writes(number));
    volume.client->session().run(std::move(tasks));
    for (uint32_t number = 0; number < 4; number++) {
        std::string wanted;

        for (uint32_t i = 0; i < 10; i++)
            wanted.resize(2 * i * kBlockBytes),
                wanted += text_of(3 * kBlockBytes, 100 * number + i);
        CHECK((read_at(volume, inos[number], 0, 1 << 20) == wanted));
    }
    CHECK(faults_of_blocks(volume) == "");
}

TEST_CASE("fs: appends of several clients are all in the file", "[unit]")
{
    constexpr uint32_t kClients = 3;
    constexpr uint32_t kAppends = 30;
    TestVolume volume(2, 2);
    uint32_t ino = make_file(volume, kRootIno, "f");
    std::vector<std::thread> threads;
    std::map<std::string, uint32_t> found;

    for (uint32_t c = 0; c < kClients; c++)
        threads.emplace_back([&, c] {
            rfs::Client client(*volume.open);
            std::string line = std::string(99, static_cast<char>('a' + c)) + "\n";

            for (uint32_t i = 0; i < kAppends; i++)
                (void)client.finish(rfs::write_file(client, volume.root, ino,
                                                    { 0, line.data(), line.size(), true }));
        });
    for (std::thread &thread : threads)
        thread.join();

    std::string all = read_at(volume, ino, 0, 1 << 20);

    REQUIRE(all.size() == 100 * kClients * kAppends);
    for (size_t at = 0; at < all.size(); at += 100)
        found[all.substr(at, 100)]++;
    CHECK(found.size() == kClients);
    for (const auto &[line, times] : found)
        CHECK(times == kAppends);
    CHECK(faults_of_blocks(volume) == "");
}

// One client makes the file longer and shorter, the other writes and reads what it wrote.
TEST_CASE("fs: blocks that one client frees are written by another at once", "[unit]")
{
    TestVolume volume(2, 2, "", { 400, 2 });
    uint32_t one = make_file(volume, kRootIno, "one");
    uint32_t two = make_file(volume, kRootIno, "two");
    std::atomic<bool> over = false;
    std::thread other([&] {
        rfs::Client client(*volume.open);
        std::string text = text_of(30 * kBlockBytes, 7);

        while (!over) {
            (void)client.finish(
                rfs::write_file(client, volume.root, two, { 0, text.data(), text.size() }));
            (void)client.finish(rfs::resize_file(client, volume.root, two, 0));
        }
    });

    int error = error_of([&] {
        for (uint32_t i = 0; i < 40; i++) {
            std::string text = text_of(20 * kBlockBytes + 1, i);

            (void)write_at(volume, one, 0, text);
            CHECK((read_at(volume, one, 0, 1 << 20) == text));
            (void)resize_to(volume, one, i % 2 == 0 ? 0 : 5);
        }
    });

    over = true;
    other.join();
    CHECK(error == 0);
    CHECK(faults_of_blocks(volume) == "");
}

// One client writes a file and reads it, another takes its blocks away and allocates them.
TEST_CASE("fs: a write is whole or gone while another client punches holes", "[unit]")
{
    TestVolume volume(2, 2, "", { 400, 4 });
    uint32_t ino = make_file(volume, kRootIno, "f");
    std::atomic<bool> over = false;
    std::atomic<uint64_t> changes = 0;
    constexpr uint64_t kStart = 250 * kBlockBytes; // of parts that lie in two steps
    std::thread other([&] {
        static const int modes[] = { FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                                     FALLOC_FL_ZERO_RANGE, FALLOC_FL_KEEP_SIZE };
        rfs::Client client(*volume.open);

        while (!over)
            (void)client.finish(rfs::allocate_file(client, volume.root, ino, modes[changes++ % 4],
                                                   kStart + 1000, 10 * kBlockBytes));
    });
    std::string zeros(10 * kBlockBytes, '\0');

    int error = error_of([&] {
        for (uint32_t i = 0; i < 60 || changes < 20; i++) {
            std::string text = text_of(12 * kBlockBytes, i);

            (void)write_at(volume, ino, kStart, text);
            std::string found = read_at(volume, ino, kStart, text.size());

            // The other client changes a part in two steps, and has done none, one or both.
            CHECK(found.size() == text.size());
            for (size_t at = 0; at < found.size(); at++) {
                bool inside = at >= 1000 && at < 1000 + zeros.size();

                if (found[at] != text[at] && !(inside && found[at] == '\0')) {
                    CAPTURE(i, at);
                    FAIL_CHECK("a byte is neither what was written nor zero");
                    break;
                }
            }
        }
    });

    over = true;
    other.join();
    CHECK(error == 0);
    CHECK(faults_of_blocks(volume) == "");
}

TEST_CASE("fs: allocations that run beside each other do not share blocks", "[unit]")
{
    TestVolume volume(2, 2, "", { 400, 8 });
    std::vector<uint32_t> inos;
    std::vector<dtx::Task<>> tasks;
    auto allocate = [&](uint32_t number) -> dtx::Task<> {
        rfs::Node node =
            co_await rfs::allocate_file(*volume.client, volume.root, inos[number / 2], 0,
                                        number % 2 * 100 * kBlockBytes, 300 * kBlockBytes);

        CHECK(node.row.size >= 300 * kBlockBytes);
    };

    for (uint32_t number = 0; number < 3; number++)
        inos.push_back(make_file(volume, kRootIno, "f" + std::to_string(number)));
    for (uint32_t number = 0; number < 6; number++) // two of each file
        tasks.push_back(allocate(number));
    volume.client->session().run(std::move(tasks));
    for (uint32_t ino : inos) {
        CHECK(inode_of(volume, ino).size == 400 * kBlockBytes);
        CHECK(inode_of(volume, ino).blocks == 400);
        CHECK(read_at(volume, ino, 399 * kBlockBytes, 9999) == std::string(kBlockBytes, '\0'));
    }
    CHECK(used_blocks(*volume.open) == 3 * 400);
    CHECK(faults_of_blocks(volume) == "");
}
