// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/bytes.h"
#include "base/err.h"
#include "wire/message.h"
#include "wire/op_kind.h"
}
#include "support/catch.h"

#include <cstring>
#include <vector>

static rpmi_rpc sample_copy(uint64_t len, uint32_t body_bytes)
{
    return { RPMI_OP_COPY, RPMI_OP_DURABLE, 7, 4096, len, body_bytes };
}

// An RPC request message with its body behind it.
static std::vector<unsigned char> message_of(const rpmi_rpc &rpc)
{
    std::vector<unsigned char> message(RPMI_RPC_BYTES + rpc.body_bytes, 0x5a);

    rpmi_rpc_put(message.data(), &rpc);
    return message;
}

TEST_CASE("message: an encoded RPC request is decoded unchanged", "[verbs]")
{
    std::vector<unsigned char> message = message_of(sample_copy(192, 100));
    uint32_t bytes = static_cast<uint32_t>(message.size());
    rpmi_rpc found;

    REQUIRE(rpmi_msg_kind(message.data(), bytes) == RPMI_MSG_RPC);
    REQUIRE(rpmi_rpc_get(message.data(), bytes, &found) == 0);
    CHECK(found.kind == RPMI_OP_COPY);
    CHECK(found.flags == RPMI_OP_DURABLE);
    CHECK(found.key == 7);
    CHECK(found.offset == 4096);
    CHECK(found.len == 192);
    CHECK(found.body_bytes == 100);
}

TEST_CASE("message: an RPC request shorter than its fields say is refused", "[verbs]")
{
    const std::vector<unsigned char> good = message_of(sample_copy(256, 100));
    uint32_t bytes = static_cast<uint32_t>(good.size());
    rpmi_rpc found;
    auto changed = [&](size_t at, unsigned char to) {
        std::vector<unsigned char> message = good;
        message[at] = to;
        return rpmi_rpc_get(message.data(), bytes, &found);
    };

    CHECK(changed(8, RPMI_OP_COPY) == 0);
    for (int kind = 0; kind < 256; kind++)
        if (kind != RPMI_OP_COPY) // nor a STEPS: it has no key
            CHECK(changed(8, static_cast<unsigned char>(kind)) == RPM_E_PROTO);
    CHECK(changed(9, RPMI_OP_SIGNALED) == RPM_E_PROTO);
    for (size_t reserved : { 10, 11, 36, 39 })
        CHECK(changed(reserved, 1) == RPM_E_PROTO);
    CHECK(changed(32, 99) == RPM_E_PROTO);  // fewer bytes than follow
    CHECK(changed(32, 101) == RPM_E_PROTO); // more
    CHECK(changed(25, 0) == RPM_E_PROTO);   // shorter than its bytes
    rpmi_rpc persist = sample_copy(256, 8);
    persist.kind = RPMI_OP_PERSIST;
    std::vector<unsigned char> with_bytes = message_of(persist);
    CHECK(rpmi_rpc_get(with_bytes.data(), static_cast<uint32_t>(with_bytes.size()), &found) ==
          RPM_E_PROTO);
}

TEST_CASE("message: a list of steps and its answer have bounds of their own", "[verbs]")
{
    rpmi_rpc rpc = {};
    rpmi_rpc found;
    auto taken = [&](uint64_t len, uint32_t body) {
        rpc.kind = RPMI_OP_STEPS;
        rpc.len = len;
        rpc.body_bytes = body;
        std::vector<unsigned char> message = message_of(rpc);
        return rpmi_rpc_get(message.data(), static_cast<uint32_t>(message.size()), &found);
    };

    CHECK(taken(8, 16) == 0); // an answer shorter than its list
    CHECK(found.len == 8);
    CHECK(found.body_bytes == 16);
    CHECK(taken(RPMI_STEPS_BYTES, RPMI_RPC_BODY_MAX) == 0);
    CHECK(taken(7, 16) == RPM_E_PROTO);
    CHECK(taken(RPMI_STEPS_BYTES + 1, 16) == RPM_E_PROTO);
    CHECK(taken(8, 0) == RPM_E_PROTO);
    rpc.key = 1;
    CHECK(taken(8, 16) == RPM_E_PROTO);
    rpc.key = 0;
    rpc.offset = 8;
    CHECK(taken(8, 16) == RPM_E_PROTO);

    std::vector<unsigned char> result(RPMI_RESULT_MSG + 8);
    uint64_t done = 0;
    for (uint32_t answer : { 0u, 7u, 8u, RPMI_STEPS_BYTES, RPMI_STEPS_BYTES + 1 }) {
        bool fits = answer >= 8 && answer <= RPMI_STEPS_BYTES;

        rpmi_result_put(result.data(), 77, answer);
        CHECK(rpmi_msg_kind(result.data(), RPMI_RESULT_BYTES + answer) ==
              (fits ? uint32_t{ RPMI_MSG_RESULT } : 0));
    }
    CHECK(rpmi_result_get(result.data(), &done) == 0);
    CHECK(done == 77);
    rpmi_result_put(result.data(), 0, 8);
    CHECK(rpmi_result_get(result.data(), &done) == RPM_E_PROTO);
}

