/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files.cc: lease slabs, run the call, and lease more if they did not suffice.
 *
 * Tests: tests/unit/fs/client/files_test.cpp
 */
#include "core/client/files.h"

#include "core/base/canary.h"
#include "core/file/allocate.h"
#include "core/file/resize.h"
#include "core/file/seek.h"
#include "core/format/keys.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <optional>

namespace rfs
{

static constexpr uint64_t kRunBlocks = 256; /* 1 MiB on one shard, the next on the next shard */
static_assert(kRunBlocks % kAllocateBlocks == 0);

dtx::Task<> finish_cut(Client &client, uint32_t ino)
{
    for (bool done = false; !done;)
        done = co_await client.call(kSelf, [ino](Call &call) { return cut_more(call, ino); });
}

static uint32_t shard_for(const Client &client, uint32_t ino, uint64_t block)
{
    uint32_t shards = client.volume().shards;

    return static_cast<uint32_t>((shard_of(ino, shards) + block / kRunBlocks) % shards);
}

namespace
{

/* Ends an attempt: it takes more blocks than it frees, and only the reserve is left. */
struct Full {
};

} // namespace

static dtx::Task<std::optional<Space::Lease>> lease_or_none(Client &client, uint32_t shard,
                                                            size_t blocks)
{
    try {
        co_return co_await client.space().lease(shard, blocks);
    } catch (const Failure &failure) {
        if (failure.error != ENOSPC)
            throw;
    }
    co_return std::nullopt;
}

/* Awaited: @body, a callable Task<Result>(Call &, const Room &), with room for @blocks blocks, or
 * for as many as it turns out to need. In a full volume it may have the reserve, if it frees as
 * many as it takes. */
template <class Result, class Body>
static dtx::Task<Result> with_room(Client &client, const Credentials &who, uint32_t ino,
                                   uint32_t shard, size_t blocks, Body body)
{
    auto in_room = [&body](Call &call, const Room &room) -> dtx::Task<Result> {
        Result result = co_await body(call, room);

        if (room.reserve && call.freed < call.taken)
            throw Full{};
        co_return result;
    };

    for (;;) {
        std::optional<Space::Lease> lease = co_await lease_or_none(client, shard, blocks);
        bool unfinished = false;
        bool full = !lease;

        try {
            if (lease) {
                const Room &room = lease->room();
                Result result =
                    co_await client.call(who, [&](Call &call) { return in_room(call, room); });

                lease->used(blocks);
                co_return result;
            }
        } catch (const Shortage &shortage) {
            if (shortage.blocks > blocks)
                blocks = shortage.blocks;
            else
                lease->exhausted();
        } catch (const Unfinished &) {
            unfinished = true;
        } catch (const Full &) {
            full = true;
        }
        lease.reset();
        if (unfinished)
            co_await finish_cut(client, ino);
        if (!full)
            continue;

        bool freed = co_await client.reclaim();

        if (!freed)
            freed = co_await client.space().await_share();
        expect(freed, ENOSPC);
    }
}

dtx::Task<Node> write_file(Client &client, const Credentials &who, uint32_t ino, NewBytes bytes)
{
    uint64_t first = bytes.append ? 0 : bytes.offset / kBlockBytes;
    uint32_t shard = shard_for(client, ino, first);
    size_t skip = bytes.append ? kBlockBytes - 1 : bytes.offset % kBlockBytes;
    size_t blocks = (skip + bytes.size + kBlockBytes - 1) / kBlockBytes;
    auto body = [&](Call &call, const Room &room) { return write(call, ino, bytes, room); };

    Node node = co_await with_room<Node>(client, who, ino, shard, blocks, body);

#ifdef RFS_TESTING
    if (canary(Canary::commit_before_data))
        co_await client.call(kSelf, write_late);
#endif
    co_return node;
}

dtx::Task<Node> resize_file(Client &client, const Credentials &who, uint32_t ino, uint64_t size)
{
    uint32_t shard = shard_for(client, ino, 0);
    size_t blocks = size % kBlockBytes != 0 ? 1 : 0;
    auto body = [&](Call &call, const Room &room) { return resize(call, ino, size, room); };
    Node node = co_await with_room<Node>(client, who, ino, shard, blocks, body);

    if (node.row.cut != kNoCut)
        co_await finish_cut(client, ino);
    node.row.cut = kNoCut;
    co_return node;
}

/* Awaited: @step, a callable Task<Step>(Call &, Range, const Room &), until it has gone through the
 * range. What it needs is not known before its first attempt. */
template <class Body>
static dtx::Task<Node> in_steps(Client &client, const Credentials &who, uint32_t ino, Range range,
                                Body step)
{
    auto body = [&](Call &call, const Room &room) { return step(call, range, room); };
    Node node;

    while (range.offset < range.end) {
        uint32_t shard = shard_for(client, ino, range.offset / kBlockBytes);
        Step done = co_await with_room<Step>(client, who, ino, shard, 0, body);

        node = done.node;
        range.offset = done.next;
    }
    co_return node;
}

dtx::Task<Node> allocate_file(Client &client, const Credentials &who, uint32_t ino, int mode,
                              uint64_t offset, uint64_t length)
{
    bool keep_size = (mode & FALLOC_FL_KEEP_SIZE) != 0;
    auto step = [&](Call &call, Range rest, const Room &room) {
        if ((mode & FALLOC_FL_PUNCH_HOLE) != 0)
            return punch(call, ino, rest, room);
        if ((mode & FALLOC_FL_ZERO_RANGE) != 0)
            return zero_range(call, ino, rest, keep_size, room);
        return allocate(call, ino, rest, keep_size, room);
    };

    expect_allocation(mode, offset, length);
    co_return co_await in_steps(client, who, ino, { offset, offset + length }, step);
}

dtx::Task<uint64_t> seek_file(Client &client, const Credentials &who, uint32_t ino, uint64_t offset,
                              int what)
{
    Sought at{ offset, false };
    auto body = [&](Call &call) { return seek(call, ino, at.offset, what); };

    while (!at.found)
        at = co_await client.call(who, body);
    co_return at.offset;
}

dtx::Task<> free_file(Client &client, uint32_t ino)
{
    for (bool done = false; !done;)
        done = co_await client.call(kSelf, [ino](Call &call) { return free_orphan(call, ino); });
}

} // namespace rfs
