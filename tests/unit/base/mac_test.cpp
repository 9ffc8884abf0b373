// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/mac.h"
}
#include "support/catch.h"

#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

using Mac = std::array<unsigned char, RPMI_MAC_BYTES>;

static Mac mac_of(const std::string &secret, const std::vector<std::string> &texts)
{
    std::vector<rpmi_chunk> chunks;
    Mac mac = {};

    for (const std::string &text : texts)
        chunks.push_back({ text.data(), text.size() });
    REQUIRE(rpmi_mac(secret.c_str(), chunks.data(), chunks.size(), mac.data()) == 0);
    return mac;
}

static std::string hex(const Mac &mac)
{
    std::string text;
    char two[3];

    for (unsigned char byte : mac) {
        snprintf(two, sizeof(two), "%02x", byte);
        text += two;
    }
    return text;
}

// printf '\x09\0\0\0\0\0\0\0some text' | openssl dgst -sha256 -hmac 'open sesame'
TEST_CASE("mac: a mac is HMAC-SHA-256 of the chunks with their lengths", "[base]")
{
    CHECK(hex(mac_of("open sesame", { "some text" })) ==
          "1685ef4c1d4e55d75b1e2501427f1fc1a7e92a1ed38a742ce5af97393a2ccde5");
}

TEST_CASE("mac: a mac depends on the secret, the bytes and the division into chunks", "[base]")
{
    std::set<Mac> all = {
        mac_of("", { "ab", "c" }),   mac_of("x", { "ab", "c" }), mac_of("x", { "a", "bc" }),
        mac_of("x", { "abc" }),      mac_of("x", { "abd" }),     mac_of("x", { "abc", "" }),
        mac_of("xy", { "ab", "c" }),
    };

    CHECK(all.size() == 7);
}

TEST_CASE("mac: comparison detects a difference in any bit", "[base]")
{
    Mac mac = mac_of("x", { "abc" });
    Mac same = mac;

    CHECK(rpmi_mac_same(mac.data(), same.data()));
    for (size_t bit = 0; bit < 8 * mac.size(); bit++) {
        Mac other = mac;

        other[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
        CHECK_FALSE(rpmi_mac_same(mac.data(), other.data()));
    }
}

TEST_CASE("mac: a nonce does not come twice", "[base]")
{
    std::set<std::array<unsigned char, RPMI_NONCE_BYTES>> seen;

    for (int i = 0; i < 1000; i++) {
        std::array<unsigned char, RPMI_NONCE_BYTES> nonce = {};

        REQUIRE(rpmi_nonce(nonce.data()) == 0);
        seen.insert(nonce);
    }
    CHECK(seen.size() == 1000);
}
