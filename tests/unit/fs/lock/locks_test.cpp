// SPDX-License-Identifier: BSD-3-Clause
// Locks of files: ranges, as the kernel has them; waiting; and what dead clients leave.
#include "core/client/locks.h"

#include "core/client/mount.h"
#include "core/format/keys.h"
#include "unit/fs/file/files.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using rfs::Call;
using rfs::Client;
using rfs::kLockEnd;
using rfs::kRootIno;
using rfs::LockKind;
using rfs::LockRow;
using rfs::LockType;

namespace
{

const std::function<bool()> kNever = [] { return false; };

LockRow range(LockType type, uint64_t owner, uint64_t start, uint64_t end)
{
    return { start, end, owner, 0, 0, LockKind::posix, type };
}

LockRow whole(LockType type, uint64_t owner)
{
    return { 0, kLockEnd, owner, 0, 0, LockKind::flock, type };
}

// Tries to set a lock. Returns the error number.
int lock(Client &client, uint32_t ino, const LockRow &wanted)
{
    return error_of([&] { client.finish(rfs::lock_file(client, ino, wanted, false, kNever)); });
}

// All locks of a file, by owner and start: "1:r0-9 2:w10-".
std::string locks_of(TestVolume &volume, uint32_t ino)
{
    rfs::Volume &of = volume.open->volume;
    auto rows = volume.as_root([&](Call &call) {
        return call.txn.scan(of.tables.locks, rfs::key_of(ino, 0), rfs::key_of(ino, UINT32_MAX));
    });
    std::string text;

    std::sort(rows.begin(), rows.end(), [](const auto &one, const auto &other) {
        return std::pair(one.second.owner, one.second.start) <
               std::pair(other.second.owner, other.second.start);
    });
    for (const auto &[key, row] : rows) {
        text += text.empty() ? "" : " ";
        text += std::to_string(row.owner) + ":";
        text += row.kind == LockKind::flock ? "f" : "";
        text += row.type == LockType::write ? "w" : "r";
        text += std::to_string(row.start) + "-";
        text += row.end == kLockEnd ? "" : std::to_string(row.end);
    }
    return text;
}

// What the check says of a volume's locks.
std::string faults_of_locks(const TestVolume &volume)
{
    std::string text;

    for (const std::string &what : rfs::check_tables(*volume.open).texts())
        text += what + "\n";
    return text;
}

uint64_t locked_files(const TestVolume &volume)
{
    uint64_t rows = 0;

    volume.open->cluster->each_row(volume.open->volume.tables.locked_files.number, 0,
                                   [&](uint64_t, const void *, size_t) { rows++; });
    return rows;
}

// A volume with a file and a client that has it mounted.
struct Locked : TestVolume {
    explicit Locked(uint32_t servers = 1, uint64_t log_bytes = 256 << 10)
        : TestVolume(servers, servers, "", { 400, 2 }, log_bytes)
    {
        client->finish(rfs::mount(*client));
        file = make_file(*this, kRootIno, "f");
    }
    int set(LockType type, uint64_t owner, uint64_t start, uint64_t end)
    {
        return lock(*client, file, range(type, owner, start, end));
    }
    std::string locks()
    {
        return locks_of(*this, file);
    }
    uint32_t file;
};

} // namespace

