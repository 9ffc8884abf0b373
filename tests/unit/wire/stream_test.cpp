// SPDX-License-Identifier: BSD-3-Clause
// Headers of requests and answers on a stream: valid ones are decoded unchanged, others refused.
#include "support/catch.h"

extern "C" {
#include "base/limits.h"
#include "transport/op.h"
#include "wire/call.h"
#include "wire/steps.h"
#include "wire/stream.h"
}
#include <array>
#include <librpm/error.h>
#include <vector>

namespace
{

using Request = std::array<unsigned char, RPMI_REQUEST_BYTES>;
using Answer = std::array<unsigned char, RPMI_ANSWER_BYTES>;

rpmi_request request(uint8_t kind, uint16_t head, uint32_t body, uint64_t len)
{
    rpmi_request made = {};

    made.kind = kind;
    made.head_bytes = head;
    made.body_bytes = body;
    made.len = len;
    return made;
}

int read_back(const rpmi_request &sent, rpmi_request *got)
{
    Request bytes;

    rpmi_request_put(bytes.data(), &sent);
    return rpmi_request_get(bytes.data(), got);
}

std::vector<rpmi_request> possible()
{
    std::vector<rpmi_request> all = {
        request(RPMI_OP_WRITE, 0, 0, 0),
        request(RPMI_OP_WRITE, 64, RPMI_BODY_MAX, UINT64_MAX),
        request(RPMI_OP_COPY, 24, 100, 124),
        request(RPMI_OP_READ, 0, 0, RPMI_BODY_MAX),
        request(RPMI_OP_PERSIST, 0, 0, UINT64_MAX),
        request(RPMI_OP_CAS, 16, 0, 8),
        request(RPMI_OP_FAA, 16, 0, 8),
    };

    for (rpmi_request &one : all) {
        one.key = 0x01020304;
        one.offset = 0x05060708090a0b0c;
        one.flags = RPMI_OP_DURABLE | RPMI_OP_CACHED | RPMI_REQUEST_LAST;
    }
    all.push_back(request(RPMI_REQUEST_CALL, 0, RPMI_CALL_BYTES, 0));
    all.push_back(request(RPMI_OP_STEPS, 0, 16, 16));
    all.push_back(request(RPMI_OP_STEPS, 0, RPMI_STEPS_BYTES, RPMI_STEPS_ANSWER_HEAD));
    all.push_back(request(RPMI_OP_STEPS, 0, 16, RPMI_STEPS_BYTES));
    return all;
}

} // namespace

TEST_CASE("stream: every kind of request is read as it was written", "[unit]")
{
    for (const rpmi_request &sent : possible()) {
        rpmi_request got = {};

        CAPTURE(int(sent.kind));
        REQUIRE(read_back(sent, &got) == 0);
        CHECK(got.kind == sent.kind);
        CHECK(got.flags == sent.flags);
        CHECK(got.head_bytes == sent.head_bytes);
        CHECK(got.key == sent.key);
        CHECK(got.offset == sent.offset);
        CHECK(got.len == sent.len);
        CHECK(got.body_bytes == sent.body_bytes);
    }
}

TEST_CASE("stream: a request of a shape that its kind does not have is refused", "[unit]")
{
    const std::vector<rpmi_request> wrong = {
        request(RPMI_OP_WRITE, 24, 100, 123),           // longer than its place
        request(RPMI_OP_COPY, 1, UINT32_C(1), 1),       // the same, by one
        request(RPMI_OP_READ, 1, 0, 8),                 // brings bytes
        request(RPMI_OP_READ, 0, 1, 8),                 // brings bytes
        request(RPMI_OP_READ, 0, 0, RPMI_BODY_MAX + 1), // more than staging memory can be
        request(RPMI_OP_PERSIST, 0, 1, 8),              // brings bytes
        request(RPMI_OP_CAS, 16, 0, 16),                // more than a word
        request(RPMI_OP_CAS, 8, 0, 8),                  // without its operand
        request(RPMI_OP_FAA, 16, 8, 8),                 // brings bytes
        request(RPMI_REQUEST_CALL, 0, RPMI_CALL_BYTES - 1, 0),
        request(RPMI_REQUEST_CALL, 0, RPMI_CALL_BYTES, 1),
        request(RPMI_OP_STEPS, 8, 16, 16), // has no head
        request(RPMI_OP_STEPS, 0, 0, 16),
        request(RPMI_OP_STEPS, 0, RPMI_STEPS_BYTES + 1, 16),
        request(RPMI_OP_STEPS, 0, 16, RPMI_STEPS_BYTES + 1),
        request(RPMI_OP_STEPS, 0, 16, RPMI_STEPS_ANSWER_HEAD - 1),
        request(RPMI_OP_FLUSH, 0, 0, 8), // not on a stream
        request(RPMI_OP_WRITE_IMM, 0, 0, 8),
        request(RPMI_OP_DRAIN, 0, 0, 0),
        request(0, 0, 0, 0),
        request(255, 0, 0, 0),
    };
    rpmi_request got;

    for (const rpmi_request &sent : wrong) {
        CAPTURE(int(sent.kind), sent.head_bytes, sent.body_bytes, sent.len);
        CHECK(read_back(sent, &got) == RPM_E_PROTO);
    }
}

