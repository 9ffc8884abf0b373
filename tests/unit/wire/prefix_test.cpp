// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"

extern "C" {
#include "base/bytes.h"
#include "wire/prefix.h"
}

#include <librpm/error.h>
#include <string>

static const rpmi_prefix ours = { 0x1122334455667788ull, 7, "a test", "test" };

static bool said(const std::string &text)
{
    return std::string(rpm_last_error()).find(text) != std::string::npos;
}

TEST_CASE("prefix: what was written is accepted", "[unit]")
{
    unsigned char bytes[RPMI_PREFIX_BYTES];

    rpmi_prefix_put(&ours, bytes);
    CHECK(rpmi_load64(bytes) == ours.magic);
    CHECK(rpmi_load32(bytes + 8) == ours.version);
    CHECK(rpmi_prefix_check(&ours, bytes, sizeof(bytes)) == 0);
    CHECK(rpmi_prefix_check(&ours, bytes, sizeof(bytes) + 1) == 0);
}

TEST_CASE("prefix: another message, or a part of one, is refused", "[unit]")
{
    unsigned char bytes[RPMI_PREFIX_BYTES];

    for (size_t i = 0; i < 8; i++) {
        rpmi_prefix_put(&ours, bytes);
        bytes[i] ^= 1;
        CHECK(rpmi_prefix_check(&ours, bytes, sizeof(bytes)) == RPM_E_PROTO);
        CHECK(said("is not a test"));
    }
    rpmi_prefix_put(&ours, bytes);
    CHECK(rpmi_prefix_check(&ours, bytes, 0) == RPM_E_PROTO);
    CHECK(rpmi_prefix_check(&ours, bytes, sizeof(bytes) - 1) == RPM_E_PROTO);
}

TEST_CASE("prefix: another version is refused, and both are named", "[unit]")
{
    unsigned char bytes[RPMI_PREFIX_BYTES];

    for (uint32_t version : { 0u, 6u, 8u, 1u << 24 }) {
        rpmi_prefix_put(&ours, bytes);
        rpmi_store32(bytes + 8, version);
        CHECK(rpmi_prefix_check(&ours, bytes, sizeof(bytes)) == RPM_E_VERSION);
        CHECK(said("test version " + std::to_string(version) + ", this side version 7"));
    }
}
