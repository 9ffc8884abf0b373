// SPDX-License-Identifier: BSD-3-Clause
// Calls of librpmfs that complete later.
#include <librpmfs.h>

#include "core/client/client.h"
#include "core/tree/inodes.h"
#include "unit/fs/lib/mounted.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <poll.h>
#include <string>
#include <vector>

namespace
{

// The context of a call: any pointer.
void *tag(uintptr_t number)
{
    return reinterpret_cast<void *>(number);
}

uintptr_t number_of(const rfs_completion &done)
{
    return reinterpret_cast<uintptr_t>(done.context);
}

// Waits for so many, and returns their results by context.
std::map<uintptr_t, int64_t> results(rfs_client *client, size_t count)
{
    std::map<uintptr_t, int64_t> all;

    while (count-- > 0) {
        rfs_completion done = next(client);

        CHECK(all.emplace(number_of(done), done.result).second); // exactly one
    }
    return all;
}

} // namespace

TEST_CASE("librpmfs: one thread keeps many reads and overwrites under way", "[unit]")
{
    constexpr uint32_t kDepth = 16;
    constexpr uint32_t kCalls = 320;
    constexpr size_t kBytes = 4096;
    const char *mode = GENERATE("", ",mode=ring", "tcp");
    CAPTURE(mode);
    Mounted volume(2, 8 << 20, mode);
    rfs_client *client = volume.mount().client;
    rfs_file *file = opened(client, "/f", O_RDWR | O_CREAT);
    std::vector<std::string> buffers(kDepth, std::string(kBytes, '\0'));
    std::vector<rfs_completion> done(kDepth);
    std::string expected(kDepth * kBytes, '-');
    uint32_t submitted = 0;
    uint32_t completed = 0;
    // Block i is written, then read, then written with the next letter, ...
    auto submit = [&](uint32_t block) {
        bool writes = submitted / kDepth % 2 == 0;
        std::string &bytes = buffers[block];

        submitted++;
        if (!writes) {
            bytes.assign(kBytes, '?');
            return rfs_pread_async(file, bytes.data(), kBytes, block * kBytes, tag(block));
        }
        bytes.assign(kBytes, static_cast<char>('a' + submitted / kDepth % 26));
        expected.replace(block * kBytes, kBytes, bytes);
        return rfs_pwrite_async(file, bytes.data(), kBytes, block * kBytes, tag(block));
    };

    REQUIRE(rfs_pwrite(file, expected.data(), expected.size(), 0) ==
            static_cast<ssize_t>(expected.size()));
    // A round of 16: each block once. All are under way before the first is taken.
    while (completed < kCalls) {
        for (uint32_t block = 0; block < kDepth; block++)
            REQUIRE(submit(block) == 0);
        for (uint32_t seen = 0; seen < kDepth;) {
            int got = rfs_wait(client, done.data(), kDepth, 1, kForEver);

            REQUIRE(got > 0);
            for (int i = 0; i < got; i++) {
                const rfs_completion &one = done[static_cast<size_t>(i)];

                CHECK(one.result == static_cast<int64_t>(kBytes));
                CHECK(std::string(one.error) == "");
                CHECK(
                    (buffers[number_of(one)] == expected.substr(number_of(one) * kBytes, kBytes)));
            }
            seen += static_cast<uint32_t>(got);
            completed += static_cast<uint32_t>(got);
        }
    }
    CHECK(completed == kCalls);
    CHECK(rfs_poll(client, done.data(), kDepth) == 0);
    CHECK(rfs_wait(client, done.data(), kDepth, kDepth, kForEver) == 0); // none is under way
    rfs_close(&file);
}

TEST_CASE("librpmfs: a program waits for completions in a loop of its own", "[unit]")
{
    const char *mode = GENERATE("", ",mode=ring", "tcp");
    CAPTURE(mode);
    Mounted volume(2, 8 << 20, mode);
    rfs_client *client = volume.mount().client;
    int fd = rfs_client_fd(client);
    pollfd readable{ fd, POLLIN, 0 };
    std::array<rfs_completion, 3> done;
    size_t taken = 0;

    REQUIRE(fd >= 0);
    CHECK(rfs_client_arm(client) == 0); // nothing is under way
    CHECK(poll(&readable, 1, 0) == 0);
    for (uintptr_t i = 0; i < 20; i++) {
        std::string path = "/d" + std::to_string(i);

        REQUIRE(rfs_mkdir_async(client, &kRoot, path.c_str(), 0755, tag(i)) == 0);
    }
    CHECK(rfs_client_arm(client) == 1);
    while (taken < 20) {
        int got = rfs_poll(client, done.data(), done.size());

        REQUIRE(got >= 0);
        for (int i = 0; i < got; i++)
            CHECK(done[static_cast<size_t>(i)].result == 0);
        taken += static_cast<size_t>(got);
        if (got > 0)
            continue;

        int armed = rfs_client_arm(client);

        REQUIRE(armed >= 0);
        if (armed == 0)
            REQUIRE(poll(&readable, 1, -1) == 1);
    }
    CHECK(rfs_client_fd(client) == fd);
    CHECK(rfs_client_arm(client) == 0);
    CHECK(poll(&readable, 1, 0) == 0);
}

