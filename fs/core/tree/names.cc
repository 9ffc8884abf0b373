/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.cc: rows of the tables names and long_names.
 *
 * A name has one of the kCollisions keys of its hash, which differ between names with the same
 * hash. Removing a name leaves the others where they are, so a look-up that does not find its name
 * at the first key looks at all of them; they are neighbours in one leaf of the index.
 *
 * Tests: tests/unit/fs/tree/names_test.cpp
 */
#include "core/tree/names.h"

#include "core/base/assert.h"
#include "core/format/keys.h"
#include "core/tree/inodes.h"

#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <optional>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace rfs
{

static const char *const kGone = "it was found, but is missing now";
static const char *const kNoTail = "it does not exist, although the name has more than 90 bytes";

void check_name(std::string_view name)
{
    expect(!name.empty(), ENOENT);
    expect(name.size() <= kNameMax, ENAMETOOLONG);
    expect(is_name(name) || name == "." || name == "..", EINVAL);
}

/* Has this row that name, as far as its head tells? */
static bool has_head_of(uint64_t key, const NameRow &row, std::string_view name)
{
    size_t head = std::min<size_t>(name.size(), kHeadBytes);

    need_sound(fault_of(row), { "names", key });
    return row.length == name.size() && std::memcmp(row.head, name.data(), head) == 0;
}

/* Awaited: has this row that name? */
static dtx::Task<bool> is_of(Call &call, uint64_t key, const NameRow &row, std::string_view name)
{
    size_t head = std::min<size_t>(name.size(), kHeadBytes);

    if (!has_head_of(key, row, name))
        co_return false;
    if (head == name.size())
        co_return true;

    auto found = co_await call.txn.read(call.tables().long_names, key);
    const LongNameRow &rest = need(found, { "long_names", key }, kNoTail);

    co_return std::memcmp(rest.tail, name.data() + head, name.size() - head) == 0;
}

/* Where a name is among the rows of its hash, or could be. The head tells whether a row has it. */
static Place place_among(const std::vector<std::pair<uint64_t, NameRow>> &rows, uint64_t first,
                         std::string_view name)
{
    uint64_t free = first;
    Place place;

    for (const auto &[key, row] : rows) {
        if (has_head_of(key, row, name))
            return Place{ key, row.ino, row.type };
        free += key == free ? 1 : 0; /* rows come in the order of their keys */
    }
    place.key = free < first + kCollisions ? free : 0;
    return place;
}

std::optional<Place> NameSearch::now()
{
    uint64_t first = first_name_key(directory, name, call.volume.name_seed);
    auto reading = call.txn.read(call.tables().names, first);

    RFS_ASSERT(!name.empty() && name.size() <= kNameMax);
    if (name.size() > kHeadBytes || !reading.await_ready())
        return std::nullopt;

    auto row = reading.await_resume();

    if (row && has_head_of(first, *row, name))
        return Place{ first, row->ino, row->type };

    auto scanning = call.txn.scan(call.tables().names, first, first + kCollisions - 1);

    if (!scanning.await_ready())
        return std::nullopt;
    return place_among(scanning.await_resume(), first, name);
}

dtx::Task<Place> NameSearch::later()
{
    uint64_t first = first_name_key(directory, name, call.volume.name_seed);
    auto row = co_await call.txn.read(call.tables().names, first);
    bool found = false;
    Place place;

    RFS_ASSERT(!name.empty() && name.size() <= kNameMax);
    if (row)
        found = co_await is_of(call, first, *row, name);
    if (found)
        co_return Place{ first, row->ino, row->type };

    auto rows = co_await call.txn.scan(call.tables().names, first, first + kCollisions - 1);
    uint64_t free = first;

    for (const auto &[key, other] : rows) {
        found = co_await is_of(call, key, other, name);
        if (found)
            co_return Place{ key, other.ino, other.type };
        free += key == free ? 1 : 0; /* rows come in the order of their keys */
    }
    place.key = free < first + kCollisions ? free : 0;
    co_return place;
}

dtx::Task<> add_name(Call &call, Place place, std::string_view name, uint32_t ino, uint32_t mode)
{
    NameRow row{};
    LongNameRow rest{};

    RFS_ASSERT(!place.is_taken() && ino != 0);
    expect(place.key != 0, ENOSPC);
    row.ino = ino;
    row.type = static_cast<uint8_t>(mode >> 12);
    put_name(name, row, rest);

    bool added = co_await add_row(call, call.tables().names, place.key, row);

    need(added, { "names", place.key }, "it exists, although no name had this key");
    if (name.size() > kHeadBytes)
        added = co_await add_row(call, call.tables().long_names, place.key, rest);
    need(added, { "long_names", place.key }, "it exists, although no name had this key");
}

dtx::Task<> change_name(Call &call, Place place, uint32_t ino, uint32_t mode)
{
    auto found = co_await call.txn.read(call.tables().names, place.key);
    NameRow row = need(found, { "names", place.key }, kGone);

    RFS_ASSERT(place.is_taken() && ino != 0);
    row.ino = ino;
    row.type = static_cast<uint8_t>(mode >> 12);
    (void)co_await call.txn.write(call.tables().names, place.key, row);
}

dtx::Task<> remove_name(Call &call, Place place)
{
    auto found = co_await call.txn.read(call.tables().names, place.key);
    const NameRow &row = need(found, { "names", place.key }, kGone);
    bool erased = true;

    RFS_ASSERT(place.is_taken());
    if (row.length > kHeadBytes)
        erased = co_await call.txn.erase(call.tables().long_names, place.key);
    need(erased, { "long_names", place.key }, kNoTail);
    erased = co_await call.txn.erase(call.tables().names, place.key);
    need(erased, { "names", place.key }, kGone);
}

/* Awaited: the name of a row. */
static dtx::Task<std::string> name_of(Call &call, uint64_t key, NameRow row)
{
    LongNameRow rest{};

    need_sound(fault_of(row), { "names", key });
    if (row.length > kHeadBytes) {
        auto found = co_await call.txn.read(call.tables().long_names, key);

        rest = need(found, { "long_names", key }, kNoTail);
    }

    std::string name = name_in(row, rest);

    need(is_name(name), { "names", key }, "no file can have that name");
    co_return name;
}

dtx::Task<std::vector<Listed>> list_names(Call &call, uint32_t directory, uint64_t cookie,
                                          uint32_t limit)
{
    uint64_t behind = cookie > kDotCookies ? cookie - kDotCookies : 0;
    std::vector<Listed> listed;

    if (behind > UINT32_MAX) /* behind the last name that a directory can have */
        co_return listed;

    auto rows = co_await call.txn.scan(call.tables().names,
                                       key_of(directory, static_cast<uint32_t>(behind)),
                                       key_of(directory, UINT32_MAX), limit);

    for (const auto &[key, row] : rows) {
        std::string name = co_await name_of(call, key, row);

        listed.push_back({ kDotCookies + 1 + lower_half(key), row.ino, row.type, std::move(name) });
    }
    co_return listed;
}

dtx::Task<std::vector<Listed>> list_directory(Call &call, uint32_t directory, uint64_t cookie,
                                              uint32_t limit)
{
    Node node = co_await held_inode(call, directory);
    std::vector<Listed> names;

    expect(S_ISDIR(node.row.mode), ENOTDIR);
    if (cookie < 1)
        names.push_back({ 1, directory, DT_DIR, "." });
    if (cookie < 2)
        names.push_back({ 2, node.row.parent, DT_DIR, ".." });

    auto more = co_await list_names(call, directory, cookie, limit);

    names.insert(names.end(), more.begin(), more.end());
    co_return names;
}

} // namespace rfs
