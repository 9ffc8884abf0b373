// SPDX-License-Identifier: BSD-3-Clause
// Locks of librpmfs: owners, waiting, and what an open file does whose locks are gone.
#include <librpmfs.h>

#include "core/client/client.h"
#include "core/lock/locks.h"
#include "core/tree/mounts.h"
#include "unit/fs/lib/mounted.h"

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

namespace
{

rfs_lock_range range(int type, uint64_t start, uint64_t length, uint64_t owner = 0)
{
    return { start, length, owner, 0, type };
}

int lock(rfs_file *file, const rfs_lock_range &wanted, uint64_t timeout_ms = 0)
{
    return rfs_lock(file, &wanted, timeout_ms);
}

// A client beside those of the library, which does what a client does that takes another for dead.
class Judge
{
  public:
    explicit Judge(const Mounted &volume) : open_(core_of(volume)), client_(open_) {}
    // The coordinator of the only client that has the volume open.
    uint32_t only_client()
    {
        rfs::MountsRow row = client_.call_now(rfs::kSelf, rfs::mounts);
        uint32_t found = rfs::kClientsMax;

        for (uint32_t c = 0; c < rfs::kClientsMax; c++)
            if (row.clients.has(c)) {
                REQUIRE(found == rfs::kClientsMax);
                found = c;
            }
        return found;
    }
    void fence(uint32_t coordinator)
    {
        (void)open_.cluster->recover(coordinator);
    }
    void drop_locks_of(uint32_t ino, uint32_t coordinator)
    {
        client_.call_now(rfs::kSelf, [&](rfs::Call &call) {
            return rfs::drop_locks_of_client(call, ino, rfs::client_number(coordinator));
        });
    }

  private:
    rfs::OpenVolume open_;
    rfs::Client client_;
};

uint32_t ino_of(rfs_file *file)
{
    struct stat stat {
    };

    REQUIRE(rfs_fstat(file, &stat) == 0);
    return static_cast<uint32_t>(stat.st_ino);
}

} // namespace

TEST_CASE("librpmfs: open files and the caller's owners lock ranges", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    rfs_file *one = opened(client, "/f", O_RDWR | O_CREAT);
    rfs_file *two = opened(client, "/f", O_RDWR);
    rfs_lock_range found = range(F_WRLCK, 0, 0);

    CHECK(lock(one, range(F_WRLCK, 10, 10)) == 0);
    CHECK(lock(two, range(F_RDLCK, 15, 1)) == -EAGAIN);
    CHECK(lock(two, range(F_RDLCK, 20, 0)) == 0);
    CHECK(lock(one, range(F_RDLCK, 15, 5)) == 0); // a part of its own
    CHECK(lock(two, range(F_RDLCK, 15, 1)) == 0);
    CHECK(rfs_lock_test(two, &found) == 0);
    CHECK((found.type == F_WRLCK && found.start == 10 && found.length == 5 && found.owner == 0));

    // An owner of the caller's may use both, and does not get what open files have.
    found = range(F_WRLCK, 0, 5, 7);
    found.pid = 77;
    CHECK(rfs_lock(one, &found, 0) == 0);
    CHECK(lock(two, range(F_WRLCK, 5, 1, 7)) == 0);
    CHECK(lock(two, range(F_WRLCK, 12, 1, 7)) == -EAGAIN);
    CHECK(lock(one, range(F_WRLCK, 0, 1, 8)) == -EAGAIN);
    CHECK(lock(one, range(F_WRLCK, 0, 1)) == -EAGAIN);
    found = range(F_RDLCK, 0, 0, 8);
    CHECK(rfs_lock_test(one, &found) == 0);
    CHECK((found.type == F_WRLCK && found.start == 0 && found.length == 6));
    CHECK((found.owner == 7 && found.pid == 0)); // of the call that merged it
    CHECK(lock(two, range(F_UNLCK, 0, 0, 7)) == 0);
    found = range(F_RDLCK, 0, 5, 8);
    CHECK(rfs_lock_test(one, &found) == 0);
    CHECK((found.type == F_UNLCK && found.length == 5));
    rfs_close(&one);
    rfs_close(&two);
}

