/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fd.c: close descriptors. See fd.h.
 *
 * Tests: tests/unit/base/fd_test.cpp
 */
#include "base/fd.h"

#include <unistd.h>

void rpmi_fd_close(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}