TEST_CASE("message: a message whose length does not fit its kind is refused", "[verbs]")
{
    const std::pair<enum rpmi_msg_kind, uint32_t> all[] = {
        { RPMI_MSG_AUTH, RPMI_AUTH_MSG },   { RPMI_MSG_ACCEPT, RPMI_ACCEPT_MSG },
        { RPMI_MSG_CALL, RPMI_CALL_MSG },   { RPMI_MSG_REPLY, RPMI_REPLY_MSG },
        { RPMI_MSG_DONE, RPMI_DONE_BYTES }, { RPMI_MSG_FENCED, RPMI_FENCED_BYTES },
    };

    for (const auto &one : all) {
        std::vector<unsigned char> message(one.second + 1);

        CAPTURE(one.first);
        for (uint32_t len = 0; len <= one.second + 1; len++) {
            if (len >= RPMI_MSG_HEAD)
                rpmi_msg_head(message.data(), one.first, len);
            uint32_t kind = rpmi_msg_kind(message.data(), len);
            CHECK(kind == (len == one.second ? static_cast<uint32_t>(one.first) : 0));
        }
        rpmi_msg_head(message.data(), one.first, one.second);
        CHECK(rpmi_msg_kind(message.data(), one.second + 1) == 0);
    }
    std::vector<unsigned char> message(RPMI_RPC_MSG + 1);
    for (uint32_t len : { RPMI_RPC_BYTES - 1, RPMI_RPC_MSG + 1 }) {
        rpmi_msg_head(message.data(), RPMI_MSG_RPC, len);
        CHECK(rpmi_msg_kind(message.data(), len) == 0);
    }
    rpmi_store32(message.data(), 0);
    CHECK(rpmi_msg_kind(message.data(), RPMI_MSG_HEAD) == 0);
    rpmi_store32(message.data(), 8);
    CHECK(rpmi_msg_kind(message.data(), RPMI_MSG_HEAD) == 0);
}

TEST_CASE("message: an impossible key is refused", "[verbs]")
{
    const rpmi_grant_key key = { 0x7f0000001000, 8192, 4096, 0x11, 0x22, 7 };
    unsigned char bytes[RPMI_GRANT_BYTES];
    rpmi_grant_key found;

    rpmi_grant_put(bytes, &key);
    REQUIRE(rpmi_grant_get(bytes, &found) == 0);
    CHECK(found.address == key.address);
    CHECK(found.bytes == key.bytes);
    CHECK(found.guarded_bytes == key.guarded_bytes);
    CHECK(found.read_rkey == key.read_rkey);
    CHECK(found.write_rkey == key.write_rkey);
    CHECK(found.rights == key.rights);
    rpmi_store32(bytes + 32, 8);
    CHECK(rpmi_grant_get(bytes, &found) == RPM_E_PROTO);
    rpmi_grant_put(bytes, &key);
    rpmi_store64(bytes + 16, 8193);
    CHECK(rpmi_grant_get(bytes, &found) == RPM_E_PROTO);
    rpmi_grant_put(bytes, &key);
    rpmi_store64(bytes, UINT64_MAX - 8191);
    CHECK(rpmi_grant_get(bytes, &found) == RPM_E_PROTO);
}

