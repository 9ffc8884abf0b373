/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * contents.h: read and write the contents of a file within a call.
 *
 * A block to which a committed pointer leads is never overwritten: a write puts the new bytes into
 * free blocks, on all copies and durable, and then commits pointers to them. So other clients see a
 * write as a whole or not at all. A read gets the blocks and then validates the pointers, in the
 * commit: while a pointer stays as it is, no client writes its block.
 *
 * Bytes of a file's last block behind its end are zeros.
 *
 * Tests: tests/unit/fs/file/contents_test.cpp
 */
#ifndef FS_CORE_FILE_CONTENTS_H
#define FS_CORE_FILE_CONTENTS_H

#include "core/file/slabs.h"
#include "core/tree/inodes.h"

#include <cstddef>
#include <cstdint>

namespace rfs
{

inline constexpr size_t kCallBytesMax = 1 << 20; /* read or written by one call */

/* Throws Failure unless a file has contents: EISDIR; EINVAL, it is no regular file. */
void expect_contents(const Node &node);

/* Ends an attempt: the file was cut, and not all its blocks behind the cut are free yet. The caller
 * finishes that first (resize.h). */
struct Unfinished {
};

/* What to write: @offset is ignored for an append, which writes behind the end. */
struct NewBytes {
    uint64_t offset;
    const void *bytes; /* borrowed until the write has been awaited */
    size_t size;       /* 1 to kCallBytesMax */
    bool append = false;
};

/* Awaited: write. Returns the file as it is then. A write by a caller other than user 0 takes the
 * set-ID bits away. @room: a free block for each block that the bytes touch. Failure: that of
 * expect_contents(); EFBIG, the file would be larger than kFileMax; ENOSPC. Throws Shortage,
 * Unfinished; dtx::Error, RPM_E_CORRUPT: a block that is written in part is damaged. */
dtx::Task<Node> write(Call &call, uint32_t ino, NewBytes bytes, const Room &room);

#ifdef RFS_TESTING
/* Awaited: of the canary commit_before_data: write the blocks that write() has left out. */
dtx::Task<> write_late(Call &call);
#endif

/* Awaited: read up to @size bytes, kCallBytesMax at most. Returns how many: fewer than @size only
 * at the end of the file. @into: borrowed; its contents are undefined until the call has ended. A
 * block that is damaged on one copy is read from another. Failure: EISDIR, EINVAL. Throws
 * dtx::Error, RPM_E_CORRUPT: a block is damaged on all copies. */
dtx::Task<size_t> read(Call &call, uint32_t ino, uint64_t offset, void *into, size_t size);

/* Awaited: read one block of a file, of @number, into kBlockBytes bytes; zeros for a hole. Throws
 * as read(). */
dtx::Task<> read_block(Call &call, uint32_t ino, uint64_t number, Pointer pointer, void *into);

} // namespace rfs
#endif
