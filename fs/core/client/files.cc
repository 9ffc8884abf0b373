/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files.cc: lease slabs, run the call, and lease more if they did not suffice.
 *
 * Tests: tests/unit/fs/client/files_test.cpp
 */
#include "core/client/files.h"

#include "core/file/resize.h"
#include "core/format/keys.h"

namespace rfs
{

static constexpr uint64_t kRunBlocks = 256; /* 1 MiB on one shard, the next on the next shard */

dtx::Task<> finish_cut(Client &client, uint32_t ino)
{
    for (bool done = false; !done;)
        done = co_await client.call(kSelf, [ino](Call &call) { return cut_more(call, ino); });
}

/* Awaited: @body, a callable Task<Node>(Call &, const Room &), with room for @blocks blocks. */
template <class Body>
static dtx::Task<Node> with_room(Client &client, const Credentials &who, uint32_t ino,
                                 uint32_t shard, size_t blocks, Body body)
{
    for (;;) {
        Space::Lease lease = co_await client.space().lease(shard, blocks);
        bool unfinished = false;

        try {
            Node node =
                co_await client.call(who, [&](Call &call) { return body(call, lease.room()); });

            lease.used(blocks);
            co_return node;
        } catch (const Shortage &) {
            lease.exhausted();
        } catch (const Unfinished &) {
            unfinished = true;
        }
        if (unfinished)
            co_await finish_cut(client, ino);
    }
}

dtx::Task<Node> write_file(Client &client, const Credentials &who, uint32_t ino, NewBytes bytes)
{
    uint32_t shards = client.volume().shards;
    uint64_t first = bytes.append ? 0 : bytes.offset / kBlockBytes;
    uint32_t shard = static_cast<uint32_t>((shard_of(ino, shards) + first / kRunBlocks) % shards);
    size_t skip = bytes.append ? kBlockBytes - 1 : bytes.offset % kBlockBytes;
    size_t blocks = (skip + bytes.size + kBlockBytes - 1) / kBlockBytes;
    auto body = [&](Call &call, const Room &room) { return write(call, ino, bytes, room); };

    co_return co_await with_room(client, who, ino, shard, blocks, body);
}

dtx::Task<Node> resize_file(Client &client, const Credentials &who, uint32_t ino, uint64_t size)
{
    uint32_t shard = shard_of(ino, client.volume().shards);
    size_t blocks = size % kBlockBytes != 0 ? 1 : 0;
    auto body = [&](Call &call, const Room &room) { return resize(call, ino, size, room); };
    Node node = co_await with_room(client, who, ino, shard, blocks, body);

    if (node.row.cut != kNoCut)
        co_await finish_cut(client, ino);
    node.row.cut = kNoCut;
    co_return node;
}

dtx::Task<> free_file(Client &client, uint32_t ino)
{
    for (bool done = false; !done;)
        done = co_await client.call(kSelf, [ino](Call &call) { return free_orphan(call, ino); });
}

} // namespace rfs
