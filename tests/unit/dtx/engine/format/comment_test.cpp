// SPDX-License-Identifier: BSD-3-Clause
#include "engine/format/comment.h"

#include "support/catch.h"

#include <vector>

using Bytes = std::vector<unsigned char>;

TEST_CASE("dtx: a comment of any length is read as it was written", "[unit]")
{
    for (size_t length : { size_t{ 0 }, size_t{ 1 }, size_t{ 7 }, dtx::Schema::kCommentMax }) {
        Bytes bytes(dtx::kCommentRoom);
        std::string text(length, 'x');

        dtx::encode_comment(text, bytes.data());
        CHECK(dtx::decode_comment(bytes.data()) == text);
    }
}

TEST_CASE("dtx: each flipped bit of a comment or its header is found, and so are zeros", "[unit]")
{
    Bytes bytes(dtx::kCommentRoom);
    std::string text = "rows=17";

    CHECK_FALSE(dtx::decode_comment(bytes.data()));
    dtx::encode_comment(text, bytes.data());
    for (size_t bit = 0; bit < 8 * (sizeof(dtx::CommentHeader) + text.size()); bit++) {
        bytes[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
        CHECK_FALSE(dtx::decode_comment(bytes.data()));
        bytes[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
    }
    CHECK(dtx::decode_comment(bytes.data()) == text);
}
