/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seek.cc: pass blocks that are not of the kind that is sought.
 *
 * Tests: tests/unit/fs/file/seek_test.cpp
 */
#include "core/file/seek.h"

#include "core/file/block_map.h"
#include "core/file/contents.h"

#include <algorithm>
#include <cerrno>
#include <span>
#include <unistd.h>
#include <vector>

namespace rfs
{

static bool has_data(const Pointer &pointer)
{
    return !pointer.is_hole() && !pointer.is_unwritten();
}

/* The first of some pointers that is of data, or is not; their count, if none is. */
static uint64_t first_of(std::span<const Pointer> pointers, bool data)
{
    auto found = std::find_if(pointers.begin(), pointers.end(),
                              [data](const Pointer &pointer) { return data == has_data(pointer); });

    return static_cast<uint64_t>(found - pointers.begin());
}

namespace
{

struct SoughtBlock {
    uint64_t number;
    bool found;
};

} // namespace

/* Awaited: from block @from on, before @end. Found at @end: data end there. */
static dtx::Task<SoughtBlock> seek_block(Call &call, Node &node, uint64_t from, uint64_t end,
                                         bool data)
{
    BlockMap map(call, node);

    for (uint64_t to = std::min<uint64_t>(end, kInodePointers); from < to; from++) {
        co_await map.turn_to(from);

        Pointer pointer = map.get(from);

        if (data == has_data(pointer))
            co_return SoughtBlock{ from, true };
    }
    if (from == end)
        co_return SoughtBlock{ from, !data };

    std::vector<BlockMap::Row> rows = co_await map.rows(from, end, kSeekRows);

    for (const BlockMap::Row &row : rows) {
        uint64_t to = std::min(end, row.first + kMapPointers);

        if (!data && row.first > from)
            co_return SoughtBlock{ from, true };
        from = std::max(from, row.first);
        from += first_of(std::span(row.map.pointers).subspan(from - row.first, to - from), data);
        if (from < to)
            co_return SoughtBlock{ from, true };
    }
    if (rows.size() == kSeekRows && from < end)
        co_return SoughtBlock{ from, false };
    co_return SoughtBlock{ data ? end : from, !data };
}

dtx::Task<Sought> seek(Call &call, uint32_t ino, uint64_t offset, int what)
{
    Node node = co_await held_inode(call, ino);
    bool data = what == SEEK_DATA;

    expect_contents(node);
    expect(data || what == SEEK_HOLE, EINVAL);
    expect(offset < node.row.size, ENXIO);

    uint64_t end = (node.row.size + kBlockBytes - 1) / kBlockBytes;
    SoughtBlock at = co_await seek_block(call, node, offset / kBlockBytes, end, data);
    uint64_t there = std::clamp(at.number * kBlockBytes, offset, node.row.size);

    expect(at.found || at.number < end, ENXIO);
    co_return Sought{ there, at.found };
}

} // namespace rfs
