/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * allocate.cc: steps over the map of a file.
 *
 * Tests: tests/unit/fs/file/allocate_test.cpp
 */
#include "core/file/allocate.h"

#include "core/base/assert.h"
#include "core/file/block_map.h"
#include "core/file/contents.h"
#include "core/file/resize.h"
#include "core/file/zeros.h"
#include "core/tree/permission.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <span>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace rfs
{

void expect_allocation(int mode, uint64_t offset, uint64_t length)
{
    int what = mode & ~FALLOC_FL_KEEP_SIZE;

    expect(length > 0 && length <= INT64_MAX && offset <= INT64_MAX, EINVAL);
    expect(what == 0 || what == FALLOC_FL_ZERO_RANGE || what == FALLOC_FL_PUNCH_HOLE, EOPNOTSUPP);
    expect(what != FALLOC_FL_PUNCH_HOLE || what != mode, EOPNOTSUPP);
}

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

/* Awaited: the file that a step changes. */
static dtx::Task<Node> file_to_change(Call &call, uint32_t ino, Range range)
{
    Node node = co_await held_inode(call, ino);

    RFS_ASSERT(range.offset < range.end);
    expect(!S_ISDIR(node.row.mode), EISDIR);
    expect(S_ISREG(node.row.mode), ENODEV);
    expect(range.end <= kFileMax, EFBIG);
    if (node.row.cut != kNoCut)
        throw Unfinished{};
    co_return node;
}

/* Awaited: writes the file that a step has changed. */
static dtx::Task<Step> end_step(Call &call, Node node, uint64_t next)
{
    if (call.who.uid != 0)
        drop_set_ids(node.row);
    touch_contents(call, node.row);
    co_await put(call, node);
    co_return Step{ node, next };
}

/* What one step allocates of a range: up to the next multiple of kAllocateBlocks. */
static Range first_step(Range range)
{
    constexpr uint64_t kStepBytes = kAllocateBlocks * kBlockBytes;

    return { range.offset, std::min(range.end, (range.offset / kStepBytes + 1) * kStepBytes) };
}

/* What becomes zeros: behind the file's end are zeros already, so a range that ends there ends with
 * a whole block. */
static Range without_tail(Range range, const InodeRow &row)
{
    return { range.offset, range.end >= row.size ? round_up(range.end) : range.end };
}

/* The blocks that lie in a range in part. */
static std::vector<Part> parts_of(Range range)
{
    uint64_t first = range.offset / kBlockBytes;
    uint64_t last = range.end / kBlockBytes;
    size_t from = range.offset % kBlockBytes;
    size_t to = range.end % kBlockBytes;
    std::vector<Part> parts;

    if (first == last) {
        parts.push_back({ first, from, to });
        return parts;
    }
    if (from != 0)
        parts.push_back({ first, from, kBlockBytes });
    if (to != 0)
        parts.push_back({ last, 0, to });
    return parts;
}

/* Awaited: the holes among the blocks that lie in a range, wholly or in part. */
static dtx::Task<std::vector<uint64_t>> holes_in(BlockMap &map, Range range)
{
    std::vector<uint64_t> holes;

    for (uint64_t number = range.offset / kBlockBytes; number * kBlockBytes < range.end; number++) {
        co_await map.turn_to(number);
        Pointer pointer = map.get(number);

        if (pointer.is_hole())
            holes.push_back(number);
    }
    co_return holes;
}

static Pointer unwritten(const Pointer &pointer)
{
    return point_to(pointer.shard(), pointer.block(), Pointer::kUnwritten);
}

/* Awaited: give holes unwritten blocks. @taken: a new block for each. */
static dtx::Task<> fill_holes(BlockMap &map, std::vector<uint64_t> holes,
                              std::span<const Pointer> taken)
{
    RFS_ASSERT(taken.size() == holes.size());
    for (size_t i = 0; i < holes.size(); i++) {
        co_await map.turn_to(holes[i]);
        (void)map.set(holes[i], unwritten(taken[i]));
    }
}

dtx::Task<Step> allocate(Call &call, uint32_t ino, Range range, bool keep_size, const Room &room)
{
    Node node = co_await file_to_change(call, ino, range);
    Range step = first_step(range);
    BlockMap map(call, node);
    std::vector<uint64_t> holes = co_await holes_in(map, step);
    std::vector<Pointer> taken = co_await take_blocks(call, room, holes.size());

    co_await fill_holes(map, std::move(holes), taken);
    co_await map.put_rows();
    if (!keep_size)
        node.row.size = std::max(node.row.size, step.end);
    co_return co_await end_step(call, node, step.end);
}

dtx::Task<Step> punch(Call &call, uint32_t ino, Range range, const Room &room)
{
    Node node = co_await file_to_change(call, ino, range);
    Range step = without_tail(range, node.row);
    BlockMap map(call, node);
    std::vector<Pointer> freed;
    auto left = co_await map.clear(round_up(step.offset) / kBlockBytes, step.end / kBlockBytes,
                                   kCutRows, freed);

    if (left)
        step.end = *left * kBlockBytes;

    std::vector<Part> inside = parts_of(step);
    std::vector<Part> parts = co_await written_parts(map, node.row.size, std::move(inside));
    std::vector<Pointer> taken = co_await take_blocks(call, room, parts.size());

    co_await clear_parts(call, ino, map, std::move(parts), taken, freed);
    co_await map.put_rows();
    co_await free_blocks(call, std::move(freed));
    co_return co_await end_step(call, node, step.end);
}

dtx::Task<Step> zero_range(Call &call, uint32_t ino, Range range, bool keep_size, const Room &room)
{
    Node node = co_await file_to_change(call, ino, range);
    Range step = first_step(range);
    Range zeros = without_tail(step, node.row);
    BlockMap map(call, node);
    std::vector<uint64_t> holes = co_await holes_in(map, step);
    std::vector<Part> inside = parts_of(zeros);
    std::vector<Part> parts = co_await written_parts(map, node.row.size, std::move(inside));
    std::vector<Pointer> taken = co_await take_blocks(call, room, holes.size() + parts.size());
    std::span<const Pointer> for_holes(taken.data(), holes.size());
    std::span<const Pointer> for_parts(taken.data() + holes.size(), parts.size());
    std::vector<Pointer> freed;

    co_await fill_holes(map, std::move(holes), for_holes);
    co_await clear_parts(call, ino, map, std::move(parts), for_parts, freed);
    for (uint64_t number = round_up(zeros.offset) / kBlockBytes; number < zeros.end / kBlockBytes;
         number++) {
        co_await map.turn_to(number);
        (void)map.set(number, unwritten(map.get(number)));
    }
    co_await map.put_rows();
    co_await free_blocks(call, std::move(freed));
    if (!keep_size)
        node.row.size = std::max(node.row.size, step.end);
    co_return co_await end_step(call, node, step.end);
}

} // namespace rfs
