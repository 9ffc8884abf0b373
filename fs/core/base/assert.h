/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * assert.h: checks of what the file system's own code guarantees, never of rows or bytes that a
 * server returned. They are on in release builds as well.
 *
 * Tests: tests/unit/fs/format/pointer_test.cpp
 */
#ifndef FS_CORE_BASE_ASSERT_H
#define FS_CORE_BASE_ASSERT_H

#include <cstdio>
#include <cstdlib>

#define RFS_ASSERT(holds)                                                                          \
    do {                                                                                           \
        if (!(holds)) [[unlikely]]                                                                 \
            ::rfs::assertion_failed(#holds, __FILE__, __LINE__);                                   \
    } while (0)

namespace rfs
{

[[noreturn]] inline void assertion_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, what);
    abort();
}

} // namespace rfs
#endif