TEST_CASE("fs: a new lock splits, merges and replaces ranges of its owner", "[unit]")
{
    struct Case {
        LockType type;
        uint64_t start, end;
        const char *then;
    };
    constexpr LockType kRead = LockType::read, kWrite = LockType::write, kNone = LockType::none;
    const Case cases[] = {
        { kRead, 10, 19, "1:r10-19" },
        { kRead, 10, 19, "1:r10-19" },
        { kRead, 20, 29, "1:r10-29" },                  // touches it
        { kRead, 5, 9, "1:r5-29" },                     // before it
        { kRead, 31, 40, "1:r5-29 1:r31-40" },          // leaves byte 30 out
        { kRead, 30, 30, "1:r5-40" },                   // joins both
        { kWrite, 10, 19, "1:r5-9 1:w10-19 1:r20-40" }, // within
        { kWrite, 20, 24, "1:r5-9 1:w10-24 1:r25-40" }, // grows
        { kRead, 20, 24, "1:r5-9 1:w10-19 1:r20-40" },  // downgrade of an end
        { kNone, 12, 13, "1:r5-9 1:w10-11 1:w14-19 1:r20-40" },
        { kNone, 0, 4, "1:r5-9 1:w10-11 1:w14-19 1:r20-40" },
        { kNone, 9, 14, "1:r5-8 1:w15-19 1:r20-40" },
        { kRead, 15, 19, "1:r5-8 1:r15-40" }, // downgrade of all of one
        { kWrite, 0, kLockEnd, "1:w0-" },     // upgrade of all
        { kNone, 100, kLockEnd, "1:w0-99" },
        { kRead, 99, kLockEnd, "1:w0-98 1:r99-" },
        { kWrite, kLockEnd, kLockEnd, "1:w0-98 1:r99-9223372036854775806 1:w9223372036854775807-" },
        { kNone, 0, kLockEnd, "" },
    };
    Locked volume(GENERATE(1u, 2u));

    for (const Case &each : cases) {
        CAPTURE(each.then);
        CHECK(volume.set(each.type, 1, each.start, each.end) == 0);
        CHECK(volume.locks() == each.then);
    }
    CHECK(faults_of_locks(volume) == "");
}

TEST_CASE("fs: readers share a range, a writer has it alone", "[unit]")
{
    Locked volume;
    Client other(*volume.open);

    other.finish(rfs::mount(other));
    CHECK(volume.set(LockType::read, 1, 0, 9) == 0);
    CHECK(volume.set(LockType::read, 2, 5, 14) == 0);
    CHECK(lock(other, volume.file, range(LockType::read, 1, 0, 99)) == 0); // not the same owner
    CHECK(volume.set(LockType::write, 1, 0, 9) == EAGAIN);                 // nothing has changed
    CHECK(volume.locks() == "1:r0-9 1:r0-99 2:r5-14");
    CHECK(lock(other, volume.file, range(LockType::none, 1, 0, 99)) == 0);
    CHECK(volume.set(LockType::write, 1, 0, 4) == 0);
    CHECK(lock(other, volume.file, range(LockType::read, 1, 0, 4)) == EAGAIN);
    CHECK(lock(other, volume.file, range(LockType::write, 3, 100, kLockEnd)) == 0);
    CHECK(lock(other, volume.file, range(LockType::read, 3, 2, 3)) == EAGAIN);
    CHECK(volume.set(LockType::read, 1, 0, kLockEnd) == EAGAIN);
    CHECK(volume.locks() == "1:w0-4 1:r5-9 2:r5-14 3:w100-");

    LockRow wanted = range(LockType::write, 4, 0, kLockEnd);
    auto found = volume.as_root([&](Call &call) { return test_lock(call, volume.file, wanted); });

    CHECK((found && found->start == 0 && found->end == 4 && found->owner == 1));
    CHECK(faults_of_locks(volume) == "");
}

TEST_CASE("fs: flock() has one lock of a file, apart from those of fcntl()", "[unit]")
{
    Locked volume;
    Client &client = *volume.client;
    uint32_t ino = volume.file;

    CHECK(volume.set(LockType::write, 1, 0, kLockEnd) == 0);
    CHECK(lock(client, ino, whole(LockType::read, 2)) == 0);
    CHECK(lock(client, ino, whole(LockType::read, 3)) == 0);
    CHECK(lock(client, ino, whole(LockType::write, 3)) == EAGAIN);
    CHECK(volume.locks() == "1:w0- 2:fr0- 3:fr0-");
    CHECK(lock(client, ino, whole(LockType::none, 2)) == 0);
    CHECK(lock(client, ino, whole(LockType::write, 3)) == 0); // upgrade
    CHECK(lock(client, ino, whole(LockType::read, 2)) == EAGAIN);
    CHECK(lock(client, ino, whole(LockType::read, 3)) == 0); // downgrade
    CHECK(lock(client, ino, whole(LockType::read, 2)) == 0);
    CHECK(volume.locks() == "1:w0- 2:fr0- 3:fr0-");
    CHECK(faults_of_locks(volume) == "");
}

