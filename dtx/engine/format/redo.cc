/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * redo.cc: encode and decode redo records. librpm checks the checksum of the record as a whole;
 * each object in it also has the checksum that it has in its slot.
 *
 * Tests: tests/unit/dtx/engine/format/redo_test.cpp
 */
#include "engine/format/redo.h"

#include "engine/base/assert.h"

#include <cstring>

namespace dtx
{

size_t redo_bytes(std::span<Access *const> writes)
{
    size_t bytes = sizeof(RedoHeader);

    for (const Access *access : writes)
        bytes += sizeof(uint64_t) + access->bytes;
    return bytes;
}

void encode_redo(uint64_t txn, std::span<Access *const> writes, std::vector<unsigned char> &record)
{
    RedoHeader header{ txn, static_cast<uint32_t>(writes.size()), 0 };
    unsigned char *at;

    record.resize(redo_bytes(writes));
    at = record.data();
    std::memcpy(at, &header, sizeof(header));
    at += sizeof(header);
    for (const Access *access : writes) {
        DTX_ASSERT(access->header().version != 0); /* sealed */
        std::memcpy(at, &access->address.word, sizeof(uint64_t));
        std::memcpy(at + sizeof(uint64_t), access->image, access->bytes);
        at += sizeof(uint64_t) + access->bytes;
    }
    DTX_ASSERT(at == record.data() + record.size());
}

/* Returns the size of the slot of the object at @at; 0: there is no such slot, the record ends too
 * early, or the object is torn. */
static uint32_t object_at(const Layout &layout, uint32_t shards, const unsigned char *at,
                          size_t left, Address *address)
{
    if (left < sizeof(uint64_t))
        return 0;
    std::memcpy(&address->word, at, sizeof(uint64_t));
    if (address->shard() >= shards || address->table() >= layout.tables() ||
        address->slot() >= layout.table(address->table()).slots)
        return 0;

    uint32_t bytes = layout.table(address->table()).slot_bytes;

    if (left - sizeof(uint64_t) < bytes || !is_whole(at + sizeof(uint64_t), bytes))
        return 0;
    return bytes;
}

bool decode_redo(const Layout &layout, uint32_t shards, const void *record, size_t bytes,
                 const std::function<void(Address, const unsigned char *, uint32_t)> &callback)
{
    const unsigned char *first = static_cast<const unsigned char *>(record);
    RedoHeader header;
    Address address;

    if (bytes < sizeof(header))
        return false;
    std::memcpy(&header, first, sizeof(header));
    /* First check all objects, then call @callback for each. */
    for (bool judged : { false, true }) {
        const unsigned char *at = first + sizeof(header);
        size_t left = bytes - sizeof(header);

        for (uint32_t i = 0; i < header.objects; i++) {
            uint32_t object = object_at(layout, shards, at, left, &address);

            if (object == 0)
                return false;
            if (judged)
                callback(address, at + sizeof(uint64_t), object);
            at += sizeof(uint64_t) + object;
            left -= sizeof(uint64_t) + object;
        }
        if (left != 0)
            return false;
    }
    return true;
}

} // namespace dtx
