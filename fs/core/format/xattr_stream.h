/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xattr_stream.h: all extended attributes of a file as one stream of bytes, which is cut into the
 * file's first rows of the table blobs. For each attribute it has an XattrHead, the name and the
 * value.
 *
 * Invariants
 *   names ascend, byte by byte, and none comes twice
 *   no name has a zero byte: listxattr(2) puts one behind each name
 *
 * Tests: tests/unit/fs/format/xattr_stream_test.cpp
 */
#ifndef FS_CORE_FORMAT_XATTR_STREAM_H
#define FS_CORE_FORMAT_XATTR_STREAM_H

#include "core/format/rows.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rfs
{

inline constexpr size_t kXattrsMax = 64 << 10; /* bytes of a stream */

struct XattrHead {
    uint8_t name_bytes; /* 1 to kNameMax */
    uint8_t unused;     /* 0 */
    uint16_t value_bytes;
};
static_assert(sizeof(XattrHead) == 4);
static_assert(std::has_unique_object_representations_v<XattrHead>);

/* An attribute. Borrowed: from a stream, or from who sets it. */
struct Xattr {
    std::string_view name;
    std::string_view value;
};

/* How many rows of blobs a stream of so many bytes takes. */
constexpr uint32_t xattr_pieces(size_t bytes)
{
    return static_cast<uint32_t>((bytes + kPieceBytes - 1) / kPieceBytes);
}
static_assert(xattr_pieces(kXattrsMax) <= kFirstTargetPiece);

/* How long the stream of these attributes is. */
size_t stream_bytes(const std::vector<Xattr> &attributes);

/* The stream of attributes in the order of their names, of at most kXattrsMax bytes. */
std::string encode_xattrs(const std::vector<Xattr> &attributes);

/* The attributes of a stream. Borrowed from it. nullopt: it is damaged. */
std::optional<std::vector<Xattr>> decode_xattrs(std::string_view stream);

} // namespace rfs
#endif
