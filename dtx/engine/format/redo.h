/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * redo.h: the record of a transaction in its coordinator's log: the whole new image of every object
 * that it writes. FORMAT.md has the bytes.
 *
 * Tests: tests/unit/dtx/engine/format/redo_test.cpp
 */
#ifndef DTX_ENGINE_REDO_H
#define DTX_ENGINE_REDO_H

#include <dtx/layout.h>
#include <dtx/read_write_set.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace dtx
{

struct RedoHeader {
    uint64_t txn;
    uint32_t objects;
    uint32_t spares;
};
static_assert(sizeof(RedoHeader) == 16);

/* The length of the record of @writes and so many spare slots. */
size_t redo_bytes(std::span<Access *const> writes, size_t spares);

/* Put the record of @writes, sealed objects, and @spares into @record. */
void encode_redo(uint64_t txn, std::span<Access *const> writes, std::span<const Spare> spares,
                 std::vector<unsigned char> &record);

/* Calls @take_object for each object of a record, then @take_spare, unless empty, for each spare
 * slot. False: the record does not fit this layout or an object in it is torn; then nothing was
 * called. */
bool decode_redo(
    const Layout &layout, uint32_t shards, const void *record, size_t bytes,
    const std::function<void(Address, const unsigned char *image, uint32_t bytes)> &take_object,
    const std::function<void(const Spare &)> &take_spare = {});

/* Is this record, which decode_redo() accepts, of no transaction? It names slots that its
 * coordinator had by then, so it need not be in all logs. */
bool is_note(const void *record);

} // namespace dtx
#endif