TEST_CASE("librpmfs: locks that cannot be set are refused", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    rfs_file *reader = opened(client, "/f", O_RDONLY | O_CREAT);
    rfs_file *writer = opened(client, "/f", O_WRONLY);
    rfs_lock_range found = range(F_UNLCK, 0, 0);
    rfs_lock_range wrong = range(77, 0, 0);

    CHECK(lock(reader, range(F_WRLCK, 0, 1)) == -EBADF);
    CHECK(lock(writer, range(F_RDLCK, 0, 1)) == -EBADF);
    CHECK(lock(reader, range(F_RDLCK, 0, 1)) == 0);
    CHECK(rfs_lock(reader, nullptr, 0) == -EINVAL);
    CHECK(rfs_lock_async(reader, nullptr, 0, nullptr) == -EINVAL);
    CHECK(rfs_lock_async(reader, &wrong, 0, nullptr) == -EINVAL);
    CHECK(lock(reader, range(F_RDLCK, 1ull << 63, 0)) == -EINVAL);
    CHECK(lock(reader, range(F_RDLCK, 2, INT64_MAX)) == -EINVAL);
    CHECK(lock(reader, range(F_RDLCK, 1, INT64_MAX)) == 0);
    CHECK(lock(reader, range(F_RDLCK, 0, 0, 1ull << 63)) == -EINVAL);
    CHECK(rfs_lock_test(reader, &found) == -EINVAL);
    CHECK(rfs_flock(reader, 0, 0) == -EINVAL);
    CHECK(rfs_flock(reader, LOCK_SH | LOCK_EX, 0) == -EINVAL);
    CHECK(rfs_flock(reader, LOCK_EX, 0) == 0); // it need not be open for writing
    rfs_close(&reader);
    rfs_close(&writer);
}

TEST_CASE("librpmfs: flock() has one lock of an open file, apart from those of ranges", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    rfs_file *one = opened(client, "/f", O_RDWR | O_CREAT);
    rfs_file *two = opened(client, "/f", O_RDWR);

    CHECK(lock(one, range(F_WRLCK, 0, 0)) == 0);
    CHECK(rfs_flock(one, LOCK_SH, 0) == 0);
    CHECK(rfs_flock(two, LOCK_SH | LOCK_NB, kForEver) == 0);
    CHECK(rfs_flock(two, LOCK_EX | LOCK_NB, kForEver) == -EAGAIN);
    CHECK(rfs_flock(two, LOCK_EX, 1) == -ETIMEDOUT); // and has given up what it had
    CHECK(rfs_flock(one, LOCK_EX, 0) == 0);
    CHECK(rfs_flock(one, LOCK_UN, 0) == 0);
    CHECK(rfs_flock(two, LOCK_EX, kForEver) == 0);
    CHECK(lock(two, range(F_RDLCK, 0, 1)) == -EAGAIN); // one has its range still
    rfs_close(&one);
    rfs_close(&two);
}

TEST_CASE("librpmfs: a file that is closed loses the locks that were set by it", "[unit]")
{
    bool later = GENERATE(false, true);
    Mounted volume;
    rfs_client *client = volume.mount().client;
    rfs_file *one = opened(client, "/f", O_RDWR | O_CREAT);
    rfs_file *two = opened(client, "/f", O_RDWR);

    REQUIRE(lock(one, range(F_WRLCK, 0, 1)) == 0);
    REQUIRE(lock(one, range(F_WRLCK, 1, 1, 7)) == 0);
    REQUIRE(lock(two, range(F_WRLCK, 2, 1, 7)) == 0);
    REQUIRE(lock(two, range(F_WRLCK, 3, 1, 8)) == 0);
    REQUIRE(rfs_flock(one, LOCK_EX, 0) == 0);
    if (later) {
        REQUIRE(rfs_close_async(&one, nullptr) == 0);
        CHECK(result(client) == 0);
    } else {
        rfs_close(&one);
    }
    CHECK(lock(two, range(F_WRLCK, 0, 3)) == 0); // all that owner 7 had
    CHECK(lock(two, range(F_WRLCK, 3, 1)) == -EAGAIN);
    CHECK(rfs_flock(two, LOCK_EX, 0) == 0);
    rfs_close(&two);
}

