/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seek.h: where data or a hole begins, as lseek(2) asks. Data are blocks that were written;
 * unwritten blocks and what lies behind the end are holes.
 *
 * Tests: tests/unit/fs/file/seek_test.cpp
 */
#ifndef FS_CORE_FILE_SEEK_H
#define FS_CORE_FILE_SEEK_H

#include "core/tree/inodes.h"

#include <cstdint>

namespace rfs
{

inline constexpr uint32_t kSeekRows = 64; /* rows of maps that one step reads: of 8 MiB or more */

/* How far a search has come. */
struct Sought {
    uint64_t offset;
    bool found; /* there; else the next step goes on from there */
};

/* Awaited: one step of a search from @offset on. @what: SEEK_DATA or SEEK_HOLE. It reads only rows
 * of maps that exist, so it passes a large hole at once. Failure: ESTALE; that of
 * expect_contents(); EINVAL, another @what; ENXIO, @offset is not before the end, or no data
 * follow. */
dtx::Task<Sought> seek(Call &call, uint32_t ino, uint64_t offset, int what);

} // namespace rfs
#endif
