/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files.h: calls on the contents of files, with the slabs that they need and in as many
 * transactions as they take.
 *
 * Tests: tests/unit/fs/client/files_test.cpp
 */
#ifndef FS_CORE_CLIENT_FILES_H
#define FS_CORE_CLIENT_FILES_H

#include "core/client/client.h"
#include "core/file/contents.h"

#include <cstdint>

namespace rfs
{

/* Awaited: write, up to kCallBytesMax bytes, in one transaction. Durable on all copies when it
 * returns. Returns the file as it is then. Failure: as of write() in contents.h. */
dtx::Task<Node> write_file(Client &client, const Credentials &who, uint32_t ino, NewBytes bytes);

/* Awaited: set a file's size, and free the blocks behind its end. Failure: as of resize(). */
dtx::Task<Node> resize_file(Client &client, const Credentials &who, uint32_t ino, uint64_t size);

/* Awaited: fallocate(2), in steps (allocate.h), each durable on all copies. Returns the file as it
 * is then. Failure: of expect_allocation() and the steps; ENOSPC. After a failure, the range may be
 * allocated in part, and the file larger, as on ext4. */
dtx::Task<Node> allocate_file(Client &client, const Credentials &who, uint32_t ino, int mode,
                              uint64_t offset, uint64_t length);

/* Awaited: the first offset from @offset on at which data or a hole begin, as lseek(2). Failure: as
 * of seek() in seek.h. */
dtx::Task<uint64_t> seek_file(Client &client, const Credentials &who, uint32_t ino, uint64_t offset,
                              int what);

/* Awaited: free all blocks behind a file's cut. */
dtx::Task<> finish_cut(Client &client, uint32_t ino);

/* Awaited: free a file that has no names. Leaves one that has names alone. */
dtx::Task<> free_file(Client &client, uint32_t ino);

} // namespace rfs
#endif