TEST_CASE("librpmfs: who waits for a lock of another client gets it when that unlocks", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    Another other(volume);
    rfs_file *holder = opened(client, "/f", O_RDWR | O_CREAT);
    rfs_file *waiter = opened(other.client, "/f", O_RDWR);
    rfs_lock_range wanted = range(F_WRLCK, 0, 0, 7);
    rfs_lock_range found = wanted;
    rfs_completion done{};

    REQUIRE(rfs_lock(holder, &wanted, 0) == 0);
    REQUIRE(rfs_lock(waiter, &wanted, 0) == -EAGAIN); // the same number, of another client
    CHECK(rfs_lock_test(waiter, &found) == 0);
    CHECK((found.type == F_WRLCK && found.owner == 0));
    REQUIRE(rfs_lock_async(waiter, &wanted, kForEver, nullptr) == 0);
    CHECK(rfs_wait(other.client, &done, 1, 1, 2000) == 0);
    REQUIRE(lock(holder, range(F_UNLCK, 0, 0, 7)) == 0);
    CHECK(result(other.client) == 0);
    CHECK(rfs_lock(holder, &wanted, 0) == -EAGAIN);
    rfs_close(&waiter);
    CHECK(rfs_lock(holder, &wanted, 0) == 0);
    rfs_close(&holder);
}

TEST_CASE("librpmfs: clients in two threads have a lock one after the other", "[unit]")
{
    constexpr int kTurns = 20;
    const char *mode = GENERATE("", "tcp");
    CAPTURE(mode);
    Mounted volume(2, 8 << 20, mode);
    rfs_client *client = volume.mount().client;
    rfs_file *file = opened(client, "/count", O_RDWR | O_CREAT);
    uint64_t count = 0;
    std::atomic<int> failed = 0;
    // Reads a number, and writes the next one: under a lock no turn is lost.
    auto take_turns = [&failed](rfs_client *of) {
        rfs_file *mine = nullptr;
        uint64_t number = 0;
        rfs_lock_range all = range(F_WRLCK, 0, 0);

        failed += rfs_open(of, &kRoot, "/count", O_RDWR, 0, &mine) != 0;
        for (int i = 0; i < kTurns; i++) {
            all.type = F_WRLCK;
            failed += rfs_lock(mine, &all, kForEver) != 0;
            failed += rfs_pread(mine, &number, sizeof(number), 0) != sizeof(number);
            number++;
            failed += rfs_pwrite(mine, &number, sizeof(number), 0) != sizeof(number);
            all.type = F_UNLCK;
            failed += rfs_lock(mine, &all, 0) != 0;
        }
        rfs_close(&mine);
    };

    REQUIRE(rfs_pwrite(file, &count, sizeof(count), 0) == sizeof(count));
    std::thread thread([&] {
        rfs_client *other = nullptr;

        if (rfs_mount(&volume.opts, &other) != 0) {
            failed++;
            return;
        }
        take_turns(other);
        rfs_unmount(&other);
    });

    take_turns(client);
    thread.join();
    CHECK(failed == 0);
    CHECK(rfs_pread(file, &count, sizeof(count), 0) == sizeof(count));
    CHECK(count == 2 * kTurns);
    rfs_close(&file);
}

