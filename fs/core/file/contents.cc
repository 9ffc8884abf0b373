/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * contents.cc: blocks between a caller's memory and the span of the volume.
 *
 * Tests: tests/unit/fs/file/contents_test.cpp
 */
#include "core/file/contents.h"

#include "core/base/assert.h"
#include "core/base/canary.h"
#include "core/file/block_map.h"
#include "core/tree/permission.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace rfs
{

static const char *const kDamaged = "a block differs from its checksum on all copies";

void expect_contents(const Node &node)
{
    expect(!S_ISDIR(node.row.mode), EISDIR);
    expect(S_ISREG(node.row.mode), EINVAL);
}

namespace
{

using Block = std::array<unsigned char, kBlockBytes>;

/* A block that a call reads or writes, and the memory for it. */
struct Piece {
    uint64_t number; /* in the file */
    Pointer pointer;
    unsigned char *bytes;
};

/* Whole blocks in place of the first and of the last block of a call, of which the call has only a
 * part. */
class Edges
{
  public:
    unsigned char *add(unsigned char *part, size_t from, size_t bytes)
    {
        edges_.reserve(2); /* so that the blocks stay where they are */
        edges_.push_back({ part, from, bytes, {} });
        return edges_.back().block.data();
    }
    /* Copies the parts of blocks that were read to where the caller wants them. */
    void copy_out() const
    {
        for (const Edge &edge : edges_)
            std::memcpy(edge.part, edge.block.data() + edge.from, edge.bytes);
    }

  private:
    struct Edge {
        unsigned char *part; /* in the caller's memory */
        size_t from;         /* in the block */
        size_t bytes;
        Block block;
    };

    std::vector<Edge> edges_;
};

} // namespace

static uint64_t span_offset(const Pointer &pointer)
{
    return pointer.block() * kBlockBytes;
}

/* Do two blocks follow each other in the span and in memory? */
static bool follows(const Piece &first, const Piece &second)
{
    return first.pointer.shard() == second.pointer.shard() &&
           first.pointer.block() + 1 == second.pointer.block() &&
           first.bytes + kBlockBytes == second.bytes;
}

/* Calls @take(first piece, bytes) for each run of blocks that lie behind each other. */
template <class Take> static void for_each_run(const std::vector<Piece> &pieces, Take take)
{
    for (size_t i = 0, end; i < pieces.size(); i = end) {
        for (end = i + 1; end < pieces.size() && follows(pieces[end - 1], pieces[end]);)
            end++;
        take(pieces[i], (end - i) * kBlockBytes);
    }
}

/* Awaited: read the blocks from one copy of their shards. Leaves in @pieces those that differ from
 * their checksums. */
static dtx::Task<> read_copy(Call &call, uint32_t ino, uint32_t copy, std::vector<Piece> &pieces)
{
    std::vector<dtx::SpanRead> reads;

    for_each_run(pieces, [&](const Piece &first, size_t bytes) {
        uint32_t shard = first.pointer.shard();

        reads.push_back({ call.tables().blocks, shard, span_offset(first.pointer), first.bytes,
                          bytes, std::min(copy, call.txn.copies(shard) - 1) });
    });
    co_await call.txn.read_span(reads);
    std::erase_if(pieces, [ino](const Piece &piece) {
        return block_sum(ino, piece.number, piece.bytes) == piece.pointer.sum;
    });
}

static uint32_t most_copies(const Call &call, const std::vector<Piece> &pieces)
{
    uint32_t copies = 1;

    for (const Piece &piece : pieces)
        copies = std::max(copies, call.txn.copies(piece.pointer.shard()));
    return copies;
}

/* Awaited: read blocks, each from the first copy on which it is whole. */
static dtx::Task<> read_pieces(Call &call, uint32_t ino, std::vector<Piece> pieces)
{
    co_await read_copy(call, ino, 0, pieces);
    for (uint32_t copy = 1; copy < most_copies(call, pieces); copy++)
        co_await read_copy(call, ino, copy, pieces);
    if (!pieces.empty())
        damaged(row_with(ino, pieces[0].number), kDamaged);
}

dtx::Task<> read_block(Call &call, uint32_t ino, uint64_t number, Pointer pointer, void *into)
{
    auto bytes = static_cast<unsigned char *>(into);

    if (pointer.is_hole() || pointer.is_unwritten()) {
        std::memset(bytes, 0, kBlockBytes);
        co_return;
    }
    std::vector<Piece> pieces{ { number, pointer, bytes } };

    co_await read_pieces(call, ino, std::move(pieces));
}

dtx::Task<size_t> read(Call &call, uint32_t ino, uint64_t offset, void *into, size_t size)
{
    Node node = co_await held_inode(call, ino);
    auto bytes = static_cast<unsigned char *>(into);
    std::vector<Piece> pieces;
    Edges edges;

    RFS_ASSERT(size <= kCallBytesMax);
    expect_contents(node);
    if (offset >= node.row.size || size == 0)
        co_return 0;
    size = std::min<uint64_t>(size, node.row.size - offset);

    BlockMap map(call, node);
    uint64_t first = offset / kBlockBytes;
    uint64_t last = (offset + size - 1) / kBlockBytes;
    size_t skip = offset % kBlockBytes;

    pieces.reserve(last - first + 1);
    for (uint64_t number = first; number <= last; number++) {
        co_await map.turn_to(number);
        Pointer pointer = map.get(number);
        uint64_t from = number == first ? skip : 0;
        uint64_t to = std::min<uint64_t>(kBlockBytes, offset + size - number * kBlockBytes);
        bool whole = to - from == kBlockBytes;
        unsigned char *at = bytes + (number * kBlockBytes + from - offset);

        if (pointer.is_hole() || pointer.is_unwritten())
            std::memset(at, 0, to - from);
        else
            pieces.push_back({ number, pointer, whole ? at : edges.add(at, from, to - from) });
    }
    if (!pieces.empty())
        co_await read_pieces(call, ino, std::move(pieces));
    edges.copy_out();
    co_return size;
}

/* Awaited: write blocks to all copies of their shards, durable, in one round trip. */
static dtx::Task<> write_pieces(Call &call, const std::vector<Piece> &pieces)
{
    std::vector<dtx::SpanWrite> writes;

    for_each_run(pieces, [&](const Piece &first, size_t bytes) {
        writes.push_back({ call.tables().blocks, first.pointer.shard(), span_offset(first.pointer),
                           first.bytes, bytes });
    });
    co_await call.txn.write_span(writes);
}

#ifdef RFS_TESTING
static std::vector<std::pair<Piece, Block>> late_pieces; /* of the canary commit_before_data */

dtx::Task<> write_late(Call &call)
{
    std::vector<Piece> pieces;

    for (auto &[piece, bytes] : late_pieces)
        pieces.push_back({ piece.number, piece.pointer, bytes.data() });
    co_await write_pieces(call, pieces);
    late_pieces.clear();
}
#endif

/* Awaited: write blocks before pointers to them are committed. */
static dtx::Task<> write_first(Call &call, const std::vector<Piece> &pieces)
{
#ifdef RFS_TESTING
    if (canary(Canary::commit_before_data)) {
        late_pieces.clear();
        for (const Piece &piece : pieces)
            std::memcpy(late_pieces.emplace_back(piece, Block{}).second.data(), piece.bytes,
                        kBlockBytes);
        co_return;
    }
#endif
    co_await write_pieces(call, pieces);
}

dtx::Task<Node> write(Call &call, uint32_t ino, NewBytes bytes, const Room &room)
{
    Node node = co_await held_inode(call, ino);
    std::vector<Piece> pieces;
    std::vector<Pointer> freed;
    Edges edges;

    RFS_ASSERT(bytes.size > 0 && bytes.size <= kCallBytesMax);
    expect_contents(node);
    if (node.row.cut != kNoCut)
        throw Unfinished{};

    uint64_t offset = bytes.append ? node.row.size : bytes.offset;

    expect(offset <= kFileMax && bytes.size <= kFileMax - offset, EFBIG);

    BlockMap map(call, node);
    uint64_t first = offset / kBlockBytes;
    uint64_t last = (offset + bytes.size - 1) / kBlockBytes;
    std::vector<Pointer> taken = co_await take_blocks(call, room, last - first + 1);

    pieces.reserve(taken.size());
    freed.reserve(taken.size());
    for (uint64_t number = first; number <= last; number++) {
        uint64_t from = number == first ? offset % kBlockBytes : 0;
        uint64_t to = std::min<uint64_t>(kBlockBytes, offset + bytes.size - number * kBlockBytes);
        auto at = static_cast<const unsigned char *>(bytes.bytes) +
                  (number * kBlockBytes + from - offset);
        Piece piece{ number, taken[number - first], const_cast<unsigned char *>(at) };

        co_await map.turn_to(number);
        if (to - from != kBlockBytes) {
            piece.bytes = edges.add(piece.bytes, from, to - from);
            co_await read_block(call, ino, number, map.get(number), piece.bytes);
            std::memcpy(piece.bytes + from, at, to - from);
        }
        piece.pointer.sum = block_sum(ino, number, piece.bytes);

        Pointer former = map.set(number, piece.pointer);

        if (canary(Canary::reuse_early) && !former.is_hole() && !former.is_unwritten()) {
            std::swap(piece.pointer.place, former.place);
            (void)map.set(number, piece.pointer);
        }
        freed.push_back(former);
        pieces.push_back(piece);
    }
    co_await write_first(call, pieces);
    co_await map.put_rows();
    co_await free_blocks(call, std::move(freed));
    node.row.size = std::max(node.row.size, offset + bytes.size);
    if (call.who.uid != 0)
        drop_set_ids(node.row);
    touch_contents(call, node.row);
    co_await put(call, node);
    co_return node;
}

} // namespace rfs
