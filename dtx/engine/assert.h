/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * assert.h: what must be so because of our own code, never because of what is far away. It is
 * looked at in release builds as well.
 *
 * Tests: tests/unit/dtx/engine/accesses_test.cpp
 */
#ifndef DTX_ENGINE_ASSERT_H
#define DTX_ENGINE_ASSERT_H

#include <cstdio>
#include <cstdlib>

#define DTX_ASSERT(holds)                                                                          \
    do {                                                                                           \
        if (!(holds)) [[unlikely]]                                                                 \
            ::dtx::assertion_failed(#holds, __FILE__, __LINE__);                                   \
    } while (0)

namespace dtx
{

[[noreturn]] inline void assertion_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, what);
    abort();
}

} // namespace dtx
#endif
