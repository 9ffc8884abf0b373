// SPDX-License-Identifier: BSD-3-Clause
// stream_test.cpp: the bytes of FORMAT.md sections 9 and 10: the handshake between machines,
// requests and answers on a stream.
extern "C" {
#include "transport/op.h"
#include "wire/call.h"
#include "wire/handshake.h"
#include "wire/stream.h"
}
#include "golden/golden.h"

#include <cstring>

TEST_CASE("golden: hello and challenge have the golden bytes, except for nonces", "[golden]")
{
    rpmi_transcript transcript = golden_transcript();
    Bytes refused = golden("challenge_refused");
    rpmi_transcript made;

    REQUIRE(rpmi_net_hello_get(transcript.hello, sizeof(transcript.hello)) == 0);
    REQUIRE(rpmi_challenge_get(transcript.challenge, sizeof(transcript.challenge)) == 0);
    REQUIRE(rpmi_challenge_get(refused.data(), refused.size()) == RPM_E_VERSION);
    REQUIRE(rpmi_net_hello_make(&made) == 0);
    REQUIRE(memcmp(made.hello, transcript.hello, 16) == 0);
    REQUIRE(rpmi_challenge_make(&made, 0) == 0);
    REQUIRE(memcmp(made.challenge, transcript.challenge, 16) == 0);
    REQUIRE(rpmi_challenge_make(&made, RPM_E_VERSION) == 0);
    REQUIRE(memcmp(made.challenge, refused.data(), 16) == 0);
}

TEST_CASE("golden: an auth message is encoded to and decoded from the golden bytes, proof and all",
          "[golden]")
{
    rpmi_transcript transcript = golden_transcript();
    rpmi_transcript made = transcript;
    rpmi_auth auth = {};

    REQUIRE(rpmi_auth_get(&transcript, SECRET, &auth) == 0);
    REQUIRE(auth.depth == 256);
    REQUIRE(auth.staging_bytes == 8 << 20);
    REQUIRE(std::string(auth.pool) == "main");
    REQUIRE(rpmi_auth_get(&transcript, "open barley", &auth) == RPM_E_DENIED);
    memset(made.auth, 0xff, sizeof(made.auth));
    REQUIRE(rpmi_auth_make(&made, SECRET, &auth) == 0);
    REQUIRE(memcmp(made.auth, transcript.auth, sizeof(transcript.auth)) == 0);
}

TEST_CASE("golden: a sealed accept message is encoded to and decoded from the golden bytes, proof "
          "and all",
          "[golden]")
{
    rpmi_transcript transcript = golden_transcript();
    Bytes expected = golden("sealed");
    Bytes made(RPMI_SEALED_BYTES);
    rpmi_accept accepted = {};

    REQUIRE(expected.size() == RPMI_SEALED_BYTES);
    REQUIRE(rpmi_sealed_get(&transcript, SECRET, expected.data(), &accepted) == 0);
    REQUIRE(accepted.client == 11);
    REQUIRE(rpmi_sealed_get(&transcript, "open barley", expected.data(), &accepted) ==
            RPM_E_DENIED);
    REQUIRE(rpmi_sealed_make(&transcript, SECRET, &accepted, made.data()) == 0);
    REQUIRE(made == expected);
}

TEST_CASE("golden: the header of a request is encoded to and decoded from the golden bytes",
          "[golden]")
{
    Bytes expected = golden("request");
    Bytes made(RPMI_REQUEST_BYTES, 0xff);
    rpmi_request request = {};

    REQUIRE(expected.size() == RPMI_REQUEST_BYTES);
    REQUIRE(rpmi_request_get(expected.data(), &request) == 0);
    REQUIRE(request.kind == RPMI_OP_COPY);
    REQUIRE(request.flags == (RPMI_OP_DURABLE | RPMI_OP_CACHED | RPMI_REQUEST_LAST));
    REQUIRE(request.head_bytes == 24);
    REQUIRE(request.key == 9);
    REQUIRE(request.offset == 1ull << 44);
    REQUIRE(request.len == 256);
    REQUIRE(request.body_bytes == 200);
    rpmi_request_put(made.data(), &request);
    REQUIRE(made == expected);
}

TEST_CASE("golden: the header of a call is encoded to and decoded from the golden bytes",
          "[golden]")
{
    Bytes expected = golden("request_call");
    Bytes made(RPMI_REQUEST_BYTES, 0xff);
    rpmi_request request = {};

    REQUIRE(rpmi_request_get(expected.data(), &request) == 0);
    REQUIRE(request.kind == RPMI_REQUEST_CALL);
    REQUIRE(request.body_bytes == RPMI_CALL_BYTES);
    rpmi_request_put(made.data(), &request);
    REQUIRE(made == expected);
}

TEST_CASE("golden: answers are encoded to and decoded from the golden bytes", "[golden]")
{
    Bytes expected = golden("answers");
    const rpmi_answer all[] = {
        { RPMI_ANSWER_DONE, 0, 1ull << 40 },
        { RPMI_ANSWER_FAIL, static_cast<uint32_t>(RPM_E_FENCED), 7 },
        { RPMI_ANSWER_DATA, 4096, 8 },
        { RPMI_ANSWER_REPLY, RPMI_REPLY_BYTES, 0 },
    };
    Bytes made(sizeof(all) / sizeof(all[0]) * RPMI_ANSWER_BYTES, 0xff);
    size_t at = 0;

    REQUIRE(expected.size() == made.size());
    for (const rpmi_answer &answer : all) {
        rpmi_answer got = {};

        rpmi_answer_put(made.data() + at, &answer);
        REQUIRE(rpmi_answer_get(expected.data() + at, &got) == 0);
        REQUIRE(got.kind == answer.kind);
        REQUIRE(got.value == answer.value);
        REQUIRE(got.request == answer.request);
        at += RPMI_ANSWER_BYTES;
    }
    REQUIRE(made == expected);
}
