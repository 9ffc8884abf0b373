/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mend_links.cc: repair pointers to blocks, and files that have too few names or too many.
 *
 * Tests: tests/unit/fs/check/repair_test.cpp
 */
#include "core/check/mend.h"

#include "core/base/assert.h"
#include "core/format/keys.h"
#include "core/tree/create.h"
#include "core/tree/names.h"

#include <algorithm>
#include <cstring>
#include <sys/stat.h>

namespace rfs
{

static const char *const kLostFound = "lost+found";

Pointer Mender::pointer_at(uint32_t ino, uint64_t number)
{
    return client_.call_now(kSelf, [&](Call &call) -> dtx::Task<Pointer> {
        Pointer pointer{};

        if (number < kInodePointers) {
            auto row = co_await call.txn.read(call.tables().inodes, ino);

            if (row)
                pointer = row->pointers[number];
        } else {
            auto row = co_await call.txn.read(
                call.tables().maps, key_of(ino, static_cast<uint32_t>(number / kMapPointers)));

            if (row)
                pointer = row->pointers[number % kMapPointers];
        }
        co_return pointer;
    });
}

bool Mender::set_pointer(uint32_t ino, uint64_t number, const Pointer &pointer)
{
    const Tables &tables = open_.volume.tables;

    if (number < kInodePointers)
        return change(tables.inodes, ino, [&](InodeRow &row) { row.pointers[number] = pointer; });
    return change(tables.maps, key_of(ino, static_cast<uint32_t>(number / kMapPointers)),
                  [&](MapRow &row) { row.pointers[number % kMapPointers] = pointer; });
}

std::string Mender::block_bytes(uint32_t shard, uint64_t block)
{
    std::string bytes(kBlockBytes, '\0');

    client_.call_now(kSelf, [&](Call &call) -> dtx::Task<> {
        std::vector<dtx::SpanRead> reads{ { call.tables().blocks, shard, block * kBlockBytes,
                                            bytes.data(), kBlockBytes } };

        co_await call.txn.read_span(reads);
    });
    return bytes;
}

/* The pointer is damaged, its checksum may be right: then the block is a lost one. */
std::string Mender::find_block(uint32_t ino, uint64_t number)
{
    Pointer damaged = pointer_at(ino, number);

    for (const auto &[shard, block] : lost_) {
        std::string bytes = block_bytes(shard, block);
        Pointer right = point_to(shard, block);

        right.sum = damaged.sum;
        if (block_sum(ino, number, bytes.data()) == right.sum && set_pointer(ino, number, right))
            return "found its block by the checksum: block " + std::to_string(block) +
                   " of shard " + std::to_string(shard);
    }
    return "";
}

/* A block lies behind the file's end: as e2fsck does, this takes the size to be wrong. */
std::string Mender::lengthen(uint32_t ino, uint64_t number)
{
    uint64_t size = (number + 1) * kBlockBytes;
    bool changed = change(open_.volume.tables.inodes, ino,
                          [&](InodeRow &row) { row.size = std::max(row.size, size); });

    return changed ? "set the size to the end of that block" : "";
}

/* All places with a pointer to that block, as file and number. */
std::vector<std::pair<uint32_t, uint64_t>> Mender::places_of(uint64_t place) const
{
    const Tables &tables = open_.volume.tables;
    std::vector<std::pair<uint32_t, uint64_t>> places;
    uint64_t wanted = place >> 16;
    auto add = [&](uint32_t ino, uint64_t number, const Pointer &pointer) {
        if (!pointer.is_hole() && pointer.place >> 16 == wanted)
            places.emplace_back(ino, number);
    };

    open_.cluster->each_row(tables.inodes.number, 0, [&](uint64_t key, const void *bytes, size_t) {
        InodeRow row;

        std::memcpy(&row, bytes, sizeof(row));
        for (uint32_t i = 0; S_ISREG(row.mode) && i < kInodePointers; i++)
            add(static_cast<uint32_t>(key), i, row.pointers[i]);
    });
    open_.cluster->each_row(tables.maps.number, 0, [&](uint64_t key, const void *bytes, size_t) {
        MapRow row;

        std::memcpy(&row, bytes, sizeof(row));
        for (uint32_t i = 0; i < kMapPointers; i++)
            add(upper_half(key), uint64_t{ lower_half(key) } * kMapPointers + i, row.pointers[i]);
    });
    return places;
}

/* A block of several places belongs to the one that has its checksum. What the others had is not
 * known any more: they get a hole. */
std::string Mender::part_block(const Wrong &wrong)
{
    Pointer shared{ wrong.other, 0 };
    std::string bytes = block_bytes(shared.shard(), shared.block());
    std::vector<std::pair<uint32_t, uint64_t>> others;
    std::string text;
    bool owned = false;

    for (const auto &[ino, number] : places_of(wrong.other)) {
        Pointer pointer = pointer_at(ino, number);

        if (!pointer.is_unwritten() && block_sum(ino, number, bytes.data()) == pointer.sum)
            owned = true;
        else
            others.emplace_back(ino, number);
    }
    for (const auto &[ino, number] : others) {
        if (!owned || !set_pointer(ino, number, {}))
            continue;
        text.append(text.empty() ? "made a hole of block " : ", and of block ");
        text.append(std::to_string(number)).append(" of file ").append(std::to_string(ino));
    }
    return text.empty() ? "" : text + ": the bytes do not have the checksum there";
}

std::string Mender::mend_pointer(const Wrong &wrong)
{
    uint32_t ino = static_cast<uint32_t>(wrong.key);

    if (wrong.kind == Kind::bad_pointer)
        return find_block(ino, wrong.more);
    if (wrong.kind == Kind::pointer_behind)
        return lengthen(ino, wrong.more);
    return part_block(wrong);
}

/* Gives a file a name in lost+found, which is made if there is none. */
std::string Mender::reconnect(uint32_t ino)
{
    std::string name = "#" + std::to_string(ino);
    bool named = client_.call_now(kSelf, [&](Call &call) -> dtx::Task<bool> {
        Place top = co_await find_name(call, kRootIno, kLostFound);
        Wanted wanted{ S_IFDIR | 0700 };

        if (!top.is_taken()) {
            Node made = co_await create(call, kRootIno, kLostFound, wanted);

            top.ino = made.ino;
            top.type = S_IFDIR >> 12;
        }
        if (top.type != S_IFDIR >> 12)
            co_return false;

        Node directory = co_await held_inode(call, top.ino);
        Node file = co_await held_inode(call, ino);
        Place place = co_await find_name(call, top.ino, name);

        if (place.is_taken())
            co_return false;
        co_await add_name(call, place, name, ino, file.row.mode);
        directory.row.size++;
        if (S_ISDIR(file.row.mode)) {
            directory.row.links++;
            file.row.parent = top.ino;
        } else {
            file.row.links = 1;
        }
        touch_contents(call, directory.row);
        co_await put(call, directory);
        co_await put(call, file);
        co_return true;
    });

    return named ? "named it /lost+found/" + name : "";
}

/* A directory that has not one name, in its parent. @wrong: more: its names; other: where the last
 * of them is. */
std::string Mender::mend_parent(const Wrong &wrong)
{
    const Tables &tables = open_.volume.tables;
    uint32_t ino = static_cast<uint32_t>(wrong.key);
    uint32_t parent = static_cast<uint32_t>(wrong.other);
    std::vector<std::pair<uint64_t, bool>> names; /* keys; in the parent? */
    bool kept = false;

    if (ino != kRootIno && wrong.more == 0)
        return reconnect(ino);
    if (ino != kRootIno && wrong.more == 1)
        return change(tables.inodes, ino, [&](InodeRow &row) { row.parent = parent; })
                   ? "stored the directory that has its name as its parent"
                   : "";
    (void)change(tables.inodes, ino, [&](InodeRow &row) {
        if (ino == kRootIno)
            row.parent = kRootIno;
        parent = row.parent;
    });
    open_.cluster->each_row(tables.names.number, 0, [&](uint64_t key, const void *bytes, size_t) {
        NameRow row;

        std::memcpy(&row, bytes, sizeof(row));
        if (row.ino == ino)
            names.emplace_back(key, ino != kRootIno && upper_half(key) == parent);
    });
    for (const auto &[key, right] : names) {
        if (!right || kept)
            (void)remove_name_row(key);
        kept = kept || right;
    }
    return ino == kRootIno ? "removed its names" : "removed its names elsewhere";
}

/* A file that was removed, and has not been freed: a client frees it when it finds the row. */
std::string Mender::add_orphan_row(uint32_t ino)
{
    uint64_t key = key_of(shard_of(ino, open_.volume.shards), ino);
    bool added = client_.call_now(kSelf, [&](Call &call) -> dtx::Task<bool> {
        co_return co_await add_row(call, call.tables().orphans, key, OrphanRow{});
    });

    return added ? "added it to orphans: the next client frees it" : "";
}

std::string Mender::mend_links(const Wrong &wrong)
{
    const Tables &tables = open_.volume.tables;
    uint32_t ino = static_cast<uint32_t>(wrong.key);

    switch (wrong.kind) {
    case Kind::wrong_parent:
        return mend_parent(wrong);
    case Kind::not_orphan:
        return wrong.more == 0 ? add_orphan_row(ino) : "";
    case Kind::named_removed:
        (void)erase(tables.orphans, key_of(shard_of(ino, open_.volume.shards), ino));
        return change(tables.inodes, ino, [](InodeRow &row) { row.links = 2; })
                   ? "set its link count to 2"
                   : "";
    default:
        if (wrong.more == 0)
            return reconnect(ino);
        (void)erase(tables.orphans, key_of(shard_of(ino, open_.volume.shards), ino));
        return change(tables.inodes, ino,
                      [&](InodeRow &row) { row.links = static_cast<uint32_t>(wrong.more); })
                   ? "set the count"
                   : "";
    }
}

} // namespace rfs
