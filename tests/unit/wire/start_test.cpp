// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/bytes.h"
#include "base/err.h"
#include "wire/start.h"
#include "wire/super.h"
}
#include "support/catch.h"

#include <cstring>
#include <vector>

using Bytes = std::vector<unsigned char>;

static Bytes made(uint32_t starts)
{
    Bytes word(RPMI_START_BYTES, 0xee);
    rpmi_start_count start = { starts };

    rpmi_start_put(word.data(), &start);
    return word;
}

TEST_CASE("start: a counter is decoded unchanged", "[unit]")
{
    for (uint32_t starts : { 0u, 1u, 7u, 1u << 31, UINT32_MAX }) {
        rpmi_start_count out = { 99 };

        REQUIRE(rpmi_start_get(made(starts).data(), &out) == 0);
        CHECK(out.starts == starts);
    }
}

TEST_CASE("start: zeros and every flipped bit are refused", "[unit]")
{
    Bytes word = made(7);
    rpmi_start_count out = { 99 };

    for (unsigned bit = 0; bit < 8 * RPMI_START_BYTES; bit++) {
        word[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
        REQUIRE(rpmi_start_get(word.data(), &out) == RPM_E_TORN);
        word[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
    }
    REQUIRE(rpmi_start_get(Bytes(RPMI_START_BYTES).data(), &out) == RPM_E_TORN);
    CHECK(out.starts == 99);
}

TEST_CASE("start: what formatting leaves behind the superblock is new, other bytes are not",
          "[unit]")
{
    const uint64_t bytes = RPMI_DIR_OFFSET - RPMI_SUPER_BYTES;
    Bytes page(bytes);
    auto is_new = [&] { return rpmi_start_is_new(page.data(), RPMI_SUPER_BYTES, bytes); };

    CHECK(is_new());
    for (uint64_t copy : { 0u, 1u }) {
        uint64_t at = RPMI_START_AT + copy * RPMI_START_STRIDE - RPMI_SUPER_BYTES;

        memcpy(&page[at], made(0).data(), RPMI_START_BYTES);
        CHECK(is_new());
        CHECK(rpmi_start_is_new(&page[at], RPMI_SUPER_BYTES + at, RPMI_START_BYTES));
        CHECK_FALSE(rpmi_start_is_new(&page[at], RPMI_SUPER_BYTES + at + 8, RPMI_START_BYTES));
    }
    Bytes formatted = page;
    for (uint64_t at = 0; at < bytes; at += RPMI_START_BYTES) {
        memcpy(&page[at], made(1).data(), RPMI_START_BYTES); // a server has started
        REQUIRE_FALSE(is_new());
        page = formatted;
        page[at + 3] ^= 1;
        REQUIRE_FALSE(is_new());
        page = formatted;
    }
}
