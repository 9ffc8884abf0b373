/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scan.h: reads all rows of a table, as their type or as bytes. No session may use the database
 * meanwhile.
 */
#ifndef DTX_WORKLOAD_SCAN_H
#define DTX_WORKLOAD_SCAN_H

#include <dtx/cluster.h>

#include <cstring>
#include <span>

namespace dtx
{

/* Calls @each with every key and its row. */
template <class Row, class Each>
void scan_rows(const Cluster &cluster, Table<Row> table, uint32_t copy, Each each)
{
    cluster.each_row(table.number, copy, [&each](uint64_t key, const void *bytes, size_t) {
        Row row;

        std::memcpy(&row, bytes, sizeof(row));
        each(key, row);
    });
}

template <class Each>
void scan_rows(const Cluster &cluster, ByteTable table, uint32_t copy, Each each)
{
    cluster.each_row(table.number, copy, [&each](uint64_t key, const void *bytes, size_t count) {
        each(key, std::span(static_cast<const unsigned char *>(bytes), count));
    });
}

} // namespace dtx
#endif