TEST_CASE("librpmfs: names are made, moved and removed by calls that complete later", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    rfs_file *file = nullptr;
    struct stat stat {
    };
    const rfs_cred other{ 11, 11, nullptr, 0 };

    REQUIRE(rfs_open_async(client, &kRoot, "/f", O_RDWR | O_CREAT | O_EXCL, 0640, &file, tag(1)) ==
            0);
    CHECK(file == nullptr);
    CHECK(result(client) == 0);
    REQUIRE(file != nullptr);
    REQUIRE(rfs_pwrite_async(file, "text", 4, 0, nullptr) == 0);
    CHECK(result(client) == 4);
    REQUIRE(rfs_stat_async(client, &kRoot, "/f", &stat, nullptr) == 0);
    CHECK(result(client) == 0);
    CHECK((stat.st_size == 4 && stat.st_mode == (S_IFREG | 0640)));
    REQUIRE(rfs_mkdir_async(client, &kRoot, "/d", 0755, nullptr) == 0);
    CHECK(result(client) == 0);
    REQUIRE(rfs_rename_async(client, &kRoot, "/f", "/d/g", 0, nullptr) == 0);
    CHECK(result(client) == 0);
    REQUIRE(rfs_rmdir_async(client, &kRoot, "/d", nullptr) == 0);
    CHECK(result(client) == -ENOTEMPTY);
    REQUIRE(rfs_unlink_async(client, &other, "/d/g", nullptr) == 0);
    CHECK(result(client) == -EACCES);
    REQUIRE(rfs_unlink_async(client, &kRoot, "/d/g", nullptr) == 0);
    CHECK(result(client) == 0);
    CHECK(contents(file) == "text"); // it is open
    REQUIRE(rfs_rmdir_async(client, &kRoot, "/d", nullptr) == 0);
    CHECK(result(client) == 0);
    CHECK(rfs_stat(client, &kRoot, "/d", &stat) == -ENOENT);
    REQUIRE(rfs_close_async(&file, nullptr) == 0);
    CHECK(file == nullptr);
    CHECK(result(client) == 0);
}

TEST_CASE("librpmfs: what a call that completes later refuses, and when", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    rfs_file *none = nullptr;
    rfs_file *reader = opened(client, "/f", O_RDONLY | O_CREAT);
    rfs_completion done{};

    CHECK(rfs_mkdir_async(client, &kRoot, nullptr, 0755, nullptr) == -EINVAL);
    CHECK(rfs_mkdir_async(client, nullptr, "/d", 0755, nullptr) == -EINVAL);
    CHECK(rfs_open_async(client, &kRoot, "/f", 0, 0, nullptr, nullptr) == -EINVAL);
    CHECK(rfs_close_async(&none, nullptr) == -EINVAL);
    CHECK(rfs_close_async(nullptr, nullptr) == -EINVAL);
    CHECK(rfs_poll(client, nullptr, 1) == -EINVAL);
    CHECK(rfs_wait(client, &done, 1, 2, 0) == -EINVAL);
    CHECK(rfs_cancel(client, tag(1)) == -ENOENT);
    CHECK(rfs_poll(client, &done, 1) == 0); // none of them completes

    REQUIRE(rfs_open_async(client, &kRoot, "/none", O_RDWR, 0, &none, tag(1)) == 0);
    CHECK(result(client) == -ENOENT);
    CHECK(none == nullptr);
    REQUIRE(rfs_pwrite_async(reader, "x", 1, 0, tag(2)) == 0);
    CHECK(rfs_cancel(client, tag(2)) == -ENOENT); // it waits for no lock
    CHECK(result(client) == -EBADF);
    REQUIRE(rfs_pread_async(reader, nullptr, 1, 0, tag(3)) == 0);
    CHECK(result(client) == -EINVAL);
    REQUIRE(rfs_rename_async(client, &kRoot, "/f", "/g", 77, tag(4)) == 0);
    CHECK(result(client) == -EINVAL);
    rfs_close(&reader);
}

