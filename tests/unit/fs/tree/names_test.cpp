// SPDX-License-Identifier: BSD-3-Clause
// Names in a directory.
#include "core/tree/names.h"

#include "core/format/keys.h"
#include "core/tree/remove.h"
#include "unit/fs/volume.h"

#include <cerrno>
#include <set>

using rfs::Call;

namespace
{

constexpr uint32_t kFile = S_IFREG | 0644;

// Adds a name at a key, as if its hash had given it.
void add_at(TestVolume &volume, uint64_t key, const std::string &name, uint32_t ino)
{
    volume.as_root([&](Call &call) {
        return rfs::add_name(call, rfs::Place{ key, 0, 0 }, name, ino, kFile);
    });
}

} // namespace

TEST_CASE("fs: names of all lengths are found again", "[unit]")
{
    TestVolume volume;

    for (size_t length : { 1, 89, 90, 91, 254, 255 }) {
        std::string name(length, 'x');
        std::string other = name;
        uint32_t ino = make_file(volume, rfs::kRootIno, name);

        other.back() = 'y';
        CAPTURE(length);
        CHECK(place_of(volume, rfs::kRootIno, name).ino == ino);
        CHECK(place_of(volume, rfs::kRootIno, name).type == S_IFREG >> 12);
        CHECK_FALSE(place_of(volume, rfs::kRootIno, other).is_taken());
    }
    CHECK(names_in(volume, rfs::kRootIno).size() == 6);
    CHECK(inode_of(volume, rfs::kRootIno).size == 6);
}

TEST_CASE("fs: names that no file can have are refused", "[unit]")
{
    CHECK(error_of([] { rfs::check_name(""); }) == ENOENT);
    CHECK(error_of([] { rfs::check_name(std::string(256, 'x')); }) == ENAMETOOLONG);
    CHECK(error_of([] { rfs::check_name("a/b"); }) == EINVAL);
    CHECK(error_of([] { rfs::check_name(std::string("a\0b", 3)); }) == EINVAL);
    CHECK(error_of([] { rfs::check_name("\xff\n "); }) == 0);
}

// The hashes of names are 28 bits long: other names are put at the keys that "wanted" could have.
TEST_CASE("fs: names with the same hash lie beside each other", "[unit]")
{
    TestVolume volume;
    uint64_t first = rfs::first_name_key(rfs::kRootIno, "wanted", volume.open->volume.name_seed);

    for (uint32_t i = 0; i < rfs::kCollisions; i++) {
        rfs::Place place = place_of(volume, rfs::kRootIno, "wanted");

        CHECK_FALSE(place.is_taken());
        CHECK(place.key == first + i);
        add_at(volume, place.key, "other" + std::to_string(i), 100 + i);
    }
    CHECK(place_of(volume, rfs::kRootIno, "wanted").key == 0);
    CHECK(error_of([&] { (void)make_file(volume, rfs::kRootIno, "wanted"); }) == ENOSPC);

    // A name that is removed leaves the others where they are, and its own key to the next one.
    volume.as_root([&](Call &call) {
        return rfs::remove_name(call, rfs::Place{ first + 3, 103, S_IFREG >> 12 });
    });
    CHECK(place_of(volume, rfs::kRootIno, "wanted").key == first + 3);

    uint32_t ino = make_file(volume, rfs::kRootIno, "wanted");

    CHECK(place_of(volume, rfs::kRootIno, "wanted").key == first + 3);
    CHECK(place_of(volume, rfs::kRootIno, "wanted").ino == ino);
}

TEST_CASE("fs: a directory is listed in parts, while other names come and go", "[unit]")
{
    TestVolume volume;
    std::set<std::string> stay;
    std::set<std::string> listed;
    uint64_t cookie = 0;

    for (int i = 0; i < 60; i++) {
        std::string name = (i % 3 == 0 ? std::string(200, 'l') : "n") + std::to_string(i);

        (void)make_file(volume, rfs::kRootIno, name);
        if (i % 2 == 0)
            stay.insert(name);
    }
    for (int round = 0;; round++) {
        auto part = volume.as_root(
            [&](Call &call) { return rfs::list_names(call, rfs::kRootIno, cookie, 7); });

        if (part.empty())
            break;
        for (const rfs::Listed &one : part) {
            CHECK(one.cookie > cookie);
            cookie = one.cookie;
            if (stay.count(one.name) != 0)
                CHECK(listed.insert(one.name).second); // once
        }
        (void)make_file(volume, rfs::kRootIno, "new" + std::to_string(round));
        if (round == 2)
            for (int i = 1; i < 60; i += 6) {
                std::string name = "n" + std::to_string(i);

                volume.as_root(
                    [&](Call &call) { return rfs::remove_file(call, rfs::kRootIno, name); });
            }
    }
    CHECK(listed == stay);
    CHECK(volume
              .as_root(
                  [&](Call &call) { return rfs::list_names(call, rfs::kRootIno, UINT64_MAX, 7); })
              .empty());
}
