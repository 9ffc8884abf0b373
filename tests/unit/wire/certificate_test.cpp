// SPDX-License-Identifier: BSD-3-Clause
// Certificates: only the server that has the key makes one, and no bit of it can be changed.
#include "support/catch.h"

extern "C" {
#include "wire/certificate.h"
}
#include <cstring>
#include <librpm/error.h>

static const uint64_t KEY[RPMI_CERTIFICATE_KEY_WORDS] = { 1, ~0ull };

static rpmi_certificate sample()
{
    rpmi_certificate made = {};

    made.level = RPM_DURABLE;
    made.log_id = 5;
    made.first_lsn = 64;
    made.end_lsn = 256;
    made.epoch = 2;
    made.server_epoch = 9;
    return made;
}

TEST_CASE("certificate: what the server states is read unchanged", "[unit]")
{
    unsigned char bytes[RPMI_CERTIFICATE_BYTES];
    rpmi_certificate in = sample();
    rpmi_certificate out = {};

    for (uint64_t end : { 64ull, 128ull, (1ull << 63) - 64 }) {
        in.end_lsn = end;
        REQUIRE(rpmi_certificate_put(bytes, &in, KEY) == 0);
        REQUIRE(rpmi_certificate_get(bytes, KEY, &out) == 0);
        CHECK(memcmp(&in, &out, sizeof(in)) == 0);
    }
}

TEST_CASE("certificate: each bit that is changed on the way is noticed", "[unit]")
{
    unsigned char bytes[RPMI_CERTIFICATE_BYTES];
    rpmi_certificate in = sample();
    rpmi_certificate out = {};

    REQUIRE(rpmi_certificate_put(bytes, &in, KEY) == 0);
    for (unsigned bit = 0; bit < 8 * sizeof(bytes); bit++) {
        bytes[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
        CAPTURE(bit);
        CHECK(rpmi_certificate_get(bytes, KEY, &out) < 0);
        bytes[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
    }
    CHECK(rpmi_certificate_get(bytes, KEY, &out) == 0);
}

TEST_CASE("certificate: of another key, it is refused", "[unit]")
{
    unsigned char bytes[RPMI_CERTIFICATE_BYTES];
    rpmi_certificate in = sample();
    rpmi_certificate out = {};

    REQUIRE(rpmi_certificate_put(bytes, &in, KEY) == 0);
    for (uint32_t word = 0; word < RPMI_CERTIFICATE_KEY_WORDS; word++) {
        uint64_t other[] = { KEY[0], KEY[1] };

        other[word] ^= 1ull << 40;
        CHECK(rpmi_certificate_get(bytes, other, &out) == RPM_E_DENIED);
    }
}

TEST_CASE("certificate: a refusal gives its reason under any key, and no more", "[unit]")
{
    unsigned char bytes[RPMI_CERTIFICATE_BYTES];
    rpmi_certificate out = sample();

    for (int status : std::initializer_list<int>{ RPM_E_FENCED, RPM_E_NOENT, RPM_E_BUSY, -4095 }) {
        rpmi_certificate_refuse(bytes, status);
        CHECK(rpmi_certificate_get(bytes, KEY, &out) == status);
        CHECK(out.end_lsn == 256);
    }
    memset(bytes, 0, sizeof(bytes)); // no answer has been written yet
    CHECK(rpmi_certificate_get(bytes, KEY, &out) == RPM_E_DENIED);
}
