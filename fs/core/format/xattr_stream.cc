/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xattr_stream.cc: extended attributes to bytes and back.
 *
 * Tests: tests/unit/fs/format/xattr_stream_test.cpp
 */
#include "core/format/xattr_stream.h"

#include "core/base/assert.h"

#include <cstring>

namespace rfs
{

size_t stream_bytes(const std::vector<Xattr> &attributes)
{
    size_t bytes = 0;

    for (const Xattr &each : attributes)
        bytes += sizeof(XattrHead) + each.name.size() + each.value.size();
    return bytes;
}

std::string encode_xattrs(const std::vector<Xattr> &attributes)
{
    std::string stream;

    RFS_ASSERT(stream_bytes(attributes) <= kXattrsMax); /* so a value's length fits into its head */
    for (const Xattr &each : attributes) {
        XattrHead head{ static_cast<uint8_t>(each.name.size()), 0,
                        static_cast<uint16_t>(each.value.size()) };

        RFS_ASSERT(!each.name.empty() && each.name.size() <= kNameMax);
        stream.append(reinterpret_cast<const char *>(&head), sizeof(head));
        stream += each.name;
        stream += each.value;
    }
    return stream;
}

/* Takes the first attribute from a stream. False: it is damaged. */
static bool take_xattr(std::string_view &stream, Xattr &taken)
{
    XattrHead head;

    if (stream.size() < sizeof(head))
        return false;
    std::memcpy(&head, stream.data(), sizeof(head));
    stream.remove_prefix(sizeof(head));
    if (head.name_bytes == 0 || head.unused != 0 ||
        stream.size() < size_t{ head.name_bytes } + head.value_bytes)
        return false;
    taken.name = stream.substr(0, head.name_bytes);
    taken.value = stream.substr(head.name_bytes, head.value_bytes);
    stream.remove_prefix(size_t{ head.name_bytes } + head.value_bytes);
    return taken.name.find('\0') == taken.name.npos;
}

std::optional<std::vector<Xattr>> decode_xattrs(std::string_view stream)
{
    std::vector<Xattr> attributes;

    while (!stream.empty()) {
        Xattr next;

        if (!take_xattr(stream, next) ||
            (!attributes.empty() && next.name <= attributes.back().name))
            return std::nullopt;
        attributes.push_back(next);
    }
    return attributes;
}

} // namespace rfs
