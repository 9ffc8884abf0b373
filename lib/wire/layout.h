/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout.h: a message or structure of fixed size is described by one table of its fields. The code
 * that writes it, reads it and checks its reserved bytes uses the table, and so do the tests; the
 * codec of each format checks the values.
 *
 * Invariants
 *   the fields of a table are in order, do not overlap, and lie within its bytes
 *   bytes outside all fields are reserved: written as zeros, and refused when they are not zero
 *
 * Format: FORMAT.md.   Tests: tests/unit/wire/layout_test.cpp
 */
#ifndef RPMI_LAYOUT_H
#define RPMI_LAYOUT_H

#include "base/assert.h"
#include "base/bytes.h"
#include "wire/field.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum rpmi_field_kind {
    RPMI_FIELD_NUMBER = 1, /* of 1, 2, 4 or 8 bytes, little endian */
    RPMI_FIELD_TEXT = 2,   /* see field.h */
    RPMI_FIELD_OWN = 3     /* written and checked by the codec: a magic, a proof, a checksum */
};

struct rpmi_field {
    const char *name;
    uint32_t at;     /* offset in the format */
    uint32_t bytes;  /* there, and in the struct in memory */
    uint32_t member; /* offset in that struct; unused for OWN */
    uint32_t kind;   /* enum rpmi_field_kind */
};

struct rpmi_layout {
    const char *name;
    const struct rpmi_field *field;
    uint32_t fields;
    uint32_t bytes;
};

#define RPMI_FIELD(where, type, of, what)                                                          \
    {                                                                                              \
        .name = #of, .at = (where), .bytes = (uint32_t)sizeof(((type *)NULL)->of),                 \
        .member = (uint32_t)offsetof(type, of), .kind = (what)                                     \
    }
#define RPMI_NUMBER(where, type, of) RPMI_FIELD(where, type, of, RPMI_FIELD_NUMBER)
#define RPMI_TEXT(where, type, of) RPMI_FIELD(where, type, of, RPMI_FIELD_TEXT)
#define RPMI_OWN(where, size, what)                                                                \
    {                                                                                              \
        .name = (what), .at = (where), .bytes = (size), .kind = RPMI_FIELD_OWN                     \
    }
#define RPMI_LAYOUT(what, table, size)                                                             \
    {                                                                                              \
        .name = (what), .field = (table), .fields = sizeof(table) / sizeof((table)[0]),            \
        .bytes = (size)                                                                            \
    }

/* Write all bytes: numbers and texts from the struct at @from, zeros elsewhere. */
void rpmi_layout_put(const struct rpmi_layout *layout, void *bytes, const void *from);

/* Read numbers and texts into the struct at @to, and check texts and reserved bytes. NULL, or the
 * breach: "an unterminated text", "reserved bytes in use". */
const char *rpmi_layout_get(const struct rpmi_layout *layout, const void *bytes, void *to);

/* Are all reserved bytes zero? */
bool rpmi_layout_is_clean(const struct rpmi_layout *layout, const void *bytes);

/*
 * The rest is for codecs on the data path. rpmi_layout_put_inline() and rpmi_layout_get_inline()
 * do the same by a table that is defined in the calling file: the compiler unrolls the loop over
 * its fields, so that a number costs a load and a store, and the reserved bytes in front of a field
 * one or two tests.
 */
#define RPMI_LAYOUT_INLINE static inline __attribute__((always_inline))
#define RPMI_LAYOUT_INLINE_MAX 16u /* fields; as in the line for GCC */
#if defined(__clang__)
#define RPMI_LAYOUT_UNROLL _Pragma("unroll")
#else
#define RPMI_LAYOUT_UNROLL _Pragma("GCC unroll 16")
#endif

