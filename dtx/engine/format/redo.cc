/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * redo.cc: encode and decode redo records. librpm checks the checksum of the record as a whole;
 * each object in it also has the checksum that it has in its slot.
 *
 * Tests: tests/unit/dtx/engine/format/redo_test.cpp
 */
#include "engine/format/redo.h"

#include "engine/base/assert.h"
#include "engine/format/allocator.h"

#include <cstring>

namespace dtx
{

size_t redo_bytes(std::span<Access *const> writes, size_t spares)
{
    size_t bytes = sizeof(RedoHeader) + spares * sizeof(Spare);

    for (const Access *access : writes)
        bytes += sizeof(uint64_t) + access->bytes;
    return bytes;
}

void encode_redo(uint64_t txn, std::span<Access *const> writes, std::span<const Spare> spares,
                 std::vector<unsigned char> &record)
{
    RedoHeader header{ txn, static_cast<uint32_t>(writes.size()),
                       static_cast<uint32_t>(spares.size()) };
    unsigned char *at;

    record.resize(redo_bytes(writes, spares.size()));
    at = record.data();
    std::memcpy(at, &header, sizeof(header));
    at += sizeof(header);
    for (const Access *access : writes) {
        DTX_ASSERT(access->header().version != 0); /* sealed */
        std::memcpy(at, &access->address.word, sizeof(uint64_t));
        std::memcpy(at + sizeof(uint64_t), access->image, access->bytes);
        at += sizeof(uint64_t) + access->bytes;
    }
    if (!spares.empty())
        std::memcpy(at, spares.data(), spares.size_bytes());
    DTX_ASSERT(at + spares.size_bytes() == record.data() + record.size());
}

static bool is_slot(const Layout &layout, uint32_t shards, Address address)
{
    return address.shard() < shards && address.table() < layout.tables() &&
           address.slot() < layout.table(address.table()).slots;
}

/* Returns the size of the slot of the object at @at; 0: there is no such slot, the record ends too
 * early, or the object is torn. */
static uint32_t object_at(const Layout &layout, uint32_t shards, const unsigned char *at,
                          size_t left, Address *address)
{
    if (left < sizeof(uint64_t))
        return 0;
    std::memcpy(&address->word, at, sizeof(uint64_t));
    if (!is_slot(layout, shards, *address))
        return 0;

    uint32_t bytes = layout.table(address->table()).slot_bytes;

    if (left - sizeof(uint64_t) < bytes || !is_whole(at + sizeof(uint64_t), bytes))
        return 0;
    return bytes;
}

/* Checks the spare slots at @at, which are the rest of a record, or calls @take for each. */
static bool walk_spares(const Layout &layout, uint32_t shards, const unsigned char *at,
                        uint32_t spares, const std::function<void(const Spare &)> &take)
{
    for (uint32_t i = 0; i < spares; i++) {
        Spare spare;

        std::memcpy(&spare, at + i * sizeof(spare), sizeof(spare));
        if (!is_slot(layout, shards, spare.address) || spare.address.table() == kAllocatorTable)
            return false;
        if (take)
            take(spare);
    }
    return true;
}

bool decode_redo(const Layout &layout, uint32_t shards, const void *record, size_t bytes,
                 const std::function<void(Address, const unsigned char *, uint32_t)> &take_object,
                 const std::function<void(const Spare &)> &take_spare)
{
    const unsigned char *first = static_cast<const unsigned char *>(record);
    RedoHeader header;
    Address address;

    if (bytes < sizeof(header))
        return false;
    std::memcpy(&header, first, sizeof(header));
    /* First check everything, then call the callbacks. */
    for (bool judged : { false, true }) {
        const unsigned char *at = first + sizeof(header);
        size_t left = bytes - sizeof(header);

        for (uint32_t i = 0; i < header.objects; i++) {
            uint32_t object = object_at(layout, shards, at, left, &address);

            if (object == 0)
                return false;
            if (judged)
                take_object(address, at + sizeof(uint64_t), object);
            at += sizeof(uint64_t) + object;
            left -= sizeof(uint64_t) + object;
        }
        if (left != header.spares * sizeof(Spare) ||
            !walk_spares(layout, shards, at, header.spares,
                         judged ? take_spare : std::function<void(const Spare &)>()))
            return false;
    }
    return true;
}

bool is_note(const void *record)
{
    RedoHeader header;

    std::memcpy(&header, record, sizeof(header));
    return header.objects == 0;
}

} // namespace dtx
