/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zeros.cc: read blocks, clear parts of them, and write them elsewhere.
 *
 * Tests: tests/unit/fs/file/allocate_test.cpp, resize_test.cpp
 */
#include "core/file/zeros.h"

#include "core/base/assert.h"
#include "core/file/contents.h"

#include <cstring>

namespace rfs
{

dtx::Task<std::vector<Part>> written_parts(BlockMap &map, uint64_t size, std::vector<Part> parts)
{
    std::vector<Part> written;

    for (const Part &part : parts) {
        co_await map.turn_to(part.number);
        Pointer pointer = map.get(part.number);

        if (!pointer.is_hole() && !pointer.is_unwritten() &&
            part.number * kBlockBytes + part.from < size)
            written.push_back(part);
    }
    co_return written;
}

dtx::Task<> clear_parts(Call &call, uint32_t ino, BlockMap &map, std::vector<Part> parts,
                        std::span<const Pointer> taken, std::vector<Pointer> &freed)
{
    std::vector<unsigned char> bytes(parts.size() * kBlockBytes);
    std::vector<dtx::SpanWrite> writes;

    RFS_ASSERT(taken.size() == parts.size());
    if (parts.empty())
        co_return;
    for (size_t i = 0; i < parts.size(); i++) {
        const Part &part = parts[i];
        unsigned char *at = bytes.data() + i * kBlockBytes;
        Pointer pointer = taken[i];
        co_await map.turn_to(part.number);
        Pointer old = map.get(part.number);

        RFS_ASSERT(part.from < part.to && part.to <= kBlockBytes);
        co_await read_block(call, ino, part.number, old, at);
        std::memset(at + part.from, 0, part.to - part.from);
        pointer.sum = block_sum(ino, part.number, at);
        writes.push_back({ call.tables().blocks, pointer.shard(), pointer.block() * kBlockBytes, at,
                           kBlockBytes });
        freed.push_back(map.set(part.number, pointer));
    }
    co_await call.txn.write_span(writes);
}

} // namespace rfs
