/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * roots.cc: which objects are roots, and their first versions: no slot handed out, no entry.
 *
 * Tests: tests/unit/dtx/engine/format/roots_test.cpp
 */
#include "engine/format/roots.h"

#include "engine/base/assert.h"
#include "engine/format/allocator.h"
#include "engine/format/node.h"

#include <algorithm>
#include <cstring>

namespace dtx
{

static constexpr uint64_t kFirstVersion = 1;
static constexpr uint64_t kTogetherBytes = 1 << 20;

namespace
{

struct Range {
    uint64_t first;
    uint64_t end;
};

} // namespace

/* The slots of a table that have roots. */
static Range roots_of(const Schema &schema, uint32_t table)
{
    DTX_ASSERT(table < schema.tables().size());

    const TableSpec &spec = schema.tables()[table];

    if (spec.kind == TableKind::allocators)
        return { 0, schema.tables().size() };
    if (spec.kind == TableKind::buckets)
        return { 1, first_slot(schema, table) };
    return { 0, spec.kind == TableKind::nodes ? 1u : 0u };
}

bool is_root(const Schema &schema, Address address)
{
    Range roots = roots_of(schema, address.table());

    return roots.first <= address.slot() && address.slot() < roots.end;
}

bool is_unused(const Schema &schema, Address address, const ObjectHeader &header)
{
    return header.version == 0 || (header.version == kFirstVersion && is_root(schema, address));
}

bool is_intact(const Schema &schema, Address address, const unsigned char *image, uint32_t bytes)
{
    return is_whole(image, bytes) && (header_of(image).version != 0 || !is_root(schema, address));
}

static std::vector<unsigned char> first_image(TableKind kind, uint32_t bytes)
{
    std::vector<unsigned char> image(bytes);

    DTX_ASSERT(bytes % kLineBytes == 0);
    header_of(image.data()).version = kFirstVersion;
    header_of(image.data()).flags = kObjectValid;
    if (kind == TableKind::nodes) {
        Node root{};

        root.high = UINT64_MAX;
        std::memcpy(&image[sizeof(ObjectHeader)], &root, sizeof(root));
    }
    seal(image.data(), bytes);
    return image;
}

void each_root(
    const Schema &schema, const Layout &layout,
    const std::function<void(uint64_t offset, const std::vector<unsigned char> &images)> &take)
{
    for (uint32_t table = 0; table < layout.tables(); table++) {
        const TableLayout &there = layout.table(table);
        Range roots = roots_of(schema, table);
        std::vector<unsigned char> image =
            first_image(schema.tables()[table].kind, there.slot_bytes);
        std::vector<unsigned char> images;

        DTX_ASSERT(roots.end <= there.slots);
        for (uint64_t slot = roots.first; slot < roots.end;) {
            uint64_t many = std::min(roots.end - slot, kTogetherBytes / there.slot_bytes);

            images.clear();
            for (uint64_t i = 0; i < many; i++)
                images.insert(images.end(), image.begin(), image.end());
            take(there.offset + slot * there.slot_bytes, images);
            slot += many;
        }
    }
}

} // namespace dtx