TEST_CASE("stream: a request longer than the maximum is refused", "[unit]")
{
    Request bytes;
    rpmi_request sent = request(RPMI_OP_WRITE, 64, 8, 4096);
    rpmi_request got;

    rpmi_request_put(bytes.data(), &sent);
    REQUIRE(rpmi_request_get(bytes.data(), &got) == 0);
    bytes[2] = 65; // a head of 65 bytes
    CHECK(rpmi_request_get(bytes.data(), &got) == RPM_E_PROTO);
    bytes[2] = 64;
    bytes[3] = 1; // of 320
    CHECK(rpmi_request_get(bytes.data(), &got) == RPM_E_PROTO);
    bytes[3] = 0;
    bytes[27] = 0x80; // a body of 2 GiB
    bytes[21] = 1;    // into a place that would hold it
    CHECK(rpmi_request_get(bytes.data(), &got) == RPM_E_PROTO);
}

TEST_CASE("stream: a request with reserved bytes or flags that are not its kind's is refused",
          "[unit]")
{
    for (const rpmi_request &sent : possible()) {
        Request bytes;
        rpmi_request got;

        for (uint8_t flag : { RPMI_OP_SIGNALED, RPMI_OP_FENCED, RPMI_OP_OTHER_QP, RPMI_OP_WAIT }) {
            rpmi_request_put(bytes.data(), &sent);
            bytes[1] = static_cast<unsigned char>(bytes[1] | flag);
            CHECK(rpmi_request_get(bytes.data(), &got) == RPM_E_PROTO);
        }
        for (size_t at = 28; at < 32; at++) {
            rpmi_request_put(bytes.data(), &sent);
            bytes[at] = 1;
            CHECK(rpmi_request_get(bytes.data(), &got) == RPM_E_PROTO);
        }
    }
}

TEST_CASE("stream: every kind of answer is read as it was written", "[unit]")
{
    const std::vector<rpmi_answer> all = {
        { RPMI_ANSWER_DONE, 0, UINT64_MAX },
        { RPMI_ANSWER_FAIL, static_cast<uint32_t>(RPM_E_FENCED), 7 },
        { RPMI_ANSWER_FAIL, static_cast<uint32_t>(-4095), 7 },
        { RPMI_ANSWER_DATA, 1, 9 },
        { RPMI_ANSWER_DATA, RPMI_BODY_MAX, 9 },
        { RPMI_ANSWER_REPLY, RPMI_REPLY_BYTES, 0 },
    };

    for (const rpmi_answer &sent : all) {
        Answer bytes;
        rpmi_answer got = {};

        rpmi_answer_put(bytes.data(), &sent);
        REQUIRE(rpmi_answer_get(bytes.data(), &got) == 0);
        CHECK(got.kind == sent.kind);
        CHECK(got.value == sent.value);
        CHECK(got.request == sent.request);
    }
}

TEST_CASE("stream: an impossible answer is refused", "[unit]")
{
    const std::vector<rpmi_answer> wrong = {
        { RPMI_ANSWER_DONE, 1, 1 },
        { RPMI_ANSWER_FAIL, 0, 1 },
        { RPMI_ANSWER_FAIL, 5, 1 },
        { RPMI_ANSWER_FAIL, static_cast<uint32_t>(-4096), 1 },
        { RPMI_ANSWER_DATA, 0, 1 },
        { RPMI_ANSWER_DATA, RPMI_BODY_MAX + 1, 1 },
        { RPMI_ANSWER_REPLY, RPMI_REPLY_BYTES - 1, 0 },
        { RPMI_ANSWER_REPLY, RPMI_REPLY_BYTES, 1 },
    };
    Answer bytes;
    rpmi_answer got;

    for (const rpmi_answer &sent : wrong) {
        rpmi_answer_put(bytes.data(), &sent);
        CAPTURE(int(sent.kind), sent.value);
        CHECK(rpmi_answer_get(bytes.data(), &got) == RPM_E_PROTO);
    }
    for (unsigned kind : { 0u, 5u, 255u }) {
        bytes = {};
        bytes[0] = static_cast<unsigned char>(kind);
        CHECK(rpmi_answer_get(bytes.data(), &got) == RPM_E_PROTO);
    }
    for (size_t at = 1; at < 4; at++) {
        rpmi_answer_put(bytes.data(), &wrong[0]);
        bytes[4] = 0;
        REQUIRE(rpmi_answer_get(bytes.data(), &got) == 0);
        bytes[at] = 1;
        CHECK(rpmi_answer_get(bytes.data(), &got) == RPM_E_PROTO);
    }
}
