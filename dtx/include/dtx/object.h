/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * object.h: the bytes of an object: a header with version and checksum, then the payload. FORMAT.md
 * has the layout.
 *
 * Invariants
 *   a version grows by one with each commit that writes the slot, also when it is deleted or reused
 *   all bytes zero: version 0; never written, or damaged if an object leads there
 *   an object whose checksum is right was written whole by one commit
 *
 * Tests: tests/unit/dtx/engine/format/object_test.cpp
 */
#ifndef DTX_OBJECT_H
#define DTX_OBJECT_H

#include <cstddef>
#include <cstdint>

namespace dtx
{

struct ObjectHeader {
    uint64_t version;
    uint64_t key;    /* of a row; index objects may use it otherwise */
    uint64_t writer; /* number of the transaction that made this version */
    uint32_t flags;  /* enum ObjectFlag */
    uint32_t checksum;
};

enum ObjectFlag : uint32_t {
    kObjectValid = 1 /* else deleted, or never written */
};

static_assert(sizeof(ObjectHeader) == 32);

inline constexpr uint32_t kLineBytes = 64;

/* Room for a payload and its header, in whole cache lines: no line has parts of two objects (H5 to
 * H7). */
constexpr uint32_t slot_bytes(uint32_t payload_bytes)
{
    return (static_cast<uint32_t>(sizeof(ObjectHeader)) + payload_bytes + kLineBytes - 1) /
           kLineBytes * kLineBytes;
}

inline ObjectHeader &header_of(unsigned char *image)
{
    return *reinterpret_cast<ObjectHeader *>(image);
}
inline const ObjectHeader &header_of(const unsigned char *image)
{
    return *reinterpret_cast<const ObjectHeader *>(image);
}

/* Set the checksum of the slot at @image, aligned to 8, of @bytes. */
void seal(unsigned char *image, uint32_t bytes);

/* Is the slot all zeros, or its checksum right? */
bool is_whole(const unsigned char *image, uint32_t bytes);

} // namespace dtx
#endif