TEST_CASE("librpmfs: so many calls are under way at most, with those not heard of", "[unit]")
{
    Mounted volume;
    rfs_client *client = nullptr;
    struct stat stats[5];
    std::vector<rfs_completion> done(10);

    REQUIRE(rfs_make(&volume.opts, &volume.make) == 0);
    volume.opts.inflight_max = 4;
    REQUIRE(rfs_mount(&volume.opts, &client) == 0);
    for (uintptr_t i = 0; i < 4; i++)
        REQUIRE(rfs_stat_async(client, &kRoot, "/", &stats[i], tag(i)) == 0);
    CHECK(rfs_stat_async(client, &kRoot, "/", &stats[4], tag(4)) == -EAGAIN);
    CHECK(rfs_stat(client, &kRoot, "/", &stats[4]) == 0); // a blocking call needs no room
    CHECK(rfs_stat_async(client, &kRoot, "/", &stats[4], tag(4)) == -EAGAIN); // they are not taken
    CHECK(result(client) == 0);
    CHECK(rfs_stat_async(client, &kRoot, "/", &stats[4], tag(4)) == 0);
    CHECK(rfs_stat_async(client, &kRoot, "/", &stats[4], tag(5)) == -EAGAIN);
    CHECK(rfs_wait(client, done.data(), 10, 10, kForEver) == 4); // one for each that was accepted
    for (size_t i = 0; i < 4; i++)
        CHECK((done[i].result == 0 && number_of(done[i]) <= 4));
    CHECK(S_ISDIR(stats[4].st_mode));
    rfs_unmount(&client);
}

TEST_CASE("librpmfs: completions are taken late, in the order in which calls ended", "[unit]")
{
    const char *mode = GENERATE("", "tcp");
    CAPTURE(mode);
    Mounted volume(2, 8 << 20, mode);
    rfs_client *client = volume.mount().client;
    rfs_file *file = opened(client, "/f", O_RDWR | O_CREAT);
    struct stat stat {
    };
    char bytes[8] = "";
    rfs_completion done[2];

    REQUIRE(rfs_pwrite_async(file, "late", 4, 0, tag(1)) == 0);
    // Blocking calls let it go on, and do not take its completion. This one waits for its end.
    REQUIRE(rfs_fsync(file) == 0);
    for (int i = 0; i < 10; i++)
        CHECK(rfs_stat(client, &kRoot, "/f", &stat) == 0);
    CHECK(stat.st_size == 4);
    REQUIRE(rfs_pread_async(file, bytes, 4, 0, tag(2)) == 0);
    REQUIRE(rfs_fsync(file) == 0);
    CHECK(std::string(bytes) == "late");
    CHECK(rfs_wait(client, done, 2, 2, kForEver) == 2);
    CHECK((number_of(done[0]) == 1 && done[0].result == 4));
    CHECK((number_of(done[1]) == 2 && done[1].result == 4));
    rfs_close(&file);
}

TEST_CASE("librpmfs: fsync and close begin when earlier calls on the file have ended", "[unit]")
{
    const char *mode = GENERATE("", "tcp");
    CAPTURE(mode);
    Mounted volume(2, 8 << 20, mode);
    rfs_client *client = volume.mount().client;
    rfs_file *file = opened(client, "/f", O_RDWR | O_CREAT);
    std::string large(2 << 20, 'x'); // two transactions
    std::vector<uintptr_t> order;

    for (uintptr_t i = 1; i <= 8; i++)
        REQUIRE(rfs_pwrite_async(file, large.data(), i == 1 ? large.size() : 1, i, tag(i)) == 0);
    REQUIRE(rfs_fsync_async(file, tag(100)) == 0);
    for (uintptr_t i = 9; i <= 12; i++)
        REQUIRE(rfs_pwrite_async(file, "y", 1, i, tag(i)) == 0);
    REQUIRE(rfs_fsync_async(file, tag(101)) == 0);
    REQUIRE(rfs_close_async(&file, tag(200)) == 0);
    for (int i = 0; i < 15; i++) {
        rfs_completion done = next(client);

        CHECK(done.result == (number_of(done) == 1     ? static_cast<int64_t>(large.size())
                              : number_of(done) >= 100 ? 0
                                                       : 1));
        order.push_back(number_of(done));
    }
    auto place = [&](uintptr_t call) { return std::find(order.begin(), order.end(), call); };

    for (uintptr_t i = 1; i <= 8; i++)
        CHECK(place(i) < place(100));
    for (uintptr_t i = 9; i <= 12; i++)
        CHECK(place(i) < place(101));
    CHECK(place(100) < place(101));
    CHECK(order.back() == 200);
}

