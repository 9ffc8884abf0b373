/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout.c: write and read a fixed format by its table of fields.
 *
 * Invariants: layout.h.
 *
 * Tests: tests/unit/wire/layout_test.cpp
 */
#include "wire/layout.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "wire/field.h"

static void number_put(unsigned char *to, const unsigned char *from, uint32_t bytes)
{
    uint64_t wide;
    uint32_t narrow;

    RPM_ASSERT(bytes == sizeof(wide) || bytes == sizeof(narrow));
    if (bytes == sizeof(wide)) {
        memcpy(&wide, from, sizeof(wide));
        rpmi_store64(to, wide);
    } else {
        memcpy(&narrow, from, sizeof(narrow));
        rpmi_store32(to, narrow);
    }
}

static void number_get(unsigned char *to, const unsigned char *from, uint32_t bytes)
{
    uint64_t wide;
    uint32_t narrow;

    RPM_ASSERT(bytes == sizeof(wide) || bytes == sizeof(narrow));
    if (bytes == sizeof(wide)) {
        wide = rpmi_load64(from);
        memcpy(to, &wide, sizeof(wide));
    } else {
        narrow = rpmi_load32(from);
        memcpy(to, &narrow, sizeof(narrow));
    }
}

void rpmi_layout_put(const struct rpmi_layout *layout, void *bytes, const void *from)
{
    const unsigned char *memory = from;
    unsigned char *to = bytes;

    memset(to, 0, layout->bytes);
    for (uint32_t i = 0; i < layout->fields; i++) {
        const struct rpmi_field *field = &layout->field[i];

        RPM_ASSERT(field->at <= layout->bytes && field->bytes <= layout->bytes - field->at);
        if (field->kind == RPMI_FIELD_NUMBER)
            number_put(to + field->at, memory + field->member, field->bytes);
        else if (field->kind == RPMI_FIELD_TEXT)
            rpmi_text_put(to + field->at, field->bytes, (const char *)memory + field->member);
    }
    RPM_ASSERT_SLOW(rpmi_layout_is_clean(layout, to));
}

const char *rpmi_layout_get(const struct rpmi_layout *layout, const void *bytes, void *to)
{
    const unsigned char *from = bytes;
    unsigned char *memory = to;
    bool ended = true;

    for (uint32_t i = 0; i < layout->fields; i++) {
        const struct rpmi_field *field = &layout->field[i];

        RPM_ASSERT(field->at <= layout->bytes && field->bytes <= layout->bytes - field->at);
        if (field->kind == RPMI_FIELD_NUMBER)
            number_get(memory + field->member, from + field->at, field->bytes);
        else if (field->kind == RPMI_FIELD_TEXT &&
                 !rpmi_text_get(from + field->at, field->bytes, (char *)memory + field->member))
            ended = false;
    }
    if (!ended)
        return "an unterminated text";
    return rpmi_layout_is_clean(layout, bytes) ? NULL : "reserved bytes in use";
}

bool rpmi_layout_is_clean(const struct rpmi_layout *layout, const void *bytes)
{
    const unsigned char *from = bytes;
    uint32_t at = 0;

    for (uint32_t i = 0; i < layout->fields; i++) {
        const struct rpmi_field *field = &layout->field[i];

        RPM_ASSERT(field->at >= at);
        if (field->at > at && !rpmi_all_zero(from + at, field->at - at))
            return false;
        at = field->at + field->bytes;
    }
    return rpmi_all_zero(from + at, layout->bytes - at);
}
