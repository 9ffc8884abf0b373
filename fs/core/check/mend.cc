/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mend.cc: repair rows that are wrong by themselves, then counts and bits.
 *
 * Tests: tests/unit/fs/check/repair_test.cpp
 */
#include "core/check/mend.h"

#include "core/format/keys.h"
#include "core/tree/names.h"

#include <algorithm>
#include <cstring>
#include <sys/stat.h>

namespace rfs
{

Step step_of(Kind kind)
{
    switch (kind) {
    case Kind::torn:
    case Kind::no_volume:
    case Kind::bad_inode:
    case Kind::zero_in_target:
    case Kind::short_target:
    case Kind::short_xattrs:
    case Kind::bad_xattrs:
    case Kind::unreachable:
    case Kind::orphan_counts: /* bad_orphan says it as well */
        return Step::never;
    case Kind::pointer_behind:
    case Kind::bad_pointer:
    case Kind::shared_block:
        return Step::pointers;
    case Kind::wrong_links:
    case Kind::named_removed:
    case Kind::not_orphan:
    case Kind::wrong_parent:
        return Step::links;
    case Kind::wrong_entries:
    case Kind::wrong_subdirs:
    case Kind::wrong_blocks:
        return Step::counts;
    case Kind::lost_block:
    case Kind::free_block:
    case Kind::block_in_no_slab:
        return Step::bits;
    default:
        return Step::rows;
    }
}

std::string Mender::mend(const Wrong &wrong)
{
    switch (step_of(wrong.kind)) {
    case Step::rows:
        return mend_row(wrong);
    case Step::pointers:
        return mend_pointer(wrong);
    case Step::links:
        return mend_links(wrong);
    case Step::counts:
        return mend_count(wrong);
    case Step::bits:
        return mend_bit(wrong);
    case Step::never:
        return "";
    }
    return "";
}

std::string Mender::remove_name_row(uint64_t key)
{
    bool removed = erase(open_.volume.tables.names, key);

    (void)erase(open_.volume.tables.long_names, key);
    return removed ? "removed the name" : "";
}

/* A name that leads nowhere, or to a file of another type. */
std::string Mender::mend_name(uint64_t key)
{
    const Tables &tables = open_.volume.tables;
    bool right = false;
    bool leads = client_.call_now(kSelf, [&](Call &call) -> dtx::Task<bool> {
        auto found = co_await call.txn.read(tables.names, key);
        NameRow row = found ? *found : NameRow{};
        auto inode = co_await call.txn.read(tables.inodes, row.ino);

        if (!inode || row.length == 0)
            co_return false;
        right = row.type == inode->mode >> 12; /* two findings may be of one name */
        row.type = static_cast<uint8_t>(inode->mode >> 12);
        (void)co_await call.txn.write(tables.names, key, row);
        co_return true;
    });

    if (!leads)
        return remove_name_row(key);
    return right ? "" : "gave it the type of its file";
}

/* A name that has not the key of its hash. */
std::string Mender::move_name(uint64_t key)
{
    const Tables &tables = open_.volume.tables;
    bool moved = client_.call_now(kSelf, [&](Call &call) -> dtx::Task<bool> {
        auto row = co_await call.txn.read(tables.names, key);
        auto tail = co_await call.txn.read(tables.long_names, key);

        if (!row || fault_of(*row) != nullptr || (row->length > kHeadBytes && !tail))
            co_return false;

        std::string name = name_in(*row, tail ? *tail : LongNameRow{});

        if (!is_name(name))
            co_return false;

        Place place = co_await find_name(call, upper_half(key), name);

        if (place.is_taken() || place.key == 0)
            co_return false;
        (void)co_await call.txn.erase(tables.names, key);
        if (tail)
            (void)co_await call.txn.erase(tables.long_names, key);
        co_await add_name(call, place, name, row->ino, uint32_t{ row->type } << 12);
        co_return true;
    });

    return moved ? "moved it to the key of its hash" : remove_name_row(key);
}

/* A piece of a target that no link has. Of a link, its size may be damaged. */
std::string Mender::mend_target(const Wrong &wrong)
{
    bool linked = client_.call_now(kSelf, [&](Call &call) -> dtx::Task<bool> {
        auto inode = co_await call.txn.read(call.tables().inodes, wrong.key);

        bool is_link = inode && S_ISLNK(inode->mode);

        co_return is_link;
    });

    return !linked && erase(open_.volume.tables.blobs, wrong.more) ? "removed the piece" : "";
}

/* A piece of attributes that its file does not count. If the file counts none at all, that may be
 * what is wrong, unless the piece is empty. */
std::string Mender::mend_xattrs(const Wrong &wrong)
{
    bool superfluous = client_.call_now(kSelf, [&](Call &call) -> dtx::Task<bool> {
        auto inode = co_await call.txn.read(call.tables().inodes, wrong.key);
        auto piece = co_await call.txn.read(call.tables().blobs, wrong.more);
        bool empty = piece && std::all_of(std::begin(piece->bytes), std::end(piece->bytes),
                                          [](char byte) { return byte == 0; });

        co_return !inode || inode->xattr_bytes != 0 || empty;
    });

    return superfluous && erase(open_.volume.tables.blobs, wrong.more) ? "removed the piece" : "";
}

/* No client has the volume open, so no lock is held. */
std::string Mender::drop_locks()
{
    const Tables &tables = open_.volume.tables;
    std::vector<uint64_t> locks = keys_of(tables.locks);
    std::vector<uint64_t> locked = keys_of(tables.locked_files);

    for (uint64_t key : locks)
        (void)erase(tables.locks, key);
    for (uint64_t key : locked)
        (void)erase(tables.locked_files, key);
    return locks.empty() && locked.empty() ? "" : "removed all locks, which no client has";
}

std::string Mender::mend_row(const Wrong &wrong)
{
    const Tables &tables = open_.volume.tables;
    const char *removed = "removed the row";

    switch (wrong.kind) {
    case Kind::bad_name:
    case Kind::dangling_name:
        return mend_name(wrong.key);
    case Kind::misplaced_name:
        return move_name(wrong.key);
    case Kind::homeless_name:
    case Kind::impossible_name:
    case Kind::no_tail:
        return remove_name_row(wrong.key);
    case Kind::tail_of_short:
    case Kind::tail_of_none:
        return erase(tables.long_names, wrong.key) ? removed : "";
    case Kind::bad_orphan:
        return erase(tables.orphans, wrong.more) ? removed : "";
    case Kind::orphan_client:
        return change(tables.orphans, wrong.more,
                      [](OrphanRow &row) {
                          for (uint32_t c = kClientsMax; c < 128; c++)
                              row.clients.remove(c);
                      })
                   ? "removed the client from the row in orphans"
                   : "";
    case Kind::map_of_none:
    case Kind::map_behind:
    case Kind::empty_map:
        return erase(tables.maps, wrong.more) ? removed : "";
    case Kind::second_pointer:
        return change(tables.maps, wrong.other, [&](MapRow &row) { row.pointers[wrong.more] = {}; })
                   ? "removed the pointer in the row of maps"
                   : "";
    case Kind::target_of_none:
        return mend_target(wrong);
    case Kind::xattrs_of_none:
        return mend_xattrs(wrong);
    case Kind::bad_slab:
        return erase(tables.slabs, wrong.key) ? removed : "";
    case Kind::slab_client:
        return change(tables.slabs, wrong.key, [](SlabRow &row) { row.owner = 0; })
                   ? "removed the owner of the slab"
                   : "";
    default:
        return drop_locks();
    }
}

std::string Mender::mend_count(const Wrong &wrong)
{
    bool changed = change(open_.volume.tables.inodes, wrong.key, [&](InodeRow &row) {
        if (wrong.kind == Kind::wrong_entries)
            row.size = wrong.more;
        else if (wrong.kind == Kind::wrong_subdirs)
            row.links = static_cast<uint32_t>(2 + wrong.more);
        else
            row.blocks = wrong.more;
    });

    return changed ? "set the count" : "";
}

std::string Mender::mend_bit(const Wrong &wrong)
{
    const Tables &tables = open_.volume.tables;
    uint64_t bit = 1ull << wrong.more % 64;
    uint64_t word = wrong.more % kSlabBlocks / 64;
    bool lost = wrong.kind == Kind::lost_block;

    if (lost && !frees_)
        return "";
    client_.call_now(kSelf, [&](Call &call) -> dtx::Task<> {
        auto found = co_await call.txn.read(tables.slabs, wrong.key);
        SlabRow row = found ? *found : SlabRow{};

        row.used[word] = lost ? row.used[word] & ~bit : row.used[word] | bit;
        if (found)
            (void)co_await call.txn.write(tables.slabs, wrong.key, row);
        else
            (void)co_await add_row(call, tables.slabs, wrong.key, row);
    });
    return lost ? "freed it" : "marked it as in use";
}

} // namespace rfs
