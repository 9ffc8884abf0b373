/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * block_map.cc: rows of the table maps.
 *
 * Tests: tests/unit/fs/file/contents_test.cpp, resize_test.cpp, allocate_test.cpp
 */
#include "core/file/block_map.h"

#include "core/base/assert.h"
#include "core/format/keys.h"

#include <algorithm>
#include <cerrno>
#include <sys/stat.h>
#include <utility>

namespace rfs
{

static uint64_t map_key(uint32_t ino, uint64_t block)
{
    RFS_ASSERT(block < kFileBlocks);
    return key_of(ino, static_cast<uint32_t>(block / kMapPointers));
}

RowName row_with(uint32_t ino, uint64_t block)
{
    return block < kInodePointers ? file_row(ino) : RowName{ "maps", map_key(ino, block) };
}

void BlockMap::expect_sound(uint64_t block, const Pointer &pointer) const
{
    need(is_sound(pointer, call_.volume.shards, call_.tables().sizes.blocks()),
         row_with(node_.ino, block), "a pointer leads to no block of the volume");
}

bool BlockMap::has(uint64_t block) const
{
    return block < kInodePointers || key_ == map_key(node_.ino, block);
}

BlockMap::Turn BlockMap::turn_to(uint64_t block)
{
    RFS_ASSERT(S_ISREG(node_.row.mode));
    if (has(block))
        return {};
    return { take_row(map_key(node_.ino, block)) };
}

/* Makes row_ the row with that key. */
dtx::Task<> BlockMap::take_row(uint64_t key)
{
    co_await put_rows();
    auto found = co_await call_.txn.read(call_.tables().maps, key);

    key_ = key;
    exists_ = found.has_value();
    row_ = found.value_or(MapRow{});
}

Pointer BlockMap::get(uint64_t block) const
{
    RFS_ASSERT(has(block));

    Pointer pointer =
        block < kInodePointers ? node_.row.pointers[block] : row_.pointers[block % kMapPointers];

    expect_sound(block, pointer);
    return pointer;
}

Pointer BlockMap::set(uint64_t block, Pointer pointer)
{
    Pointer old = get(block);
    bool in_row = block >= kInodePointers;

    (in_row ? row_.pointers[block % kMapPointers] : node_.row.pointers[block]) = pointer;
    need(old.is_hole() || node_.row.blocks > 0, file_row(node_.ino),
         "it has more blocks than it counts");
    node_.row.blocks += pointer.is_hole() ? 0 : 1;
    node_.row.blocks -= old.is_hole() ? 0 : 1;
    changed_ = changed_ || in_row;
    return old;
}

dtx::Task<> BlockMap::put_rows()
{
    if (!changed_)
        co_return;

    bool empty = std::all_of(row_.pointers.begin(), row_.pointers.end(),
                             [](const Pointer &pointer) { return pointer.is_hole(); });
    bool done = true;

    RFS_ASSERT(key_);
    changed_ = false;
    if (empty && exists_) {
        done = co_await call_.txn.erase(call_.tables().maps, *key_);
    } else if (exists_) {
        done = co_await call_.txn.write(call_.tables().maps, *key_, row_);
    } else if (!empty) {
        done = co_await add_row(call_, call_.tables().maps, *key_, row_);
    }
    need(done, { "maps", *key_ }, "it appeared or disappeared within one transaction");
    exists_ = !empty;
}

dtx::Task<std::vector<BlockMap::Row>> BlockMap::rows(uint64_t from, uint64_t end, uint32_t limit)
{
    std::vector<Row> rows;

    if (from >= end)
        co_return rows;
    auto found = co_await call_.txn.scan(call_.tables().maps, map_key(node_.ino, from),
                                         map_key(node_.ino, end - 1), limit);

    for (const auto &[key, row] : found) {
        rows.push_back({ uint64_t{ lower_half(key) } * kMapPointers, row });
        for (uint32_t i = 0; i < kMapPointers; i++)
            expect_sound(rows.back().first + i, row.pointers[i]);
    }
    co_return rows;
}

dtx::Task<std::optional<uint64_t>> BlockMap::clear(uint64_t from, uint64_t end, uint32_t limit,
                                                   std::vector<Pointer> &freed)
{
    for (uint64_t block = from; block < std::min<uint64_t>(end, kInodePointers); block++)
        freed.push_back(set(block, Pointer{}));
    from = std::max<uint64_t>(from, kInodePointers);
    co_await put_rows();

    std::vector<Row> found = co_await rows(from, end, limit + 1);
    size_t count = std::min<size_t>(found.size(), limit);

    for (size_t i = 0; i < count; i++) {
        uint64_t first = found[i].first;

        co_await turn_to(first + kMapPointers - 1);
        for (uint64_t block = std::max(from, first); block < std::min(end, first + kMapPointers);
             block++)
            freed.push_back(set(block, Pointer{}));
    }
    co_await put_rows();
    if (count == found.size())
        co_return std::nullopt;
    co_return found[count].first;
}

} // namespace rfs
