// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/bytes.h"
#include "base/err.h"
#include "wire/hello.h"
}
#include "support/catch.h"
#include "support/death.h"

#include <cstring>
#include <string>

static rpmi_hello sample_hello()
{
    rpmi_hello hello = {};

    hello.version = RPMI_PROTOCOL_VERSION;
    hello.mode = RPMI_MODE_RING;
    hello.depth = 256;
    hello.staging_bytes = 8ull << 30;
    strcpy(hello.secret, "open sesame");
    return hello;
}

static rpmi_accept sample_accept()
{
    rpmi_accept accepted = {};

    accepted.version = RPMI_PROTOCOL_VERSION;
    accepted.mode = RPMI_MODE_DIRECT;
    accepted.client = 1;
    accepted.server_epoch = 2;
    accepted.depth = 3;
    accepted.staging_bytes = 4ull << 32;
    accepted.pool_bytes = 5ull << 32;
    accepted.dram_bytes = 6ull << 32;
    accepted.facts = rpm_facts_init();
    accepted.facts.medium = RPM_MEDIUM_TMPFS;
    accepted.facts.domain = RPM_DOMAIN_ADR;
    accepted.facts.domain_declared = 1;
    accepted.facts.ddio = RPM_UNKNOWN;
    accepted.facts.native_flush = RPM_NO;
    accepted.facts.atomic_write = RPM_YES;
    accepted.facts.memory_window = RPM_NO;
    accepted.facts.granularity_bytes = 64;
    accepted.facts.line_bytes = 256;
    accepted.facts.methods = 1u << RPM_METHOD_STORE;
    accepted.facts.memory_node = 1;
    accepted.facts.port_node = -1;
    accepted.facts.modelled = 1;
    accepted.facts.pool_starts = 7;
    accepted.steps = 1u << 31 | 1; // kinds without a name are taken
    return accepted;
}

TEST_CASE("hello: an encoded hello is decoded unchanged", "[unit]")
{
    unsigned char bytes[RPMI_HELLO_BYTES];
    rpmi_hello in = sample_hello();
    rpmi_hello out = {};

    memset(bytes, 0xff, sizeof(bytes));
    rpmi_hello_put(bytes, &in);
    REQUIRE(rpmi_hello_get(bytes, sizeof(bytes), &out) == 0);
    REQUIRE(out.version == in.version);
    REQUIRE(out.mode == in.mode);
    REQUIRE(out.depth == in.depth);
    REQUIRE(out.staging_bytes == in.staging_bytes);
    REQUIRE(std::string(out.secret) == "open sesame");
}

TEST_CASE("hello: another version is distinguished from garbage, at any length", "[unit]")
{
    unsigned char bytes[RPMI_HELLO_BYTES + 64] = {};
    rpmi_hello hello = sample_hello();

    rpmi_hello_put(bytes, &hello);
    rpmi_store32(bytes + 8, RPMI_PROTOCOL_VERSION + 1);
    for (size_t len : { size_t(12), size_t(100), size_t(RPMI_HELLO_BYTES), sizeof(bytes) })
        REQUIRE(rpmi_hello_get(bytes, len, &hello) == RPM_E_VERSION);
    REQUIRE(rpmi_hello_get(bytes, 11, &hello) == RPM_E_PROTO);
    rpmi_store32(bytes + 8, RPMI_PROTOCOL_VERSION);
    for (size_t len : { size_t(0), size_t(12), size_t(RPMI_HELLO_BYTES - 1), sizeof(bytes) })
        REQUIRE(rpmi_hello_get(bytes, len, &hello) == RPM_E_PROTO);
    bytes[0] ^= 1;
    REQUIRE(rpmi_hello_get(bytes, RPMI_HELLO_BYTES, &hello) == RPM_E_PROTO);
    REQUIRE(rpmi_hello_get("GET / HTTP/1.1\r\n\r\n", 18, &hello) == RPM_E_PROTO);
}

TEST_CASE("hello: fields that no librpm sends are refused", "[unit]")
{
    static const struct {
        unsigned at;
        uint32_t value;
    } CASES[] = { { 12, 3 }, { 20, 1 }, { 156, 'x' }, { 160, 1 }, { 252, 1u << 24 } };

    for (const auto &test : CASES) {
        unsigned char bytes[RPMI_HELLO_BYTES];
        rpmi_hello hello = sample_hello();
        rpmi_hello out = {};

        rpmi_hello_put(bytes, &hello);
        rpmi_store32(bytes + test.at, test.value);
        CAPTURE(test.at);
        REQUIRE(rpmi_hello_get(bytes, sizeof(bytes), &out) == RPM_E_PROTO);
        REQUIRE(out.version == 0);
    }
}