/* From the struct into the format, or back: a number whose bytes are swapped twice is the same. */
RPMI_LAYOUT_INLINE void rpmi_number_copy(unsigned char *to, const unsigned char *from,
                                         uint32_t bytes)
{
    uint64_t eight;
    uint32_t four;
    uint16_t two;

    RPM_ASSERT(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
    if (bytes == 1) {
        *to = *from;
    } else if (bytes == 2) {
        memcpy(&two, from, sizeof(two));
        rpmi_store16(to, two);
    } else if (bytes == 4) {
        memcpy(&four, from, sizeof(four));
        rpmi_store32(to, four);
    } else {
        memcpy(&eight, from, sizeof(eight));
        rpmi_store64(to, eight);
    }
}

RPMI_LAYOUT_INLINE void rpmi_gap_put(unsigned char *to, uint32_t at, uint32_t end)
{
    RPM_ASSERT(at <= end);
    if (at < end)
        memset(to + at, 0, end - at);
}

RPMI_LAYOUT_INLINE bool rpmi_gap_is_zero(const unsigned char *from, uint32_t at, uint32_t end)
{
    RPM_ASSERT(at <= end);
    return at == end || rpmi_all_zero(from + at, end - at);
}

/* Write @field, and zeros from @at up to it. Returns its end, the next @at; of an OWN field @at, so
 * that its bytes become zeros too. */
RPMI_LAYOUT_INLINE uint32_t rpmi_field_put(const struct rpmi_field *field, unsigned char *to,
                                           uint32_t at, const void *from)
{
    const unsigned char *member;

    if (field->kind == RPMI_FIELD_OWN)
        return at;
    member = (const unsigned char *)from + field->member;
    rpmi_gap_put(to, at, field->at);
    RPM_ASSERT(field->kind == RPMI_FIELD_NUMBER || field->kind == RPMI_FIELD_TEXT);
    if (field->kind == RPMI_FIELD_NUMBER)
        rpmi_number_copy(to + field->at, member, field->bytes);
    else
        rpmi_text_put(to + field->at, field->bytes, (const char *)member);
    return field->at + field->bytes;
}

/* Read @field. False: it is a text without an end. */
RPMI_LAYOUT_INLINE bool rpmi_field_get(const struct rpmi_field *field, const unsigned char *from,
                                       void *to)
{
    unsigned char *member;

    if (field->kind == RPMI_FIELD_OWN)
        return true;
    member = (unsigned char *)to + field->member;
    if (field->kind == RPMI_FIELD_TEXT)
        return rpmi_text_get(from + field->at, field->bytes, (char *)member);
    RPM_ASSERT(field->kind == RPMI_FIELD_NUMBER);
    rpmi_number_copy(member, from + field->at, field->bytes);
    return true;
}

RPMI_LAYOUT_INLINE const char *rpmi_layout_breach(bool ended, bool clean)
{
    if (!ended)
        return "an unterminated text";
    return clean ? NULL : "reserved bytes in use";
}

RPMI_LAYOUT_INLINE void rpmi_layout_put_inline(const struct rpmi_layout *layout, void *bytes,
                                               const void *from)
{
    unsigned char *to = (unsigned char *)bytes;
    uint32_t at = 0;

    RPM_ASSERT(layout->fields <= RPMI_LAYOUT_INLINE_MAX);
    RPMI_LAYOUT_UNROLL
    for (uint32_t i = 0; i < layout->fields; i++)
        at = rpmi_field_put(&layout->field[i], to, at, from);
    rpmi_gap_put(to, at, layout->bytes);
}

RPMI_LAYOUT_INLINE const char *rpmi_layout_get_inline(const struct rpmi_layout *layout,
                                                      const void *bytes, void *to)
{
    const unsigned char *from = (const unsigned char *)bytes;
    bool ended = true;
    bool clean = true;
    uint32_t at = 0;

    RPM_ASSERT(layout->fields <= RPMI_LAYOUT_INLINE_MAX);
    RPMI_LAYOUT_UNROLL
    for (uint32_t i = 0; i < layout->fields; i++) {
        const struct rpmi_field *field = &layout->field[i];

        RPM_ASSERT(field->bytes <= layout->bytes && field->at <= layout->bytes - field->bytes);
        clean = rpmi_gap_is_zero(from, at, field->at) && clean;
        ended = rpmi_field_get(field, from, to) && ended;
        at = field->at + field->bytes;
    }
    clean = rpmi_gap_is_zero(from, at, layout->bytes) && clean;
    return rpmi_layout_breach(ended, clean);
}

#endif
