// SPDX-License-Identifier: BSD-3-Clause
// directories_test.cpp: the numbers of directories, with a kernel that has one entry for each
// number and cannot always move it.
#include "mount/directories.h"

#include "support/catch.h"
#include <dtx/scheduler.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

using rfs::Directories;
using Number = Directories::Number;

namespace
{

constexpr uint32_t kIno = 77;
constexpr Number kRoot = 1;
constexpr pid_t kThread = 1000;
constexpr pid_t kOther = 1001;
constexpr uint64_t kNow = 50000000000;

Number further_of(Number number)
{
    return number >> 32;
}

// What directories.h says of the kernel: its entries, and what it does with a reply.
class Kernel
{
  public:
    using Name = std::pair<Number, std::string>;

    // A lookup by a call. @holds_lock: no entry can be moved to another parent, as within
    // rename(2). Returns the number; nothing: ESTALE.
    std::optional<Number> look_up(uint32_t ino, const Name &name, bool holds_lock, pid_t thread)
    {
        for (int attempt = 0; attempt < 2; attempt++) {
            Number number = told(ino, name, thread);
            Number here = number_at(name);

            if (here != 0 && here != number) { // it knew the name, and looks it up anew
                refused++;
                entries_[here].is_hashed = false;
                forget_one(number);
                number = told(ino, name, thread);
            }
            if (put(number, name, holds_lock))
                return number;
        }
        return std::nullopt;
    }
    void rename(const Name &from, const Name &to)
    {
        Number number = number_at(from);

        REQUIRE(number != 0);
        directories.moved(place_of(from), place_of(to));
        if (Number there = number_at(to); there != 0)
            entries_[there].is_hashed = false;
        entries_[number].name = to;
    }
    // It forgets what has no entry of a name, and is not in use.
    void shrink()
    {
        for (auto entry = entries_.begin(); entry != entries_.end();)
            if (entry->second.is_hashed) {
                ++entry;
            } else {
                (void)directories.forgotten(entry->first, entry->second.told);
                entry = entries_.erase(entry);
            }
    }
    void drop(const Name &name)
    {
        entries_[number_at(name)].is_hashed = false;
        shrink();
    }
    size_t numbers() const
    {
        return entries_.size();
    }

    Directories directories;
    int refused = 0; // replies, as it had another number at the place

  private:
    struct Entry {
        Name name;
        bool is_hashed = false; // else it is at that parent, and a lookup does not find it
        uint64_t told = 0;
    };

    static Directories::Place place_of(const Name &name)
    {
        return { name.first, name.second };
    }
    Number told(uint32_t ino, const Name &name, pid_t thread)
    {
        Number number = directories.looked_up(ino, place_of(name), thread, kNow);

        (void)directories.known(number, place_of(name));
        entries_[number].told++;
        return number;
    }
    void forget_one(Number number)
    {
        (void)directories.forgotten(number, 1);
        if (--entries_[number].told == 0)
            entries_.erase(number);
    }
    Number number_at(const Name &name) const
    {
        for (const auto &[number, entry] : entries_)
            if (entry.is_hashed && entry.name == name)
                return number;
        return 0;
    }
    bool put(Number number, const Name &name, bool holds_lock)
    {
        Entry &entry = entries_[number];
        bool is_new = entry.name.second.empty();

        if (!is_new && entry.name.first != name.first && holds_lock)
            return false;
        entry.name = name;
        entry.is_hashed = true;
        return true;
    }

    std::map<Number, Entry> entries_;
};

} // namespace

TEST_CASE("directories: the number is that of the inode, and told once or many times", "[unit]")
{
    Directories directories;
    Directories::Place place{ kRoot, "a" };

    CHECK(directories.looked_up(kIno, place, kThread, kNow) == kIno);
    CHECK(directories.size() == 0);
    CHECK(directories.known(kIno, place));
    CHECK(!directories.known(kIno, place));
    for (int i = 0; i < 3; i++)
        CHECK(directories.looked_up(kIno, place, kThread, kNow) == kIno);
    CHECK(!directories.forgotten(kIno, 1));
    CHECK(directories.size() == 1);
    CHECK(directories.forgotten(kIno, 1));
    CHECK(directories.size() == 0);
    CHECK(!directories.forgotten(kIno, 1)); // of a file that is no directory
}

