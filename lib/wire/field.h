/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * field.h: text and reserved bytes in fixed formats. Each text has one encoding only: its bytes, a
 * NUL, zeros to the end of the field. So the bytes behind the NUL neither leak the sender's memory
 * nor carry anything else.
 */
#ifndef RPMI_FIELD_H
#define RPMI_FIELD_H

#include "base/assert.h"
#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Tests eight bytes at a time, so that the few between two fields cost one or two tests. */
static inline bool rpmi_all_zero(const void *from, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)from;

    for (; bytes >= sizeof(uint64_t); at += sizeof(uint64_t), bytes -= sizeof(uint64_t))
        if (rpmi_load64(at) != 0)
            return false;
    if ((bytes & 4) != 0) {
        if (rpmi_load32(at) != 0)
            return false;
        at += 4;
    }
    if ((bytes & 2) != 0) {
        if (rpmi_load16(at) != 0)
            return false;
        at += 2;
    }
    return (bytes & 1) == 0 || *at == 0;
}

/* @text must end within @bytes: it is librpm's own, so a missing end is a bug and asserted. */
static inline void rpmi_text_put(void *field, size_t bytes, const char *text)
{
    size_t len = strnlen(text, bytes);

    RPM_ASSERT(len < bytes);
    memset(field, 0, bytes);
    memcpy(field, text, len);
}

/* False if the field has no NUL, or other bytes than zeros behind it; @text is undefined then. */
static inline bool rpmi_text_get(const void *field, size_t bytes, char *text)
{
    size_t len = strnlen((const char *)field, bytes);

    memcpy(text, field, bytes);
    return len < bytes && rpmi_all_zero(text + len, bytes - len);
}

#endif