TEST_CASE("fs: wrong ranges and files are refused", "[unit]")
{
    Locked volume;

    CHECK(volume.set(LockType::read, 1, 5, 4) == EINVAL);
    CHECK(volume.set(LockType::read, 1, 5, kLockEnd + 1) == EINVAL);
    CHECK(lock(*volume.client, 12345, range(LockType::read, 1, 0, 9)) == ESTALE);
    CHECK(lock(*volume.client, 12345, range(LockType::none, 1, 0, 9)) == 0);
    CHECK(locked_files(volume) == 0);
}

namespace
{

// The kernel's locks of a file on a tmpfs: each owner is an open file.
class KernelLocks
{
  public:
    KernelLocks()
    {
        memory_ = memfd_create("locks", MFD_CLOEXEC);
        for (int &fd : owners_)
            fd = open(("/proc/self/fd/" + std::to_string(memory_)).c_str(), O_RDWR | O_CLOEXEC);
        REQUIRE((owners_[0] >= 0 && owners_[1] >= 0));
    }
    ~KernelLocks()
    {
        for (int fd : { owners_[0], owners_[1], memory_ })
            close(fd);
    }
    // Returns the error number.
    int set(const LockRow &wanted)
    {
        struct flock of = flock_of(wanted);

        return fcntl(owners_[wanted.owner], F_OFD_SETLK, &of) == 0 ? 0 : errno;
    }
    // The first lock of the other owner that conflicts: "w0-9"; "": none.
    std::string test(const LockRow &wanted)
    {
        struct flock of = flock_of(wanted);

        REQUIRE(fcntl(owners_[wanted.owner], F_OFD_GETLK, &of) == 0);
        if (of.l_type == F_UNLCK)
            return "";
        return (of.l_type == F_WRLCK ? "w" : "r") + std::to_string(of.l_start) + "-" +
               (of.l_len == 0 ? "" : std::to_string(of.l_start + of.l_len - 1));
    }

  private:
    static struct flock flock_of(const LockRow &wanted)
    {
        struct flock of {
        };

        of.l_type = wanted.type == LockType::write  ? F_WRLCK
                    : wanted.type == LockType::read ? F_RDLCK
                                                    : F_UNLCK;
        of.l_start = static_cast<off_t>(wanted.start);
        of.l_len = wanted.end == kLockEnd ? 0 : static_cast<off_t>(wanted.end - wanted.start + 1);
        return of;
    }

    int memory_;
    int owners_[2];
};

// The same of a volume.
std::string test_of(TestVolume &volume, uint32_t ino, LockRow wanted)
{
    wanted.client = rfs::client_number(volume.client->session().coordinator());

    auto found = volume.as_root([&](Call &call) { return rfs::test_lock(call, ino, wanted); });

    if (!found)
        return "";
    return (found->type == LockType::write ? "w" : "r") + std::to_string(found->start) + "-" +
           (found->end == kLockEnd ? "" : std::to_string(found->end));
}

} // namespace

TEST_CASE("fs: two owners have the ranges that the kernel would give them", "[unit]")
{
    constexpr uint64_t kBytes = 24;
    uint64_t seed = GENERATE(range(1, 9));
    dtx::SplitMix64 chance(seed);
    KernelLocks kernel;
    Locked volume;
    int refused = 0;

    for (int step = 0; step < 300; step++) {
        uint64_t start = chance.below(kBytes);
        uint64_t end = chance.below(8) == 0 ? kLockEnd : start + chance.below(kBytes - start);
        LockRow wanted = range(static_cast<LockType>(chance.below(3)), chance.below(2), start, end);
        int error = kernel.set(wanted);

        CAPTURE(seed, step, volume.locks());
        REQUIRE(lock(*volume.client, volume.file, wanted) == error);
        refused += error != 0 ? 1 : 0;
        for (uint64_t owner : { 0u, 1u })
            for (uint64_t byte = 0; byte <= kBytes; byte++) {
                LockRow probe = range(LockType::write, owner, byte, byte);

                REQUIRE(test_of(volume, volume.file, probe) == kernel.test(probe));
            }
        wanted.type = step % 2 == 0 ? LockType::read : LockType::write;
        REQUIRE(test_of(volume, volume.file, wanted) == kernel.test(wanted));
    }
    CHECK(refused > 30);
    CHECK(faults_of_locks(volume) == "");
}

