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
    uint32_t unused;
};
static_assert(sizeof(RedoHeader) == 16);

/* The length of the record of @writes. */
size_t redo_bytes(std::span<Access *const> writes);

/* Put the record of @writes, sealed objects, into @record. */
void encode_redo(uint64_t txn, std::span<Access *const> writes, std::vector<unsigned char> &record);

/* Calls @callback for each object of a record. False: the record does not fit this layout or a
 * database of @shards, and @callback was not called. */
bool decode_redo(
    const Layout &layout, uint32_t shards, const void *record, size_t bytes,
    const std::function<void(Address, const unsigned char *image, uint32_t bytes)> &callback);

} // namespace dtx
#endif