TEST_CASE("librpmfs: a wait for a lock is cancelled, times out, or is interrupted", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    rfs_file *holder = opened(client, "/f", O_RDWR | O_CREAT);
    rfs_file *waiter = opened(client, "/f", O_RDWR);
    rfs_lock_range wanted = range(F_WRLCK, 0, 10);
    int one = 0;
    int two = 0;
    rfs_completion done[3];

    REQUIRE(lock(holder, wanted) == 0);
    REQUIRE(lock(waiter, range(F_RDLCK, 20, 1)) == 0);
    CHECK(lock(waiter, wanted, 1) == -ETIMEDOUT);
    rfs_interrupt(client);
    CHECK(lock(waiter, range(F_RDLCK, 30, 1), kForEver) == 0); // need not wait
    CHECK(lock(waiter, wanted, kForEver) == -EINTR);
    REQUIRE(rfs_lock_async(waiter, &wanted, 1, nullptr) == 0);
    CHECK(result(client) == -ETIMEDOUT);
    REQUIRE(rfs_lock_async(waiter, &wanted, 0, nullptr) == 0);
    CHECK(result(client) == -EAGAIN);

    for (int *context : { &one, &two, &one })
        REQUIRE(rfs_lock_async(waiter, &wanted, kForEver, context) == 0);
    CHECK(rfs_wait(client, done, 3, 1, 2000) == 0);
    rfs_interrupt(client); // of blocking calls alone
    CHECK(rfs_cancel(client, &one) == 0);
    CHECK(rfs_wait(client, done, 3, 2, kForEver) == 2);
    for (int i = 0; i < 2; i++)
        CHECK((done[i].result == -ECANCELED && done[i].context == &one));
    CHECK(rfs_cancel(client, &one) == -ENOENT);
    CHECK(lock(waiter, wanted, kForEver) == -EINTR);
    CHECK(lock(holder, range(F_UNLCK, 0, 10)) == 0);
    CHECK(result(client) == 0);                            // the other one
    CHECK(lock(holder, range(F_WRLCK, 20, 1)) == -EAGAIN); // it kept what it had
    rfs_close(&waiter);
    rfs_close(&holder);
}

TEST_CASE("librpmfs: who waits for a lock is cancelled when the file is closed", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    rfs_file *holder = opened(client, "/f", O_RDWR | O_CREAT);
    rfs_file *waiter = opened(client, "/f", O_RDWR);
    rfs_lock_range wanted = range(F_WRLCK, 0, 10);
    int lock_call = 0;
    int close_call = 0;
    rfs_completion done[2];

    REQUIRE(lock(holder, wanted) == 0);
    REQUIRE(rfs_lock_async(waiter, &wanted, kForEver, &lock_call) == 0);
    REQUIRE(rfs_close_async(&waiter, &close_call) == 0);
    CHECK(rfs_wait(client, done, 2, 2, kForEver) == 2);
    CHECK((done[0].context == &lock_call && done[0].result == -ECANCELED));
    CHECK((done[1].context == &close_call && done[1].result == 0));

    waiter = opened(client, "/f", O_RDWR);
    REQUIRE(rfs_lock_async(waiter, &wanted, kForEver, &lock_call) == 0);
    rfs_close(&waiter);
    CHECK(result(client) == -ECANCELED);
    rfs_close(&holder);
}

