// SPDX-License-Identifier: BSD-3-Clause
#include "engine/format/shard_header.h"

#include "support/catch.h"

#include <algorithm>
#include <cstring>

using Bytes = std::vector<unsigned char>;

namespace
{

// Is @part at @offset of @bytes?
bool has(const Bytes &bytes, size_t offset, const std::string &part)
{
    return std::memcmp(&bytes[offset], part.data(), part.size()) == 0;
}

const dtx::Descriptor &descriptor()
{
    static dtx::Descriptor found{};

    dtx::seal(found);
    return found;
}

} // namespace

TEST_CASE("dtx: the parts of a shard's header have their places, and the rest is zeros", "[unit]")
{
    Bytes header = dtx::encode_shard_header(descriptor(), "rows=17", nullptr, "test\n");
    Bytes zeros(header.size());

    REQUIRE(header.size() == 24576);
    CHECK(std::memcmp(&header[0], &descriptor(), sizeof(dtx::Descriptor)) == 0);
    CHECK(has(header, 80, "rows=17"));
    CHECK(has(header, 4096, "test\n"));
    std::fill(header.begin(), header.begin() + 56, 0);
    std::fill(header.begin() + 64, header.begin() + 87, 0);
    std::fill(header.begin() + 4096, header.begin() + 4101, 0);
    CHECK(header == zeros);
}

TEST_CASE("dtx: the header of a server's own shard has its state twice", "[unit]")
{
    dtx::ServerState state{ 3, 2, { 2 }, {} };
    dtx::StateRecord record = dtx::record_of(state);
    Bytes header = dtx::encode_shard_header(descriptor(), "", &state, "");
    dtx::StateCopies copies;

    CHECK(std::memcmp(&header[3584], &record, sizeof(record)) == 0);
    CHECK(std::memcmp(&header[3840], &record, sizeof(record)) == 0);
    std::memcpy(&copies, &header[dtx::kStateOffset], sizeof(copies));
    CHECK(dtx::state_in(copies) == state);
}