TEST_CASE("message: an accept message grants 2 to 64 messages", "[verbs]")
{
    const rpmi_grant_key key = { 0x7f0000001000, 64, 0, 0x11, 0x22, 7 };
    std::vector<unsigned char> bytes(RPMI_ACCEPT_MSG, 0xff);
    uint32_t messages = 0;
    rpmi_grant_key found;

    for (uint32_t granted : { RPMI_MESSAGES_MIN, RPMI_MESSAGES_MAX }) {
        rpmi_accept_msg_put(bytes.data(), granted, &key);
        CHECK(rpmi_msg_kind(bytes.data(), RPMI_ACCEPT_MSG) == RPMI_MSG_ACCEPT);
        CHECK(rpmi_msg_bytes(bytes.data()) == RPMI_ACCEPT_MSG);
        REQUIRE(rpmi_accept_msg_get(bytes.data(), &messages, &found) == 0);
        CHECK(messages == granted);
        CHECK(found.address == key.address);
    }
    for (uint32_t refused : { 0u, RPMI_MESSAGES_MIN - 1, RPMI_MESSAGES_MAX + 1, UINT32_MAX }) {
        rpmi_store32(bytes.data() + RPMI_ACCEPT_AT_MESSAGES, refused);
        CHECK(rpmi_accept_msg_get(bytes.data(), &messages, &found) == RPM_E_PROTO);
    }
    rpmi_accept_msg_put(bytes.data(), 64, &key);
    bytes[RPMI_ACCEPT_AT_MESSAGES + 4] = 1;
    CHECK(rpmi_accept_msg_get(bytes.data(), &messages, &found) == RPM_E_PROTO);
    rpmi_accept_msg_put(bytes.data(), 64, &key);
    bytes[RPMI_ACCEPT_AT_GRANT + 32] = 8; // a right that does not exist
    CHECK(rpmi_accept_msg_get(bytes.data(), &messages, &found) == RPM_E_PROTO);
}

TEST_CASE("message: done has the count of requests and the status of the last one", "[verbs]")
{
    unsigned char bytes[RPMI_DONE_BYTES];
    uint64_t done;
    int32_t status;

    rpmi_done_put(bytes, 1ull << 40, RPM_E_FENCED);
    REQUIRE(rpmi_msg_kind(bytes, sizeof(bytes)) == RPMI_MSG_DONE);
    REQUIRE(rpmi_done_get(bytes, &done, &status) == 0);
    CHECK(done == 1ull << 40);
    CHECK(status == RPM_E_FENCED);
    rpmi_store32(bytes + 16, 1);
    CHECK(rpmi_done_get(bytes, &done, &status) == RPM_E_PROTO);
    rpmi_store32(bytes + 16, 0);
    rpmi_store32(bytes + 20, 1);
    CHECK(rpmi_done_get(bytes, &done, &status) == RPM_E_PROTO);
}

TEST_CASE("message: a fenced answer must name a possible key", "[verbs]")
{
    unsigned char bytes[RPMI_FENCED_BYTES];
    uint32_t key;

    rpmi_fenced_put(bytes, RPMI_KEYS_MAX - 1);
    REQUIRE(rpmi_msg_kind(bytes, sizeof(bytes)) == RPMI_MSG_FENCED);
    REQUIRE(rpmi_fenced_get(bytes, &key) == 0);
    CHECK(key == RPMI_KEYS_MAX - 1);
    rpmi_store32(bytes + 8, RPMI_KEYS_MAX);
    CHECK(rpmi_fenced_get(bytes, &key) == RPM_E_PROTO);
    rpmi_store32(bytes + 8, 1);
    rpmi_store32(bytes + 12, 1);
    CHECK(rpmi_fenced_get(bytes, &key) == RPM_E_PROTO);
}

TEST_CASE("message: immediate data holds key and line, where they fit", "[verbs]")
{
    CHECK(rpmi_imm_fits(255, (1ull << 30) - 1));
    CHECK_FALSE(rpmi_imm_fits(256, 0));
    CHECK_FALSE(rpmi_imm_fits(1, 1ull << 30));
    CHECK(rpmi_imm_make(255, (1ull << 30) - 1) == 0xffffffff);
    CHECK(rpmi_imm_make(3, 130) == (3u << 24 | 2));
}