TEST_CASE("librpmfs: appends under way at once are each whole", "[unit]")
{
    const char *mode = GENERATE("", "tcp");
    CAPTURE(mode);
    Mounted volume(2, 8 << 20, mode);
    rfs_client *client = volume.mount().client;
    rfs_file *file = opened(client, "/log", O_RDWR | O_CREAT | O_APPEND);
    std::vector<std::string> lines;
    std::string found(1000, '\0');

    for (size_t i = 0; i < 12; i++)
        lines.push_back(std::string(i + 1, static_cast<char>('a' + i)));
    for (const std::string &line : lines)
        REQUIRE(rfs_pwrite_async(file, line.data(), line.size(), 0, tag(line.size())) == 0);
    for (auto [bytes, result] : results(client, lines.size()))
        CHECK(result == static_cast<int64_t>(bytes));
    CHECK(rfs_pread(file, found.data(), found.size(), 0) == 78);
    for (const std::string &line : lines)
        CHECK(found.find(line) != std::string::npos);
    rfs_close(&file);
}

TEST_CASE("librpmfs: after the last completion, no row is locked", "[unit]")
{
    Mounted volume(2, 8 << 20, "tcp");
    rfs_client *client = volume.mount().client;
    rfs_file *file = opened(client, "/f", O_RDWR | O_CREAT);
    rfs::OpenVolume open = core_of(volume);
    rfs::Client other(open);
    struct stat stat {
    };

    REQUIRE(rfs_fstat(file, &stat) == 0);
    for (int i = 0; i < 50; i++) {
        for (uint64_t block = 0; block < 4; block++)
            REQUIRE(rfs_pwrite_async(file, "text", 4, block * 4096, nullptr) == 0);
        for (int64_t got : { result(client), result(client), result(client), result(client) })
            CHECK(got == 4);
        rfs::Node node = other.call_now(rfs::kSelf, [&](rfs::Call &call) {
            return rfs::held_inode(call, static_cast<uint32_t>(stat.st_ino));
        });

        CHECK(node.row.size == 3 * 4096 + 4);
    }
    CHECK(other.session().counters().conflicts == 0);
    rfs_close(&file);
}

TEST_CASE("librpmfs: a volume is unmounted while calls are under way", "[unit]")
{
    const char *mode = GENERATE("", ",mode=ring", "tcp");
    CAPTURE(mode);
    Mounted volume(2, 8 << 20, mode);
    rfs_client *client = volume.mount().client;
    Another other(volume);
    rfs_file *file = opened(client, "/f", O_RDWR | O_CREAT);
    rfs_file *holder = opened(other.client, "/f", O_RDWR);
    rfs_file *opening = nullptr;
    rfs_lock_range range{ 0, 0, 0, 0, F_WRLCK };
    std::string bytes(4096, 'x');
    struct stat stat {
    };

    REQUIRE(rfs_lock(holder, &range, 0) == 0);
    for (uint64_t i = 0; i < 16; i++)
        REQUIRE(rfs_pwrite_async(file, bytes.data(), bytes.size(), i * 4096, tag(i)) == 0);
    REQUIRE(rfs_lock_async(file, &range, kForEver, tag(100)) == 0); // would never end
    REQUIRE(rfs_flock_async(file, LOCK_EX, kForEver, tag(101)) == 0);
    REQUIRE(rfs_mkdir_async(client, &kRoot, "/d", 0755, tag(102)) == 0);
    REQUIRE(rfs_open_async(client, &kRoot, "/new", O_RDWR | O_CREAT, 0644, &opening, tag(103)) ==
            0);
    REQUIRE(rfs_close_async(&file, tag(104)) == 0);
    rfs_unmount(&client);
    volume.client = nullptr;
    CHECK(client == nullptr);
    CHECK(opening == nullptr); // the caller has not heard of it

    CHECK(rfs_stat(other.client, &kRoot, "/f", &stat) == 0);
    CHECK(stat.st_size == 16 * 4096);
    CHECK(rfs_stat(other.client, &kRoot, "/d", &stat) == 0);
    CHECK(rfs_unlink(other.client, &kRoot, "/new") == 0);
    CHECK(rfs_flock(holder, LOCK_EX, 0) == 0); // whatever it had is gone
    rfs_close(&holder);
}

TEST_CASE("librpmfs: an unmount drops completions that were not taken, and closes their files",
          "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    Another other(volume);
    rfs_file *file = nullptr;
    struct stat stat {
    };

    for (int i = 0; i < 3; i++)
        REQUIRE(rfs_open_async(client, &kRoot, "/f", O_RDWR | O_CREAT, 0644, &file, nullptr) == 0);
    for (int i = 0; i < 100; i++)
        CHECK(rfs_stat(client, &kRoot, "/", &stat) == 0);
    CHECK(file == nullptr);
    CHECK(rfs_unlink(other.client, &kRoot, "/f") == 0);
    rfs_unmount(&volume.client);
    CHECK(file == nullptr);

    rfs::OpenVolume open = core_of(volume);
    uint64_t orphans = 0;

    open.cluster->each_row(open.volume.tables.orphans.number, 0,
                           [&](uint64_t, const void *, size_t) { orphans++; });
    CHECK(orphans == 0); // no client had it open any more, so it is freed
}
