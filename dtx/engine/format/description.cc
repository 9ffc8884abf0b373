/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * description.cc: from a schema to its text and back.
 *
 * A caller uses the text only if its checksum is the one in the descriptor. Still, any text must
 * lead to a schema or an Error, never to undefined behaviour.
 *
 * Tests: tests/unit/dtx/engine/format/description_test.cpp
 */
#include "engine/format/description.h"

#include <dtx/error.h>

#include <librpm.h>

#include <sstream>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtx
{

namespace
{

constexpr uint32_t kSpan = static_cast<uint32_t>(TableKind::span);

/* Of a table or a span; of a span, row_bytes and rows_max are the bytes and number of slabs. */
struct Line {
    std::string name;
    uint32_t kind = 0;
    uint32_t row_bytes = 0;
    uint64_t rows_max = 0;
    uint32_t index = 0;
    bool operator==(const Line &) const = default;
};

const char *kind_of(uint32_t kind)
{
    static const char *const kNames[] = { "nothing", "hash",  "ordered", "buckets",
                                          "nodes",   "words", "span" };

    return kind < std::size(kNames) ? kNames[kind] : "unknown";
}

} // namespace

std::string description_of(const Schema &schema)
{
    std::ostringstream all;

    all << schema.name() << '\n';
    for (const TableSpec &table : schema.tables())
        all << table.name << ' ' << static_cast<uint32_t>(table.kind) << ' ' << table.row_bytes
            << ' ' << table.rows_max << ' ' << table.index << '\n';
    for (const SpanSpec &span : schema.spans())
        all << span.name << ' ' << static_cast<uint32_t>(TableKind::span) << ' ' << span.slab_bytes
            << ' ' << span.slabs << " 0\n";
    return all.str();
}

uint64_t sum_of(const std::string &description)
{
    return XXH3_64bits(description.data(), description.size());
}

/* The tables of a description, up to the first line that is malformed. */
static std::vector<Line> lines_of(const std::string &text)
{
    std::istringstream all(text);
    std::vector<Line> lines;
    std::string name;

    std::getline(all, name);
    for (Line line; all >> line.name >> line.kind >> line.row_bytes >> line.rows_max >> line.index;)
        lines.push_back(line);
    return lines;
}

static std::string mismatch(uint64_t there, const char *of_what, uint64_t own)
{
    return std::to_string(there) + of_what + ", and " + std::to_string(own) + " in this program";
}

static std::string full_name(const Line &line)
{
    return (line.kind == kSpan ? "span '" : "table '") + line.name + "'";
}

static std::string difference(const Line &there, const Line &own)
{
    std::string table = full_name(there) + " ";

    if (there.name != own.name)
        return table + "found, expected " + full_name(own) + " of this program";
    if (there.kind != own.kind)
        return table + "is of kind " + kind_of(there.kind) + ", and " + kind_of(own.kind) +
               " in this program";
    if (there.kind == kSpan && there.row_bytes != own.row_bytes)
        return table + "has slabs of " + mismatch(there.row_bytes, " bytes", own.row_bytes);
    if (there.kind == kSpan && there.rows_max != own.rows_max)
        return table + "has " + mismatch(there.rows_max, " slabs in each shard", own.rows_max);
    if (there.row_bytes != own.row_bytes)
        return table + "has rows of " + mismatch(there.row_bytes, " bytes", own.row_bytes);
    if (there.rows_max != own.rows_max)
        return table + "has room for " +
               mismatch(there.rows_max, " rows in each shard", own.rows_max);
    return table + "has index number " + mismatch(there.index, "", own.index);
}

std::string first_difference(const std::string &there, const std::string &own)
{
    std::vector<Line> theirs = lines_of(there);
    std::vector<Line> ours = lines_of(own);

    for (size_t i = 0; i < theirs.size() || i < ours.size(); i++) {
        if (i >= ours.size())
            return full_name(theirs[i]) + " of the database is not in this program";
        if (i >= theirs.size())
            return full_name(ours[i]) + " of this program is not in the database";
        if (theirs[i] != ours[i])
            return difference(theirs[i], ours[i]);
    }
    return "the database has another name than the program's schema";
}

/* The partition function of a schema that was read from a shard. */
static uint32_t unknown_partition(uint64_t)
{
    throw Error(RPM_E_INVAL,
                "this schema was read from the database and has no partition functions: "
                "to read or write rows, use the schema of the program that made it");
}

Schema Schema::of_description(const std::string &name, uint32_t version, const std::string &text)
{
    Schema schema(name, version);

    schema.described_ = true;
    for (const Line &line : lines_of(text)) {
        TableKind kind = static_cast<TableKind>(line.kind);

        if (kind == TableKind::hash || kind == TableKind::ordered)
            (void)schema.add(line.name, kind, line.row_bytes, line.rows_max, unknown_partition);
        else if (kind == TableKind::span)
            (void)schema.span(line.name, line.row_bytes, line.rows_max);
    }
    if (description_of(schema) != text)
        throw Error(RPM_E_VERSION, "the database '" + name +
                                       "' was made by another version of dtx: " +
                                       first_difference(text, description_of(schema)));
    return schema;
}

} // namespace dtx
