/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout.cc: compute the offsets of tables, spans and locks. A table begins at a multiple of 64
 * bytes; the marks of a span and its slabs each begin at a multiple of 4096.
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
    tables_end_ = whole_pages(offset);
    offset = tables_end_;
    for (const SpanSpec &spec : schema.spans()) {
        SpanLayout span{ spec.slab_bytes, spec.slabs, offset, 0 };

        span.offset = whole_pages(span.mark_offset(spec.slabs));
        DTX_ASSERT(spec.slab_bytes % kPageBytes == 0);
        offset = span.slab_offset(spec.slabs);
        spans_.push_back(span);
    }
    region_bytes_ = offset;
    lock_bytes_ = (kLocksOffset + 8 * locks + 63) / 64 * 64;
}

} // namespace dtx
