// SPDX-License-Identifier: BSD-3-Clause
// message_test.cpp: the bytes of FORMAT.md section 11: messages over a queue pair.
extern "C" {
#include "base/bytes.h"
#include "wire/message.h"
#include "wire/op_kind.h"
}
#include "golden/golden.h"

#include <algorithm>

// A message of @kind around the bytes of section 7 or 9, which begin after its header.
static Bytes message_around(enum rpmi_msg_kind kind, const std::string &inner, size_t bytes)
{
    Bytes message(bytes);
    Bytes body = golden(inner);

    rpmi_msg_head(message.data(), kind, static_cast<uint32_t>(bytes));
    std::copy(body.begin(), body.end(), message.begin() + RPMI_MSG_HEAD);
    return message;
}

static const rpmi_grant_key GRANT = { 0x7f0000001000, 69632, 4096, 0x1234, 0x5678, 3 };

TEST_CASE("golden: messages of auth and call are their bytes", "[golden]")
{
    Bytes auth = golden("message_auth");
    Bytes call = golden("message_call");

    CHECK(message_around(RPMI_MSG_AUTH, "auth", RPMI_AUTH_MSG) == auth);
    CHECK(message_around(RPMI_MSG_CALL, "call", RPMI_CALL_MSG) == call);
    CHECK(rpmi_msg_kind(auth.data(), 200) == 1);
    CHECK(rpmi_msg_kind(call.data(), 136) == 3);
}

TEST_CASE("golden: messages of accept and reply are their bytes, with what they grant", "[golden]")
{
    Bytes expected = golden("message_accept");
    Bytes made(RPMI_ACCEPT_MSG, 0xff);

    rpmi_transcript transcript = golden_transcript();
    rpmi_accept accepted = {};
    REQUIRE(rpmi_sealed_get(&transcript, SECRET, golden("sealed").data(), &accepted) == 0);
    rpmi_accept_msg_put(made.data(), 64, &GRANT);
    transcript.beside_bytes = RPMI_ACCEPT_BESIDE;
    std::copy(made.end() - RPMI_ACCEPT_BESIDE, made.end(), transcript.beside);
    REQUIRE(rpmi_sealed_make(&transcript, SECRET, &accepted, made.data() + RPMI_MSG_HEAD) == 0);
    CHECK(made == expected);
    CHECK(rpmi_msg_kind(expected.data(), 472) == 2);

    expected = golden("message_reply");
    made = message_around(RPMI_MSG_REPLY, "reply", RPMI_REPLY_MSG);
    rpmi_grant_put(made.data() + RPMI_REPLY_AT_GRANT, &GRANT);
    CHECK(made == expected);
    CHECK(rpmi_msg_kind(expected.data(), 368) == 4);
}

TEST_CASE("golden: a grant is read as it was written", "[golden]")
{
    Bytes message = golden("message_reply");
    rpmi_grant_key grant = {};

    REQUIRE(rpmi_grant_get(message.data() + RPMI_REPLY_AT_GRANT, &grant) == 0);
    CHECK(grant.address == GRANT.address);
    CHECK(grant.bytes == GRANT.bytes);
    CHECK(grant.guarded_bytes == GRANT.guarded_bytes);
    CHECK(grant.read_rkey == GRANT.read_rkey);
    CHECK(grant.write_rkey == GRANT.write_rkey);
    CHECK(grant.rights == GRANT.rights);
}

TEST_CASE("golden: an RPC request is encoded to and decoded from the golden bytes", "[golden]")
{
    Bytes expected = golden("message_rpc");
    Bytes made(expected.size(), 0xff);
    rpmi_rpc rpc = {};

    REQUIRE(rpmi_msg_kind(expected.data(), 64) == 5);
    REQUIRE(rpmi_rpc_get(expected.data(), 64, &rpc) == 0);
    CHECK(rpc.kind == RPMI_OP_COPY);
    CHECK(rpc.flags == (RPMI_OP_DURABLE | RPMI_OP_CACHED));
    CHECK(rpc.key == 9);
    CHECK(rpc.offset == 1ull << 44);
    CHECK(rpc.len == 256);
    CHECK(rpc.body_bytes == 24);
    rpmi_rpc_put(made.data(), &rpc);
    for (unsigned char i = 0; i < 24; i++)
        made[RPMI_RPC_BYTES + i] = i;
    CHECK(made == expected);
}

TEST_CASE("golden: a count of RPC requests is encoded to and decoded from the golden bytes",
          "[golden]")
{
    Bytes expected = golden("message_done");
    Bytes made(RPMI_DONE_BYTES, 0xff);
    uint64_t done = 0;
    int32_t status = 0;

    REQUIRE(rpmi_msg_kind(expected.data(), 24) == 6);
    REQUIRE(rpmi_done_get(expected.data(), &done, &status) == 0);
    CHECK(done == 1ull << 40);
    CHECK(status == RPM_E_FENCED);
    rpmi_done_put(made.data(), done, status);
    CHECK(made == expected);
}

TEST_CASE("golden: an RPC request with a list is encoded to and decoded from the golden bytes",
          "[golden]")
{
    Bytes expected = golden("message_steps");
    Bytes list = golden("steps");
    Bytes made(expected.size(), 0xff);
    rpmi_rpc rpc = {};

    REQUIRE(rpmi_msg_kind(expected.data(), 200) == 5);
    REQUIRE(rpmi_rpc_get(expected.data(), 200, &rpc) == 0);
    CHECK(rpc.kind == RPMI_OP_STEPS);
    CHECK(rpc.flags == RPMI_OP_DURABLE);
    CHECK(rpc.len == 200);
    CHECK(rpc.body_bytes == list.size());
    CHECK(memcmp(expected.data() + RPMI_RPC_BYTES, list.data(), list.size()) == 0);
    rpmi_rpc_put(made.data(), &rpc);
    memcpy(made.data() + RPMI_RPC_BYTES, list.data(), list.size());
    CHECK(made == expected);
}

TEST_CASE("golden: a result is encoded to and decoded from the golden bytes", "[golden]")
{
    Bytes expected = golden("message_result");
    Bytes answer = golden("steps_answer");
    Bytes made(expected.size(), 0xff);
    uint64_t done = 0;

    REQUIRE(rpmi_msg_kind(expected.data(), 216) == RPMI_MSG_RESULT);
    REQUIRE(rpmi_result_get(expected.data(), &done) == 0);
    CHECK(done == 1ull << 40);
    rpmi_result_put(made.data(), done, static_cast<uint32_t>(answer.size()));
    memcpy(made.data() + RPMI_RESULT_BYTES, answer.data(), answer.size());
    CHECK(made == expected);
}

TEST_CASE("golden: immediate data says key and line", "[golden]")
{
    CHECK(rpmi_imm_make(9, 0x40 * 0x123456) == 0x09123456);
    CHECK(rpmi_imm_make(255, 0x3fffffff) == 0xffffffff);
    CHECK(rpmi_imm_fits(255, 0x3fffffff));
    CHECK_FALSE(rpmi_imm_fits(256, 0));
    CHECK_FALSE(rpmi_imm_fits(0, 0x40000000));
}