TEST_CASE("directories: a second lookup at a new place gets another number", "[unit]")
{
    Directories directories;
    Directories::Place old{ kRoot, "old" };
    Directories::Place fresh{ kRoot, "new" };

    (void)directories.known(kIno, old);
    CHECK(directories.looked_up(kIno, fresh, kThread, kNow) == kIno);

    SECTION("by the thread that was told, at once")
    {
        Number next = directories.looked_up(kIno, fresh, kThread, kNow + 1000);

        CHECK(static_cast<uint32_t>(next) == kIno);
        CHECK(further_of(next) == Directories::kFirstFurther);
        CHECK(!directories.known(next, fresh));
        CHECK(directories.looked_up(kIno, fresh, kThread, kNow + 2000) == next);
        CHECK(directories.listed(kIno, fresh) == next);
        CHECK(directories.listed(kIno, old) == kIno); // the kernel has it there
        CHECK(!directories.forgotten(kIno, 1));
        CHECK(directories.forgotten(next, 1));
    }
    SECTION("not by another thread, but by that one if it looks up again")
    {
        CHECK(directories.looked_up(kIno, fresh, kOther, kNow + 1000) == kIno);
        CHECK(further_of(directories.looked_up(kIno, fresh, kOther, kNow + 2000)) != 0);
    }
    SECTION("not if it has made a request on the directory")
    {
        directories.used(kIno, kThread);
        CHECK(directories.looked_up(kIno, fresh, kThread, kNow + 1000) == kIno);
    }
    SECTION("but a request of another thread, which may work in it, proves nothing")
    {
        directories.used(kIno, kOther);
        CHECK(further_of(directories.looked_up(kIno, fresh, kThread, kNow + 1000)) != 0);
    }
    SECTION("not much later")
    {
        CHECK(directories.looked_up(kIno, fresh, kThread, kNow + Directories::kAgainNs) == kIno);
    }
    SECTION("not after a list")
    {
        directories.used(kIno, kThread);
        CHECK(directories.listed(kIno, { kRoot, "elsewhere" }) == kIno);
        CHECK(directories.looked_up(kIno, fresh, kThread, kNow + 1000) == kIno);
    }
}

TEST_CASE("directories: a rename within the kernel leaves the number", "[unit]")
{
    Directories directories;
    Directories::Place one{ kRoot, "one" };
    Directories::Place other{ kIno, "other" };

    (void)directories.known(kIno + 1, one);
    directories.moved(one, other);
    directories.moved({ kRoot, "file" }, { kRoot, "moved" });
    for (int i = 0; i < 2; i++)
        CHECK(directories.looked_up(kIno + 1, other, kThread, kNow) == kIno + 1);
    (void)directories.known(kIno + 2, one);
    directories.exchanged(one, other);
    directories.exchanged({ kRoot, "file" }, other);
    for (int i = 0; i < 2; i++) {
        CHECK(directories.looked_up(kIno + 1, one, kThread, kNow) == kIno + 1);
        CHECK(directories.looked_up(kIno + 2, { kRoot, "file" }, kThread, kNow) == kIno + 2);
    }
}

TEST_CASE("directories: a call goes on where the kernel cannot move its entry", "[unit]")
{
    Kernel kernel;
    Kernel::Name places[] = { { 101, "a" }, { 102, "b" }, { 103, "c" } };

    CHECK(kernel.look_up(kIno, places[0], false, kThread) == kIno);
    CHECK(kernel.look_up(kIno, places[1], false, kThread) == kIno); // moved by another mount
    kernel.directories.used(kIno, kThread);

    std::optional<Number> again = kernel.look_up(kIno, places[2], true, kThread);

    REQUIRE(again);
    CHECK(*again != kIno);
    kernel.rename(places[2], places[0]);
    CHECK(kernel.look_up(kIno, places[0], true, kThread) == again);
    CHECK(kernel.numbers() == 2); // what works in the directory keeps the first one
    kernel.drop(places[1]);
    CHECK(kernel.numbers() == 1);
    CHECK(kernel.look_up(kIno, places[2], true, kThread).has_value());
    CHECK(kernel.refused == 0);
}

TEST_CASE("directories: where the kernel has moved its entry, it keeps the number", "[unit]")
{
    Kernel kernel;

    CHECK(kernel.look_up(kIno, { 101, "old" }, false, kThread) == kIno);
    for (int i = 0; i < 4; i++) // each time only asks whether the name is taken
        CHECK(kernel.look_up(kIno, { 102, "new" }, false, kThread) == kIno);
    CHECK(kernel.refused == 1);
    CHECK(kernel.numbers() == 1);
}

TEST_CASE("directories: whatever moves, no call fails, and all is forgotten at the end", "[unit]")
{
    dtx::SplitMix64 chance(GENERATE(1u, 2u, 3u, 4u));
    Kernel kernel;
    std::map<Number, uint32_t> inodes; // by their parent: what all mounts see
    auto any = [&] { return Number{ 100 } + chance.below(6); };
    int renamed = 0;

    for (uint32_t i = 0; i < 3; i++)
        inodes[100 + i] = kIno + i;
    for (int i = 0; i < 20000; i++) {
        Number from = any();
        Number to = any();
        pid_t thread = chance.below(2) == 0 ? kThread : kOther;

        if (chance.below(8) == 0)
            kernel.shrink();
        if (!inodes.contains(from) || inodes.contains(to))
            continue;
        if (chance.below(2) == 0) { // by another mount
            inodes[to] = inodes[from];
            inodes.erase(from);
            continue;
        }

        bool renames = chance.below(2) == 0;
        std::optional<Number> number = kernel.look_up(inodes[from], { from, "n" }, renames, thread);

        REQUIRE(number);
        REQUIRE(static_cast<uint32_t>(*number) == inodes[from]);
        if (renames) {
            kernel.rename({ from, "n" }, { to, "n" });
            inodes[to] = inodes[from];
            inodes.erase(from);
            renamed++;
        } else if (chance.below(4) != 0) {
            kernel.directories.used(*number, thread);
        }
    }
    CHECK(renamed > 1000);
    for (Number parent = 100; parent < 106; parent++)
        kernel.drop({ parent, "n" });
    CHECK(kernel.directories.size() == 0);
}
