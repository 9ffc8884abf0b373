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

void rpmi_layout_put(const struct rpmi_layout *layout, void *bytes, const void *from)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < layout->fields; i++)
        at = rpmi_field_put(&layout->field[i], bytes, at, from);
    RPM_ASSERT(layout->fields > 0 && at <= layout->bytes);
    rpmi_gap_put(bytes, at, layout->bytes);
    RPM_ASSERT_SLOW(rpmi_layout_is_clean(layout, bytes));
}

const char *rpmi_layout_get(const struct rpmi_layout *layout, const void *bytes, void *to)
{
    bool ended = true;

    for (uint32_t i = 0; i < layout->fields; i++) {
        const struct rpmi_field *field = &layout->field[i];

        RPM_ASSERT(field->bytes <= layout->bytes && field->at <= layout->bytes - field->bytes);
        ended = rpmi_field_get(field, bytes, to) && ended;
    }
    return rpmi_layout_breach(ended, rpmi_layout_is_clean(layout, bytes));
}

bool rpmi_layout_is_clean(const struct rpmi_layout *layout, const void *bytes)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < layout->fields; i++) {
        if (!rpmi_gap_is_zero(bytes, at, layout->field[i].at))
            return false;
        at = layout->field[i].at + layout->field[i].bytes;
    }
    return rpmi_gap_is_zero(bytes, at, layout->bytes);
}
