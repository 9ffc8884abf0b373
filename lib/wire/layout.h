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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rpmi_field_kind {
    RPMI_FIELD_NUMBER = 1, /* of 4 or 8 bytes, little endian */
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

#endif
