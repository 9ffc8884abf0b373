/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * comment.cc: encode and decode the schema's comment.
 *
 * Tests: tests/unit/dtx/engine/format/comment_test.cpp
 */
#include "engine/format/comment.h"

#include "engine/base/assert.h"

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtx
{

void encode_comment(const std::string &comment, unsigned char *into)
{
    CommentHeader header{ comment.size(),
                          XXH3_64bits_withSeed(comment.data(), comment.size(), comment.size()) };

    DTX_ASSERT(comment.size() <= Schema::kCommentMax);
    std::memcpy(into, &header, sizeof(header));
    std::memcpy(into + sizeof(header), comment.data(), comment.size());
}

/* The checksum refuses zeros: that of an empty comment is not 0. */
std::optional<std::string> decode_comment(const unsigned char *from)
{
    const char *text = reinterpret_cast<const char *>(from) + sizeof(CommentHeader);
    CommentHeader header;

    std::memcpy(&header, from, sizeof(header));
    if (header.bytes > Schema::kCommentMax ||
        header.checksum != XXH3_64bits_withSeed(text, header.bytes, header.bytes))
        return std::nullopt;
    return std::string(text, header.bytes);
}

} // namespace dtx
