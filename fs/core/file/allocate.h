/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * allocate.h: fallocate(2): give blocks to a part of a file before it is written, or take them
 * away.
 *
 * What is allocated is unwritten: its pointers lead to blocks, and it reads as zeros. A write puts
 * its bytes into other blocks (contents.h) and frees the unwritten ones; so on a full volume it may
 * still fail.
 *
 * A large range takes several steps, each in a transaction of its own, in the order of the bytes. A
 * step begins where the one before has ended, and leaves a whole file.
 *
 * Invariants
 *   a block behind the file's end is unwritten; resize() frees it, unless the file grows
 *
 * Tests: tests/unit/fs/file/allocate_test.cpp
 */
#ifndef FS_CORE_FILE_ALLOCATE_H
#define FS_CORE_FILE_ALLOCATE_H

#include "core/file/slabs.h"
#include "core/tree/inodes.h"

#include <cstdint>

namespace rfs
{

inline constexpr uint64_t kAllocateBlocks = 256; /* of one step: 8 rows of maps */

/* Throws Failure for what no file can do: EINVAL, no bytes, or more than INT64_MAX; EOPNOTSUPP, a
 * mode other than these: FALLOC_FL_KEEP_SIZE, with it or alone FALLOC_FL_ZERO_RANGE, and with it
 * FALLOC_FL_PUNCH_HOLE. */
void expect_allocation(int mode, uint64_t offset, uint64_t length);

/* Bytes @offset to @end - 1 of a file; at least one. */
struct Range {
    uint64_t offset;
    uint64_t end;
};

/* The file after a step, and the offset at which the next one begins; none, from Range::end on. */
struct Step {
    Node node;
    uint64_t next;
};

/* Awaited: one step. A step by a caller other than user 0 takes the set-ID bits away. @room: as
 * many blocks as the Shortage says that is thrown without them: kAllocateBlocks and 2 at most.
 * Failure: ESTALE, EISDIR; ENODEV, no regular file; EFBIG, behind kFileMax. Throws Shortage,
 * Unfinished; dtx::Error, RPM_E_CORRUPT: a block that is cleared in part is damaged. */

/* Holes get unwritten blocks. The file grows to the end of the step unless @keep_size. */
dtx::Task<Step> allocate(Call &call, uint32_t ino, Range range, bool keep_size, const Room &room);

/* Whole blocks become holes, those of kCutRows rows of maps at most; parts of blocks become zeros,
 * and need a block each. Blocks behind the file's end go as well. */
dtx::Task<Step> punch(Call &call, uint32_t ino, Range range, const Room &room);

/* As allocate(), and the bytes become zeros: whole blocks become unwritten where they are; parts of
 * blocks need a block each. */
dtx::Task<Step> zero_range(Call &call, uint32_t ino, Range range, bool keep_size, const Room &room);

} // namespace rfs
#endif