TEST_CASE("accept: an encoded accept message is decoded unchanged, facts included", "[unit]")
{
    unsigned char bytes[RPMI_ACCEPT_BYTES];
    rpmi_accept in = sample_accept();
    rpmi_accept out = {};

    memset(bytes, 0xff, sizeof(bytes));
    rpmi_accept_put(bytes, &in);
    REQUIRE(rpmi_accept_get(bytes, sizeof(bytes), &out) == 0);
    REQUIRE(memcmp(&in.facts, &out.facts, sizeof(in.facts)) == 0);
    REQUIRE(out.mode == in.mode);
    REQUIRE(out.client == in.client);
    REQUIRE(out.server_epoch == in.server_epoch);
    REQUIRE(out.depth == in.depth);
    REQUIRE(out.staging_bytes == in.staging_bytes);
    REQUIRE(out.pool_bytes == in.pool_bytes);
    REQUIRE(out.dram_bytes == in.dram_bytes);
    REQUIRE(out.steps == in.steps);
}

TEST_CASE("accept: a refusal needs a status and a text only", "[unit]")
{
    unsigned char bytes[RPMI_ACCEPT_BYTES];
    rpmi_accept in = {};
    rpmi_accept out = {};

    in.version = RPMI_PROTOCOL_VERSION;
    in.status = RPM_E_DENIED;
    strcpy(in.text, "wrong secret");
    rpmi_accept_put(bytes, &in);
    REQUIRE(rpmi_accept_get(bytes, sizeof(bytes), &out) == 0);
    REQUIRE(out.status == RPM_E_DENIED);
    REQUIRE(std::string(out.text) == "wrong secret");
}

TEST_CASE("accept: fields that no librpm sends are refused", "[unit]")
{
    static const struct {
        unsigned at;
        uint32_t value;
    } CASES[] = {
        { 12, 1 },         { 12, 0x80000000u }, { 16, 3 },
        { 16, 0 },         { 20, 0 },           { 24, 0 },
        { 56, 7 },         { 60, 4 },           { 64, 2 },
        { 68, 3 },         { 72, 3 },           { 76, 3 },
        { 80, 3 },         { 92, 1u << 9 },     { 96, static_cast<uint32_t>(-2) },
        { 100, 1u << 31 }, { 104, 2 },          { 268, 'x' },
        { 276, 1 },        { 380, 1 },
    };

    for (const auto &test : CASES) {
        unsigned char bytes[RPMI_ACCEPT_BYTES];
        rpmi_accept accepted = sample_accept();
        rpmi_accept out = {};

        rpmi_accept_put(bytes, &accepted);
        rpmi_store32(bytes + test.at, test.value);
        CAPTURE(test.at, test.value);
        REQUIRE(rpmi_accept_get(bytes, sizeof(bytes), &out) == RPM_E_PROTO);
        REQUIRE(out.version == 0);
    }
}

TEST_CASE("accept: lengths and versions are judged as a hello's", "[unit]")
{
    unsigned char bytes[RPMI_ACCEPT_BYTES + 1] = {};
    rpmi_accept accepted = sample_accept();

    rpmi_accept_put(bytes, &accepted);
    REQUIRE(rpmi_accept_get(bytes, RPMI_ACCEPT_BYTES - 1, &accepted) == RPM_E_PROTO);
    REQUIRE(rpmi_accept_get(bytes, RPMI_ACCEPT_BYTES + 1, &accepted) == RPM_E_PROTO);
    REQUIRE(rpmi_hello_get(bytes, RPMI_HELLO_BYTES, nullptr) == RPM_E_PROTO);
    rpmi_store32(bytes + 8, 7);
    REQUIRE(rpmi_accept_get(bytes, 12, &accepted) == RPM_E_VERSION);
}

TEST_CASE("hello: invalid arguments of the encoder are an assertion", "[unit]")
{
    unsigned char bytes[RPMI_ACCEPT_BYTES];
    rpmi_hello hello = sample_hello();
    rpmi_accept accepted = sample_accept();

    hello.mode = 9;
    REQUIRE(death_of([&] { rpmi_hello_put(bytes, &hello); }) != "");
    accepted.client = 0;
    REQUIRE(death_of([&] { rpmi_accept_put(bytes, &accepted); }) != "");
}