TEST_CASE("librpmfs: an open file whose locks are gone fails until it is closed", "[unit]")
{
    std::string kind = GENERATE("range", "owner", "flock");
    CAPTURE(kind);
    Mounted volume;
    rfs_client *client = volume.mount().client;
    rfs_file *locked = opened(client, "/f", O_RDWR | O_CREAT);
    rfs_file *unlocked = opened(client, "/f", O_RDWR);
    rfs_file *was_locked = opened(client, "/f", O_RDWR);
    Judge judge(volume);
    uint32_t own = judge.only_client();
    uint32_t ino = ino_of(locked);
    rfs_lock_range probe = range(F_RDLCK, 0, 0);
    char byte = 'x';
    struct stat stat {
    };

    REQUIRE(lock(was_locked, range(F_WRLCK, 0, 1)) == 0);
    REQUIRE(lock(was_locked, range(F_UNLCK, 0, 1)) == 0);
    REQUIRE((kind == "flock" ? rfs_flock(locked, LOCK_EX, 0)
                             : lock(locked, range(F_WRLCK, 0, 9, kind == "owner" ? 7 : 0))) == 0);

    // It is cut off, and comes back before another client has dropped its locks: it goes on.
    judge.fence(own);
    CHECK(rfs_pwrite(locked, &byte, 1, 0) == 1);

    judge.fence(own);
    judge.drop_locks_of(ino, own);
    REQUIRE(rfs_pwrite_async(locked, "yy", 2, 0, nullptr) == 0); // begun under the lock
    CHECK(result(client) == -EIO);
    CHECK(contents(unlocked) == "x");
    CHECK(contents(was_locked) == "x");
    CHECK(rfs_pread(locked, &byte, 1, 0) == -EIO);
    CHECK(rfs_pwrite(locked, &byte, 1, 0) == -EIO);
    CHECK(rfs_ftruncate(locked, 0) == -EIO);
    CHECK(rfs_fallocate(locked, 0, 0, 1) == -EIO);
    CHECK(rfs_seek(locked, 0, SEEK_DATA) == -EIO);
    CHECK(rfs_fstat(locked, &stat) == -EIO);
    CHECK(rfs_fsync(locked) == -EIO);
    CHECK(lock(locked, range(F_WRLCK, 0, 1)) == -EIO);
    CHECK(rfs_flock(locked, LOCK_UN, 0) == -EIO);
    CHECK(rfs_lock_test(locked, &probe) == -EIO);
    CHECK(lock(unlocked, range(F_WRLCK, 0, 9)) == 0); // it is free
    CHECK(rfs_flock(unlocked, LOCK_EX, 0) == 0);
    rfs_close(&locked);
    locked = opened(client, "/f", O_RDWR);
    CHECK(rfs_pwrite(locked, &byte, 1, 0) == 1);
    for (rfs_file **each : { &locked, &unlocked, &was_locked })
        rfs_close(each);
}

TEST_CASE("librpmfs: nothing is read under a lock that is gone", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    rfs_file *locked = opened(client, "/f", O_RDWR | O_CREAT);
    Judge judge(volume);
    uint32_t own = judge.only_client();
    char byte = 'x';

    REQUIRE(lock(locked, range(F_WRLCK, 0, 9)) == 0);
    REQUIRE(rfs_pwrite(locked, &byte, 1, 0) == 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1600));
    CHECK(rfs_pread(locked, &byte, 1, 0) == 1); // it has done nothing for long, and has its lock
    judge.fence(own);
    judge.drop_locks_of(ino_of(locked), own);
    std::this_thread::sleep_for(std::chrono::milliseconds(1600));
    CHECK(rfs_pread(locked, &byte, 1, 0) == -EIO); // the fence stops no read
    rfs_close(&locked);
}

TEST_CASE("librpmfs: locks that an owner has given up are not missed", "[unit]")
{
    Mounted volume;
    rfs_client *client = volume.mount().client;
    rfs_file *one = opened(client, "/f", O_RDWR | O_CREAT);
    rfs_file *two = opened(client, "/f", O_RDWR);
    Judge judge(volume);
    uint32_t own = judge.only_client();
    uint32_t ino = ino_of(one);
    char byte = 'x';

    // By parts, by another open file that is closed, and by a wait for more.
    REQUIRE(lock(one, range(F_WRLCK, 0, 10, 7)) == 0);
    REQUIRE(lock(two, range(F_WRLCK, 20, 10, 7)) == 0);
    REQUIRE(lock(one, range(F_WRLCK, 50, 10)) == 0);
    REQUIRE(lock(one, range(F_UNLCK, 50, 5)) == 0);
    REQUIRE(lock(one, range(F_UNLCK, 55, 5)) == 0);
    rfs_close(&two);
    two = opened(client, "/f", O_RDWR);
    REQUIRE(rfs_flock(two, LOCK_SH, 0) == 0);
    REQUIRE(rfs_flock(one, LOCK_SH, 0) == 0);
    REQUIRE(rfs_flock(one, LOCK_EX, 1) == -ETIMEDOUT);
    judge.fence(own);
    judge.drop_locks_of(ino, own);
    CHECK(rfs_pwrite(one, &byte, 1, 0) == 1);
    CHECK(rfs_pwrite(two, &byte, 1, 0) == -EIO); // it had one
    rfs_close(&one);
    rfs_close(&two);
}
