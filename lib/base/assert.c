/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * assert.c: reports a failed assertion and aborts the process.
 *
 * The message goes straight to standard error, not through the diagnostic sink: the sink is code of
 * the program and may depend on the state that failed the assertion.
 *
 * Tests: tests/unit/base/assert_test.cpp
 */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void rpmi_assert_failed(const char *expr, const char *file, int line)
{
    char text[512];
    int len =
        snprintf(text, sizeof(text), "librpm: assertion failed: %s (%s:%d)\n", expr, file, line);
    size_t bytes = len < 0 ? 0 : (size_t)len;

    if (bytes >= sizeof(text)) {
        bytes = sizeof(text) - 1;
        text[bytes - 1] = '\n';
    }
    if (write(STDERR_FILENO, text, bytes) < 0) {
        /* If the message cannot be written, the core file still has the expression and line. */
    }
    abort();
}
