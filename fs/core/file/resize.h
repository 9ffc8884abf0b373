/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resize.h: make a file longer or shorter, and free the blocks of a file without names.
 *
 * The blocks behind a file's new end are freed in steps, kCutRows rows of its map in each
 * transaction; InodeRow::cut says from which block on that is not done yet. Until it is done the
 * file cannot grow: a client that wants to make it longer continues first.
 *
 * Tests: tests/unit/fs/file/resize_test.cpp
 */
#ifndef FS_CORE_FILE_RESIZE_H
#define FS_CORE_FILE_RESIZE_H

#include "core/file/slabs.h"
#include "core/tree/inodes.h"

#include <cstdint>

namespace rfs
{

inline constexpr uint32_t kCutRows = 64; /* rows of maps: 8 MiB of a file */

/* Awaited: set the size of a file. New bytes read as zeros. Unless the file grows, this frees the
 * blocks that were allocated behind its end (allocate.h). @room: one block. Returns the file as it
 * is then; if its cut is not kNoCut, the caller calls cut_more(). Failure: EISDIR, EINVAL;
 * EFBIG; ENOSPC. Throws Shortage, Unfinished. */
dtx::Task<Node> resize(Call &call, uint32_t ino, uint64_t size, const Room &room);

/* Awaited: one step of freeing the blocks behind a cut. True: it is done. Failure: ESTALE. */
dtx::Task<bool> cut_more(Call &call, uint32_t ino);

/* Awaited: one step of freeing a file without names: its blocks, its other rows, and then its
 * inode. True: it is done, or there is no such file. False: call again. A file that has names, or
 * that a client may have open, is left alone. */
dtx::Task<bool> free_orphan(Call &call, uint32_t ino);

} // namespace rfs
#endif