TEST_CASE("fs: a file has so many locks at most, and a volume", "[unit]")
{
    Locked volume(1, 1 << 20); // all of a file's locks are changed in one transaction
    Client &client = *volume.client;
    uint32_t second = make_file(volume, kRootIno, "second");
    uint64_t more = 0;

    for (uint64_t i = 0; i < rfs::kLocksMax; i++)
        REQUIRE(lock(client, volume.file, range(LockType::read, 1, 3 * i, 3 * i + 1)) == 0);
    CHECK(lock(client, volume.file, range(LockType::read, 1, 1 << 20, 1 << 20)) == ENOLCK);
    CHECK(lock(client, volume.file, range(LockType::write, 1, 0, 0)) == ENOLCK);
    while (more < rfs::kLocksMax &&
           lock(client, second, range(LockType::read, 1, 2 * more, 2 * more)) == 0)
        more++;
    CHECK((more > 100 && more < rfs::kLocksMax));
    CHECK(lock(client, second, range(LockType::read, 1, 2 * more, 2 * more)) == ENOLCK);
    CHECK(lock(client, volume.file, range(LockType::read, 1, 2, 2)) == 0); // joins two
    CHECK(lock(client, volume.file, range(LockType::none, 1, 7, 7)) == 0);
    CHECK(lock(client, volume.file, range(LockType::write, 1, 0, kLockEnd)) == 0);
    CHECK(volume.locks() == "1:w0-");
    for (uint32_t ino : { volume.file, second })
        client.finish(rfs::drop_owner(client, ino, 1));
    CHECK((volume.locks() == "" && locks_of(volume, second) == ""));
    CHECK(locked_files(volume) == 0);
}

TEST_CASE("fs: closing drops all that an owner has on the file", "[unit]")
{
    Locked volume;
    Client &client = *volume.client;

    CHECK(volume.set(LockType::read, 1, 0, 9) == 0);
    CHECK(volume.set(LockType::write, 1, 20, 29) == 0);
    CHECK(lock(client, volume.file, whole(LockType::write, 1)) == 0);
    CHECK(volume.set(LockType::read, 2, 0, 9) == 0);
    client.finish(rfs::drop_owner(client, volume.file, 1));
    CHECK(volume.locks() == "2:r0-9");
    CHECK(locked_files(volume) == 1);
    CHECK(volume.set(LockType::none, 2, 0, 9) == 0); // not closed yet
    CHECK(locked_files(volume) == 1);
    client.finish(rfs::drop_owner(client, volume.file, 2));
    client.finish(rfs::drop_owner(client, volume.file, 2));
    CHECK(locked_files(volume) == 0);
}

TEST_CASE("fs: a file that is freed loses its locks", "[unit]")
{
    Locked volume;

    CHECK(volume.set(LockType::read, 1, 0, 9) == 0);
    CHECK(volume.set(LockType::read, 2, 0, 9) == 0);
    volume.as_root([&](Call &call) { return rfs::remove_file(call, kRootIno, "f"); });
    volume.client->finish(rfs::free_file(*volume.client, volume.file));
    CHECK(volume.locks() == "");
    CHECK(locked_files(volume) == 0);
    CHECK(faults_of_locks(volume) == "");
}

namespace
{

// Awaited: waits for a lock, and notes what came of it: the error number, 0 for the lock.
dtx::Task<> wait_for(Client &client, uint32_t ino, LockRow wanted, std::function<bool()> ends,
                     int &result)
{
    try {
        co_await rfs::lock_file(client, ino, wanted, true, ends);
        result = 0;
    } catch (const rfs::Failure &failure) {
        result = failure.error;
    }
}

// Awaited: after @ms milliseconds sets a lock.
dtx::Task<> lock_later(Client &client, uint32_t ino, LockRow wanted, uint64_t ms)
{
    co_await client.session().sleep_until(dtx::now_ns() + ms * 1000000);
    co_await rfs::lock_file(client, ino, wanted, false, kNever);
}

void run_both(Client &client, dtx::Task<> one, dtx::Task<> other)
{
    std::vector<dtx::Task<>> tasks;

    tasks.push_back(std::move(one));
    tasks.push_back(std::move(other));
    client.session().run(std::move(tasks));
}

} // namespace

