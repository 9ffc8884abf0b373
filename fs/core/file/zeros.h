/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zeros.h: parts of blocks become zeros, within a call: in new blocks, as a write does it.
 *
 * Tests: tests/unit/fs/file/allocate_test.cpp, resize_test.cpp
 */
#ifndef FS_CORE_FILE_ZEROS_H
#define FS_CORE_FILE_ZEROS_H

#include "core/file/block_map.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rfs
{

/* Bytes @from to @to - 1 of block @number of a file. */
struct Part {
    uint64_t number;
    size_t from;
    size_t to;
};

/* Awaited: those of @parts that may have other bytes than zeros: not in holes and unwritten blocks,
 * nor behind the end of a file of @size bytes. */
dtx::Task<std::vector<Part>> written_parts(BlockMap &map, uint64_t size, std::vector<Part> parts);

/* Awaited: make @parts, of written_parts(), zeros. @taken: a new block for each. Adds their former
 * blocks to @freed. Throws dtx::Error, RPM_E_CORRUPT: a block is damaged. */
dtx::Task<> clear_parts(Call &call, uint32_t ino, BlockMap &map, std::vector<Part> parts,
                        std::span<const Pointer> taken, std::vector<Pointer> &freed);

} // namespace rfs
#endif
