/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shard_header.cc: put the parts of a shard's header in their places.
 *
 * Tests: tests/unit/dtx/engine/format/shard_header_test.cpp
 */
#include "engine/format/shard_header.h"

#include "engine/base/assert.h"
#include "engine/format/comment.h"
#include "engine/format/description.h"

#include <cstring>

namespace dtx
{

static_assert(sizeof(Descriptor) <= kCommentOffset);
static_assert(kCommentOffset + kCommentRoom <= kStateOffset);
static_assert(kDescriptorBytes + kDescriptionMax <= kTablesOffset);

std::vector<unsigned char> encode_shard_header(const Descriptor &descriptor,
                                               const std::string &comment, const ServerState *own,
                                               const std::string &description)
{
    std::vector<unsigned char> header(kTablesOffset);

    DTX_ASSERT(description.size() <= kDescriptionMax);
    std::memcpy(&header[0], &descriptor, sizeof(descriptor));
    encode_comment(comment, &header[kCommentOffset]);
    for (uint64_t nth = 0; own != nullptr && nth < 2; nth++) {
        StateRecord record = record_of(*own);

        std::memcpy(&header[state_offset(own->sequence, nth)], &record, sizeof(record));
    }
    std::memcpy(&header[kDescriptorBytes], description.data(), description.size());
    return header;
}

} // namespace dtx