TEST_CASE("fs: who waits for a lock gets it when it is free", "[unit]")
{
    Locked volume;
    Client &client = *volume.client;
    int result = -1;
    uint64_t before = dtx::now_ns();

    REQUIRE(volume.set(LockType::write, 1, 0, 9) == 0);
    run_both(client,
             wait_for(client, volume.file, range(LockType::write, 2, 5, 20), kNever, result),
             lock_later(client, volume.file, range(LockType::none, 1, 0, 9), 100));
    CHECK(result == 0);
    CHECK(dtx::now_ns() - before >= 100000000);
    CHECK(volume.locks() == "2:w5-20");
}

TEST_CASE("fs: who waits for a lock is ended by an interrupt, with what it had", "[unit]")
{
    Locked volume;
    Client &client = *volume.client;
    int result = -1;
    uint64_t before = dtx::now_ns();
    auto soon = [before] { return dtx::now_ns() >= before + 200000000; };

    REQUIRE(volume.set(LockType::write, 1, 0, 9) == 0);
    REQUIRE(volume.set(LockType::read, 2, 10, 19) == 0);
    client.finish(wait_for(client, volume.file, range(LockType::write, 2, 0, 19), soon, result));
    CHECK(result == EINTR);
    CHECK(dtx::now_ns() - before < 1000000000);
    CHECK(volume.locks() == "1:w0-9 2:r10-19");
}

TEST_CASE("fs: two that read by flock() and want to write get that one after the other", "[unit]")
{
    Locked volume;
    Client &client = *volume.client;
    int results[2] = { -1, -1 };
    bool released = false;
    auto body = [&](uint64_t owner) -> dtx::Task<> {
        int &result = results[owner];

        co_await wait_for(client, volume.file, whole(LockType::write, owner), kNever, result);
        co_await rfs::drop_owner(client, volume.file, owner);
        released = true;
    };

    for (uint64_t owner : { 0u, 1u })
        REQUIRE(lock(client, volume.file, whole(LockType::read, owner)) == 0);
    run_both(client, body(0), body(1));
    CHECK((results[0] == 0 && results[1] == 0 && released));
    CHECK(volume.locks() == "");
}

TEST_CASE("fs: the locks of a client that has died are dropped by who wants them", "[unit]")
{
    std::string by = GENERATE("trying", "waiting", "turn");
    Locked volume(2);
    Client &client = *volume.client;
    std::optional<Client> other(std::in_place, *volume.open);
    LockRow wanted = range(LockType::write, 1, 0, kLockEnd);
    int result = -1;
    uint32_t number = other->session().coordinator();

    other->finish(rfs::mount(*other));
    for (uint64_t owner : { 7u, 8u })
        REQUIRE(lock(*other, volume.file, range(LockType::read, owner, owner, 2 * owner)) == 0);
    REQUIRE(lock(*other, volume.file, whole(LockType::read, 9)) == 0);
    CHECK(lock(client, volume.file, wanted) == EAGAIN); // it lives
    other.reset(); // without unmount(), as if it had been killed
    if (by == "turn") {
        client.finish(rfs::drop_locks_of_dead(client, number, 12345)); // mounts has changed
        CHECK(locked_files(volume) == 1);
        client.finish(rfs::take_turn(client, true));
        CHECK(volume.locks() == "");
        CHECK(locked_files(volume) == 0);
        return;
    }
    if (by == "waiting") {
        client.finish(wait_for(client, volume.file, wanted, kNever, result));
        CHECK(result == 0);
    } else {
        CHECK(lock(client, volume.file, wanted) == EAGAIN); // it lived just now
        client.finish(lock_later(client, volume.file, wanted, 1100));
    }
    CHECK(volume.locks() == "1:w0- 9:fr0-"); // of the other kind
    CHECK(faults_of_locks(volume) == "");
}

