// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/bytes.h"
#include "base/err.h"
#include "wire/call.h"
}
#include "support/catch.h"
#include "support/death.h"

#include <cstring>
#include <string>

static rpmi_call sample_call()
{
    rpmi_call call = {};

    call.kind = RPMI_CALL_OPEN;
    call.flags = RPMI_CALL_CREATE | RPMI_CALL_EXCL | RPMI_CALL_GUARDED;
    call.key = 3;
    call.object = RPM_KIND_REGION;
    call.bytes = 1ull << 33;
    call.lsn = 1ull << 44;
    strcpy(call.name, "accounts");
    call.id = 1ull << 45;
    call.epoch = 12;
    call.set = { 3, 2, 1, 1ull << 46 };
    call.token = 1ull << 47;
    return call;
}

static rpmi_reply sample_reply()
{
    rpmi_reply reply = {};

    reply.status = RPM_E_EXISTS;
    reply.key = 1;
    reply.object = RPM_KIND_LOG;
    reply.epoch = 2;
    reply.writer = 3;
    reply.flags = uint32_t{ RPMI_CALL_CREATE } | RPMI_REPLY_RUN_LASTS | RPMI_REPLY_BOOT_LASTS;
    reply.bytes = 4ull << 32;
    reply.offset = 5ull << 32;
    reply.id = 6ull << 32;
    reply.value = 7ull << 32;
    reply.token = 10ull << 32;
    strcpy(reply.name, "accounts");
    strcpy(reply.text, "the name is taken");
    reply.certificate_key[0] = 8ull << 32;
    reply.certificate_key[1] = 9ull << 32;
    return reply;
}

TEST_CASE("call: an encoded call of every kind is decoded unchanged", "[unit]")
{
    unsigned char bytes[RPMI_CALL_BYTES];
    rpmi_call in = sample_call();

    for (in.kind = RPMI_CALL_OPEN; in.kind < RPMI_CALL_KINDS; in.kind++) {
        rpmi_call out = {};

        memset(bytes, 0xff, sizeof(bytes));
        rpmi_call_put(bytes, &in);
        REQUIRE(rpmi_call_get(bytes, &out) == 0);
        unsigned char again[RPMI_CALL_BYTES];
        rpmi_call_put(again, &out);
        REQUIRE(memcmp(bytes, again, sizeof(again)) == 0);
        REQUIRE((out.kind == in.kind && out.id == in.id && out.epoch == in.epoch));
        REQUIRE((out.token == in.token && rpmi_membership_is_same(&out.set, &in.set)));
    }
}

TEST_CASE("call: malformed calls are refused", "[unit]")
{
    static const struct {
        unsigned at;
        uint32_t value;
    } CASES[] = {
        { 0, 0 },  { 0, RPMI_CALL_KINDS }, { 0, UINT32_MAX }, { 4, 128 }, { 4, ~0u },
        { 12, 5 }, { 92, 0x78787878u },    { 108, 1u << 24 },
    };

    for (const auto &test : CASES) {
        unsigned char bytes[RPMI_CALL_BYTES];
        rpmi_call call = sample_call();
        rpmi_call out = {};

        rpmi_call_put(bytes, &call);
        rpmi_store32(bytes + test.at, test.value);
        CAPTURE(test.at, test.value);
        REQUIRE(rpmi_call_get(bytes, &out) == RPM_E_PROTO);
        REQUIRE(out.kind == 0);
    }
    unsigned char bytes[RPMI_CALL_BYTES];
    rpmi_call call = sample_call();
    rpmi_call_put(bytes, &call);
    memset(bytes + 32, 'x', 64);
    REQUIRE(rpmi_call_get(bytes, &call) == RPM_E_PROTO);
    REQUIRE(std::string(rpm_last_error()).find("unterminated") != std::string::npos);
}

TEST_CASE("reply: an encoded reply is decoded unchanged", "[unit]")
{
    unsigned char bytes[RPMI_REPLY_BYTES];
    rpmi_reply in = sample_reply();
    rpmi_reply out = {};

    memset(bytes, 0xff, sizeof(bytes));
    rpmi_reply_put(bytes, &in);
    REQUIRE(rpmi_reply_get(bytes, &out) == 0);
    REQUIRE(memcmp(&in, &out, sizeof(in)) == 0);
}

TEST_CASE("reply: malformed replies are refused", "[unit]")
{
    static const struct {
        unsigned at;
        uint32_t value;
    } CASES[] = {
        { 0, 1 },     { 0, 0x80000000u }, { 0, static_cast<uint32_t>(-4096) },
        { 8, 5 },     { 20, 8 },          { 124, 'x' },
        { 284, 'x' }, { 304, 1 },         { 316, 1u << 24 },
    };

    for (const auto &test : CASES) {
        unsigned char bytes[RPMI_REPLY_BYTES];
        rpmi_reply reply = sample_reply();
        rpmi_reply out = {};

        rpmi_reply_put(bytes, &reply);
        rpmi_store32(bytes + test.at, test.value);
        CAPTURE(test.at, test.value);
        REQUIRE(rpmi_reply_get(bytes, &out) == RPM_E_PROTO);
        REQUIRE(out.status == 0);
    }
}

TEST_CASE("call: invalid arguments of the encoder are an assertion", "[unit]")
{
    unsigned char bytes[RPMI_REPLY_BYTES];
    rpmi_call call = sample_call();
    rpmi_reply reply = sample_reply();

    call.kind = 0;
    REQUIRE(death_of([&] { rpmi_call_put(bytes, &call); }) != "");
    call = sample_call();
    memset(call.name, 'x', sizeof(call.name));
    REQUIRE(death_of([&] { rpmi_call_put(bytes, &call); }) != "");
    reply.status = 1;
    REQUIRE(death_of([&] { rpmi_reply_put(bytes, &reply); }) != "");
}
