/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * assert.h: checks of what dtx's own code guarantees, never of bytes that a server returned. They
 * are on in release builds as well.
 *
 * Tests: tests/unit/dtx/engine/store/read_write_set_test.cpp
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
