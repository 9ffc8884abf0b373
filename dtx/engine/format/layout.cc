/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout.cc: compute the offsets of tables and locks. Each table begins at a multiple of 64 bytes.
 *
 * Tests: tests/unit/dtx/engine/format/layout_test.cpp
 */
#include <dtx/layout.h>

#include "engine/base/assert.h"
#include <dtx/object.h>

namespace dtx
{

Layout::Layout(const Schema &schema)
{
    uint64_t offset = kTablesOffset;
    uint64_t locks = 0;

    for (const TableSpec &spec : schema.tables()) {
        TableLayout table{};

        table.slot_bytes = slot_bytes(spec.row_bytes);
        table.payload_bytes = spec.row_bytes;
        table.slots = spec.rows_max;
        DTX_ASSERT(offset % 64 == 0 && table.slot_bytes % 64 == 0);
        DTX_ASSERT(table.slot_bytes >= sizeof(ObjectHeader) + table.payload_bytes);
        DTX_ASSERT(table.slots <= kSlotsMax); /* else two rows have one address, and one lock */
        table.offset = offset;
        table.first_lock = locks;
        offset += table.slots * table.slot_bytes;
        locks += table.slots;
        tables_.push_back(table);
    }
    region_bytes_ = (offset + 4095) / 4096 * 4096;
    lock_bytes_ = (kLocksOffset + 8 * locks + 63) / 64 * 64;
}

} // namespace dtx
