/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resize.cc: truncate, and the freeing of blocks in steps.
 *
 * Tests: tests/unit/fs/file/resize_test.cpp
 */
#include "core/file/resize.h"

#include "core/base/assert.h"
#include "core/base/canary.h"
#include "core/file/block_map.h"
#include "core/file/contents.h"
#include "core/file/zeros.h"
#include "core/format/keys.h"
#include "core/lock/locks.h"
#include "core/tree/orphans.h"
#include "core/tree/permission.h"

#include <cerrno>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace rfs
{

/* Awaited: the bytes of a file's last block behind @size become zeros, in a new block. */
static dtx::Task<> clear_tail(Call &call, Node &node, uint64_t size, const Room &room)
{
    BlockMap map(call, node);
    std::vector<Part> tail{ { size / kBlockBytes, size % kBlockBytes, kBlockBytes } };
    std::vector<Part> parts = co_await written_parts(map, node.row.size, std::move(tail));
    std::vector<Pointer> taken = co_await take_blocks(call, room, parts.size());
    std::vector<Pointer> freed;

    co_await clear_parts(call, node.ino, map, std::move(parts), taken, freed);
    co_await map.put_rows();
    co_await free_blocks(call, std::move(freed));
}

/* Awaited: frees blocks from @from on, those of kCutRows rows at most, and notes in the inode where
 * that ended. */
static dtx::Task<> cut(Call &call, Node &node, uint64_t from)
{
    BlockMap map(call, node);
    std::vector<Pointer> freed;
    auto left = co_await map.clear(from, kFileBlocks, kCutRows, freed);

    co_await free_blocks(call, std::move(freed));
    node.row.cut = canary(Canary::cut_forgets) ? kNoCut : left.value_or(kNoCut);
}

dtx::Task<Node> resize(Call &call, uint32_t ino, uint64_t size, const Room &room)
{
    Node node = co_await held_inode(call, ino);

    expect_contents(node);
    expect(size <= kFileMax, EFBIG);
    if (node.row.cut != kNoCut)
        throw Unfinished{};
    if (size <= node.row.size && node.row.blocks > 0) {
        if (size % kBlockBytes != 0)
            co_await clear_tail(call, node, size, room);
        co_await cut(call, node, (size + kBlockBytes - 1) / kBlockBytes);
    }
    node.row.size = size;
    if (call.who.uid != 0)
        drop_set_ids(node.row);
    touch_contents(call, node.row);
    co_await put(call, node);
    co_return node;
}

dtx::Task<bool> cut_more(Call &call, uint32_t ino)
{
    Node node = co_await held_inode(call, ino);

    if (node.row.cut == kNoCut)
        co_return true;
    co_await cut(call, node, node.row.cut);
    co_await put(call, node);
    co_return node.row.cut == kNoCut;
}

/* Awaited: erases all rows of a file in the table blobs, with the inode that counts them, in one
 * step: 64 KiB of attributes and a target are 146 rows at most. */
static dtx::Task<> erase_blobs(Call &call, uint32_t ino)
{
    auto found =
        co_await call.txn.scan(call.tables().blobs, key_of(ino, 0), key_of(ino, UINT32_MAX));

    for (const auto &[key, row] : found) {
        bool erased = co_await call.txn.erase(call.tables().blobs, key);

        need(erased, { "blobs", key }, "it was read, but is missing now");
    }
}

dtx::Task<bool> free_orphan(Call &call, uint32_t ino)
{
    uint64_t orphan = key_of(shard_of(ino, call.volume.shards), ino);
    auto row = co_await call.txn.read(call.tables().inodes, ino);
    Node node{ ino, {} };
    bool held = false;

    if (!row || row->links != 0)
        co_return true;
    held = co_await is_held(call, ino);
    if (held)
        co_return true;
    need_sound(fault_of(*row), file_row(ino));
    node.row = *row;
    if (S_ISREG(node.row.mode)) {
        co_await cut(call, node, 0);
        if (node.row.cut != kNoCut) {
            co_await put(call, node);
            co_return false;
        }
    }

    co_await erase_blobs(call, ino);
    co_await drop_all_locks(call, ino);

    bool erased = co_await call.txn.erase(call.tables().inodes, ino);

    need(erased, file_row(ino), "it was read, but is missing now");
    erased = co_await call.txn.erase(call.tables().orphans, orphan);
    need(erased, { "orphans", orphan }, "it does not exist, and the file has no names");
    co_return true;
}

} // namespace rfs
