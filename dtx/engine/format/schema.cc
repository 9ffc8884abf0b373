/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schema.cc: add tables with their indexes, and spans, to a schema, and check them.
 *
 * Tests: tests/unit/dtx/engine/format/schema_test.cpp
 */
#include <dtx/schema.h>

#include "engine/base/assert.h"
#include "engine/format/allocator.h"
#include "engine/format/bucket.h"
#include "engine/format/node.h"
#include <dtx/address.h>
#include <dtx/error.h>
#include <dtx/layout.h>

#include <algorithm>

namespace dtx
{

static constexpr uint32_t kRowBytesMax = 64 << 10;
static constexpr size_t kNameMax = 31;
static constexpr uint64_t kSpanBytesMax = uint64_t{ 1 } << 56;

static void check_name(const std::string &name, const char *what)
{
    auto allowed = [](unsigned char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_';
    };

    if (name.empty() || name.size() > kNameMax || !std::all_of(name.begin(), name.end(), allowed))
        throw Error(0, std::string(what) + " '" + name +
                           "': expected a name of 1 to 31 letters, digits, '-' and '_'");
}

Schema::Schema(std::string name, uint32_t version) : name_(std::move(name)), version_(version)
{
    check_name(name_, "database");
    tables_.push_back({ "words", TableKind::allocators, sizeof(AllocatorHead), kTablesMax });
}

void Schema::set_comment(std::string comment)
{
    if (comment.size() > kCommentMax)
        throw Error(0, "comment of " + std::to_string(comment.size()) + " bytes, maximum " +
                           std::to_string(kCommentMax));
    comment_ = std::move(comment);
}

/* Throws Error unless @name, of a table or a span, is valid and new. */
void Schema::check_new(const std::string &name, const char *what) const
{
    auto has_name = [&name](const auto &other) { return other.name == name; };

    check_name(name, what);
    if (std::any_of(tables_.begin(), tables_.end(), has_name) ||
        std::any_of(spans_.begin(), spans_.end(), has_name))
        throw Error(0, std::string(what) + " '" + name +
                           "': the schema has that name already; give each table and span a name "
                           "of its own");
}

Span Schema::span(const std::string &name, uint32_t slab_bytes, uint64_t slabs)
{
    uint32_t number = static_cast<uint32_t>(spans_.size());

    check_new(name, "span");
    if (number >= kSpansMax)
        throw Error(0, "too many spans: '" + name + "' is number " + std::to_string(number + 1) +
                           ", maximum " + std::to_string(kSpansMax));
    if (slab_bytes == 0 || slab_bytes % kPageBytes != 0)
        throw Error(0, "span '" + name + "': slabs of " + std::to_string(slab_bytes) +
                           " bytes, expected a multiple of " + std::to_string(kPageBytes));
    if (slabs == 0 || slabs > kSpanBytesMax / slab_bytes)
        throw Error(0, "span '" + name + "': " + std::to_string(slabs) + " slabs, expected 1 to " +
                           std::to_string(kSpanBytesMax / slab_bytes));
    spans_.push_back({ name, slab_bytes, slabs });
    return { number, slab_bytes, slabs };
}

uint32_t Schema::add(const std::string &name, TableKind kind, uint32_t row_bytes, uint64_t rows_max,
                     Partition partition)
{
    uint32_t number = static_cast<uint32_t>(tables_.size());
    TableSpec rows{ name, kind, row_bytes, rows_max, number + 1, partition };
    TableSpec index{ name + ".index", TableKind::buckets, sizeof(Bucket), bucket_slots(rows_max),
                     number,          partition };

    check_new(name, "table");
    if (number + 2 > kTablesMax)
        throw Error(0, "too many tables: '" + name + "' with its index makes " +
                           std::to_string(number + 2) + ", maximum " + std::to_string(kTablesMax));
    if (rows_max == 0 || rows_max >= kSlotsMax / 4)
        throw Error(0, "table '" + name + "': " + std::to_string(rows_max) +
                           " rows_max, expected 1 to " + std::to_string(kSlotsMax / 4 - 1));
    if (row_bytes == 0 || row_bytes > kRowBytesMax)
        throw Error(0, "table '" + name + "': a row of " + std::to_string(row_bytes) +
                           " bytes, expected 1 to " + std::to_string(kRowBytesMax));
    if (partition == nullptr)
        throw Error(0, "table '" + name +
                           "' has no partition function; give one that maps keys to partitions");
    if (kind == TableKind::ordered) {
        index.kind = TableKind::nodes;
        index.row_bytes = sizeof(Node);
        index.rows_max = node_slots(rows_max);
    }
    tables_.push_back(rows);
    tables_.push_back(index);
    DTX_ASSERT(tables_[number].index == number + 1 && tables_[number + 1].index == number);
    return number;
}

} // namespace dtx