TEST_CASE("fs: a client drops the locks of an earlier one with its number", "[unit]")
{
    Locked volume;
    uint32_t second = make_file(volume, kRootIno, "second");
    std::optional<Client> other(std::in_place, *volume.open);
    uint32_t number = other->session().coordinator();

    other->finish(rfs::mount(*other));
    REQUIRE(lock(*other, volume.file, range(LockType::read, 7, 0, 9)) == 0);
    REQUIRE(lock(*other, second, range(LockType::write, 8, 0, 9)) == 0);
    REQUIRE(volume.set(LockType::read, 1, 0, 9) == 0);
    other.reset();
    for (int i = 0; i < 200 && (!other || other->session().coordinator() != number); i++) {
        other.reset();
        other.emplace(*volume.open);
    }
    REQUIRE(other->session().coordinator() == number);
    other->finish(rfs::mount(*other));
    CHECK(volume.locks() == "1:r0-9");
    CHECK(locks_of(volume, second) == "");
    CHECK(locked_files(volume) == 1);

    REQUIRE(lock(*other, second, range(LockType::write, 8, 0, 9)) == 0);
    other->finish(rfs::unmount(*other));
    CHECK(locks_of(volume, second) == "");
    CHECK(locked_files(volume) == 1);
    CHECK(faults_of_locks(volume) == "");
}

TEST_CASE("fs: a client whose locks were dropped goes on without them", "[unit]")
{
    Locked volume;
    Client &client = *volume.client;
    Client other(*volume.open);
    std::vector<LockRow> seen;

    other.finish(rfs::mount(other));
    REQUIRE(volume.set(LockType::write, 1, 0, 9) == 0);

    LockRow wanted = range(LockType::write, 2, 0, 9);
    auto list = [&](Call &call) { return list_conflicts(call, volume.file, wanted); };

    seen = other.call_now(volume.root, list);
    REQUIRE(seen.size() == 1);
    (void)volume.open->cluster->recover(client.session().coordinator()); // it is fenced
    other.call_now(volume.root, [&](Call &call) { return drop_seen(call, volume.file, seen); });
    REQUIRE(lock(other, volume.file, wanted) == 0);

    CHECK(volume.set(LockType::none, 1, 0, 9) == 0); // it has none, and is not told
    client.finish(rfs::drop_owner(client, volume.file, 1));
    CHECK(volume.set(LockType::write, 1, 5, 5) == EAGAIN);
    CHECK(volume.set(LockType::write, 1, 10, 19) == 0);
    CHECK(volume.locks() == "1:w10-19 2:w0-9");
    CHECK(client.session().counters().rejoined == 1);
    CHECK(faults_of_locks(volume) == "");
}

namespace
{

// Calls something when so many attempts of its session have ended.
struct AfterAttempts : dtx::Listener {
    void ended(const dtx::Attempt &) override
    {
        if (left > 0 && --left == 0)
            act();
    }
    int left = 0;
    std::function<void()> act;
};

} // namespace

TEST_CASE("fs: locks of a dead client stay while it may have come back", "[unit]")
{
    Locked volume;
    AfterAttempts listener;
    Client wants(*volume.open, &listener);
    Client third(*volume.open);
    std::optional<Client> other(std::in_place, *volume.open);
    LockRow wanted = range(LockType::write, 1, 0, 9);

    wants.finish(rfs::mount(wants));
    other->finish(rfs::mount(*other));
    REQUIRE(lock(*other, volume.file, range(LockType::read, 7, 0, 9)) == 0);
    other.reset(); // as if it had been killed
    // A client enters when the locks are listed, and before they are dropped: after the second
    // transaction. It could be the one that was dead.
    listener.left = 2;
    listener.act = [&] { third.finish(third.enter()); };
    CHECK(lock(wants, volume.file, wanted) == EAGAIN);
    CHECK(listener.left == 0);
    CHECK(volume.locks() == "7:r0-9");
    CHECK(lock(wants, volume.file, wanted) == 0);
    CHECK(volume.locks() == "1:w0-9");
}
