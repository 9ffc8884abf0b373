/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * comment.h: the schema's comment, which each shard has behind its descriptor: a header, then the
 * text.
 *
 * Format: dtx/FORMAT.md.
 *
 * Tests: tests/unit/dtx/engine/format/comment_test.cpp
 */
#ifndef DTX_ENGINE_FORMAT_COMMENT_H
#define DTX_ENGINE_FORMAT_COMMENT_H

#include <dtx/schema.h>

#include <cstdint>
#include <optional>
#include <string>

namespace dtx
{

inline constexpr uint64_t kCommentOffset = 64; /* in a shard */

struct CommentHeader {
    uint64_t bytes;
    uint64_t checksum; /* of the text, seeded with its length */
};
static_assert(sizeof(CommentHeader) == 16);

/* Header and text of the longest comment. */
inline constexpr size_t kCommentRoom = sizeof(CommentHeader) + Schema::kCommentMax;

/* @into: room for kCommentRoom bytes. */
void encode_comment(const std::string &comment, unsigned char *into);

/* @from: kCommentRoom bytes. nullopt: they are damaged. */
std::optional<std::string> decode_comment(const unsigned char *from);

} // namespace dtx
#endif
