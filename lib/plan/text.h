/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text.h: append text to a caller's buffer. As with snprintf, text that does not fit is cut off,
 * and the length is that of the whole text.
 *
 * Tests: tests/unit/plan/explain_test.cpp
 */
#ifndef RPMI_TEXT_H
#define RPMI_TEXT_H

#include "base/assert.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

struct rpmi_text {
    char *buffer;
    size_t room;
    size_t len; /* of the whole text, cut or not */
};

static inline void rpmi_text_open(struct rpmi_text *text, char *buffer, size_t room)
{
    RPM_ASSERT(buffer != NULL || room == 0);
    *text = (struct rpmi_text){ .buffer = buffer, .room = room, .len = 0 };
    if (room > 0)
        buffer[0] = '\0';
}

__attribute__((format(printf, 2, 3))) static inline void rpmi_text_add(struct rpmi_text *text,
                                                                       const char *format, ...)
{
    size_t left = text->len < text->room ? text->room - text->len : 0;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(left > 0 ? text->buffer + text->len : NULL, left, format, args);
    va_end(args);
    RPM_ASSERT(n >= 0);
    text->len += (size_t)n;
}

#endif
