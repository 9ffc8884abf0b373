/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * data.cc: read the blocks of all files, on each copy.
 *
 * Tests: tests/unit/fs/check/check_test.cpp
 */
#include "core/check/check.h"

#include "core/base/assert.h"
#include "core/format/keys.h"
#include <dtx/session.h>

#include <cstring>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace rfs
{

namespace
{

constexpr size_t kBlocksAtOnce = 256;

struct FileBlock {
    uint32_t ino;
    uint64_t number; /* of the block in the file */
    Pointer pointer;
};

} // namespace

/* All blocks that have bytes, in the order of the tables. */
static std::vector<FileBlock> blocks_of_files(const OpenVolume &open)
{
    std::vector<FileBlock> all;
    auto add = [&](uint32_t ino, uint64_t number, const Pointer &pointer) {
        if (number < kFileBlocks && !pointer.is_hole() && !pointer.is_unwritten() &&
            is_sound(pointer, open.volume.shards, open.volume.tables.sizes.blocks()))
            all.push_back({ ino, number, pointer });
    };

    open.cluster->each_row(open.volume.tables.inodes.number, 0,
                           [&](uint64_t key, const void *bytes, size_t) {
                               InodeRow row;

                               std::memcpy(&row, bytes, sizeof(row));
                               for (uint32_t i = 0; S_ISREG(row.mode) && i < kInodePointers; i++)
                                   add(static_cast<uint32_t>(key), i, row.pointers[i]);
                           });
    open.cluster->each_row(
        open.volume.tables.maps.number, 0, [&](uint64_t key, const void *bytes, size_t) {
            MapRow row;

            std::memcpy(&row, bytes, sizeof(row));
            for (uint32_t i = 0; i < kMapPointers; i++)
                add(upper_half(key), uint64_t{ lower_half(key) } * kMapPointers + i,
                    row.pointers[i]);
        });
    return all;
}

/* Awaited: blocks @first to @end - 1 of @all, on copy @copy of their shards, if there is one. */
static dtx::Task<> read_blocks(dtx::Txn &txn, const OpenVolume &open, const FileBlock *first,
                               const FileBlock *end, uint32_t copy,
                               std::vector<unsigned char> &bytes)
{
    std::vector<dtx::SpanRead> reads;

    for (const FileBlock *each = first; each < end; each++)
        if (copy < txn.copies(each->pointer.shard()))
            reads.push_back({ open.volume.tables.blocks, each->pointer.shard(),
                              each->pointer.block() * kBlockBytes,
                              bytes.data() + static_cast<size_t>(each - first) * kBlockBytes,
                              kBlockBytes, copy });
    co_await txn.read_span(reads);
}

dtx::Findings check_data(const OpenVolume &open)
{
    std::vector<FileBlock> all = blocks_of_files(open);
    std::vector<unsigned char> bytes(kBlocksAtOnce * kBlockBytes);
    dtx::Session session(*open.cluster, dtx::kAnyCoordinator);
    dtx::Findings found;

    found.rule("data", "each block has its checksum on each copy");
    for (size_t at = 0; at < all.size(); at += kBlocksAtOnce)
        for (uint32_t copy = 0; copy < open.cluster->options().replicas; copy++) {
            const FileBlock *first = &all[at];
            const FileBlock *end = first + std::min(kBlocksAtOnce, all.size() - at);
            std::vector<uint32_t> copies;

            (void)session.transact_now([&](dtx::Txn &txn) -> dtx::Task<bool> {
                copies.clear();
                for (const FileBlock *each = first; each < end; each++)
                    copies.push_back(txn.copies(each->pointer.shard()));
                co_await read_blocks(txn, open, first, end, copy, bytes);
                co_return true;
            });
            for (const FileBlock *each = first; each < end; each++) {
                size_t i = static_cast<size_t>(each - first);

                if (copy < copies[i])
                    found.add_if(block_sum(each->ino, each->number,
                                           bytes.data() + i * kBlockBytes) != each->pointer.sum,
                                 "data",
                                 "block " + std::to_string(each->number) + " of file " +
                                     std::to_string(each->ino) + " is damaged on copy " +
                                     std::to_string(copy));
            }
        }
    return found;
}

} // namespace rfs
