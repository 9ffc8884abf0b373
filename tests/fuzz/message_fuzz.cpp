// SPDX-License-Identifier: BSD-3-Clause
// message_fuzz.cpp: messages from an untrusted client or server, each as its decoder gets it.
// Encoding an accepted message again gives the input, and the sum of its lengths does not overflow.
//
// Input: the message's place in the table below, then its bytes.
extern "C" {
#include "base/err.h"
#include "base/limits.h"
#include "wire/call.h"
#include "wire/handshake.h"
#include "wire/hello.h"
#include "wire/message.h"
#include "wire/stream.h"
}
#include "fuzz.h"

// A message of a fixed length, which its reader knows before it decodes.
template <size_t BYTES, typename Message>
static bool one_encoding(const uint8_t *data, size_t size, int (*get)(const void *, Message *),
                         void (*put)(void *, const Message *), Message *message)
{
    auto bytes = fuzz_copy(data, size, BYTES);
    auto again = fuzz_copy(nullptr, 0, BYTES);
    int err = get(bytes.get(), message);

    FUZZ_CHECK(err == 0 || err == RPM_E_PROTO);
    if (err != 0)
        return false;
    put(again.get(), message);
    FUZZ_CHECK(memcmp(again.get(), bytes.get(), BYTES) == 0);
    return true;
}

// The first message of either side: it may have any length, and another version.
template <size_t BYTES, typename Message>
static void first_message(const uint8_t *data, size_t size,
                          int (*get)(const void *, size_t, Message *),
                          void (*put)(void *, const Message *))
{
    auto bytes = fuzz_copy(data, size, size);
    auto again = fuzz_copy(nullptr, 0, BYTES);
    Message message;
    int err = get(bytes.get(), size, &message);

    FUZZ_CHECK(err == 0 || err == RPM_E_PROTO || err == RPM_E_VERSION);
    if (err != 0)
        return;
    FUZZ_CHECK(size == BYTES);
    put(again.get(), &message);
    FUZZ_CHECK(memcmp(again.get(), bytes.get(), BYTES) == 0);
}

static void hello(const uint8_t *data, size_t size)
{
    first_message<RPMI_HELLO_BYTES>(data, size, rpmi_hello_get, rpmi_hello_put);
}

static void accept(const uint8_t *data, size_t size)
{
    first_message<RPMI_ACCEPT_BYTES>(data, size, rpmi_accept_get, rpmi_accept_put);
}

static void call(const uint8_t *data, size_t size)
{
    rpmi_call message;

    one_encoding<RPMI_CALL_BYTES>(data, size, rpmi_call_get, rpmi_call_put, &message);
}

static void reply(const uint8_t *data, size_t size)
{
    rpmi_reply message;

    one_encoding<RPMI_REPLY_BYTES>(data, size, rpmi_reply_get, rpmi_reply_put, &message);
}

static void request(const uint8_t *data, size_t size)
{
    rpmi_request message;

    if (one_encoding<RPMI_REQUEST_BYTES>(data, size, rpmi_request_get, rpmi_request_put, &message))
        FUZZ_CHECK(message.head_bytes <= 64 && message.body_bytes <= RPMI_BODY_MAX);
}

static void answer(const uint8_t *data, size_t size)
{
    rpmi_answer message;

    if (one_encoding<RPMI_ANSWER_BYTES>(data, size, rpmi_answer_get, rpmi_answer_put, &message))
        FUZZ_CHECK(message.kind != RPMI_ANSWER_FAIL || static_cast<int32_t>(message.value) < 0);
}

static void net_hello(const uint8_t *data, size_t size)
{
    auto bytes = fuzz_copy(data, size, RPMI_NET_HELLO_BYTES);
    int err = rpmi_net_hello_get(bytes.get(), RPMI_NET_HELLO_BYTES);

    FUZZ_CHECK(err == 0 || err == RPM_E_PROTO || err == RPM_E_VERSION);
}

static void challenge(const uint8_t *data, size_t size)
{
    auto bytes = fuzz_copy(data, size, RPMI_CHALLENGE_BYTES);

    FUZZ_CHECK(rpmi_challenge_get(bytes.get(), RPMI_CHALLENGE_BYTES) <= 0);
}

// No message passes without the proof, which the fuzzer cannot make.
static void auth(const uint8_t *data, size_t size)
{
    auto bytes = fuzz_copy(data, size, RPMI_AUTH_BYTES);
    rpmi_transcript transcript = {};
    rpmi_auth found = {};

    static_assert(sizeof(transcript.auth) == RPMI_AUTH_BYTES, "an auth message");
    memcpy(transcript.auth, bytes.get(), sizeof(transcript.auth));
    int err = rpmi_auth_get(&transcript, "a secret of the server", &found);
    FUZZ_CHECK(err == RPM_E_PROTO || err == RPM_E_VERSION || err == RPM_E_DENIED);
}

static void grant(const uint8_t *data, size_t size)
{
    rpmi_grant_key message;

    one_encoding<RPMI_GRANT_BYTES>(data, size, rpmi_grant_get, rpmi_grant_put, &message);
}

// A SEND of any length: the head of the message says of which kind it is.
static void send_message(const uint8_t *data, size_t size)
{
    auto bytes = fuzz_copy(data, size, size);
    uint8_t again[RPMI_RPC_BYTES] = {};
    rpmi_rpc rpc;
    uint64_t done = 0;
    int32_t status = 0;
    uint32_t key = 0;
    size_t len = 0;

    if (size < RPMI_MSG_HEAD || size > RPMI_MSG_TO_SERVER)
        return;
    switch (rpmi_msg_kind(bytes.get(), static_cast<uint32_t>(size))) {
    case RPMI_MSG_RPC:
        if (rpmi_rpc_get(bytes.get(), static_cast<uint32_t>(size), &rpc) == 0) {
            FUZZ_CHECK(RPMI_RPC_BYTES + rpc.body_bytes == size);
            FUZZ_CHECK(rpc.kind == RPMI_OP_STEPS || rpc.body_bytes <= rpc.len);
            rpmi_rpc_put(again, &rpc);
            len = RPMI_RPC_BYTES;
        }
        break;
    case RPMI_MSG_DONE:
        if (rpmi_done_get(bytes.get(), &done, &status) == 0) {
            rpmi_done_put(again, done, status);
            len = RPMI_DONE_BYTES;
        }
        break;
    case RPMI_MSG_FENCED:
        if (rpmi_fenced_get(bytes.get(), &key) == 0) {
            rpmi_fenced_put(again, key);
            len = RPMI_FENCED_BYTES;
        }
        break;
    case RPMI_MSG_RESULT:
        if (rpmi_result_get(bytes.get(), &done) == 0) {
            rpmi_result_put(again, done, static_cast<uint32_t>(size - RPMI_RESULT_BYTES));
            len = RPMI_RESULT_BYTES;
        }
        break;
    default:
        break;
    }
    FUZZ_CHECK(len <= size && memcmp(again, bytes.get(), len) == 0);
}

// make_corpus.py has the same order in MESSAGES.
static void (*const decoders[])(const uint8_t *,
                                size_t) = { hello,     accept,    call, reply, request,     answer,
                                            net_hello, challenge, auth, grant, send_message };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    decoders[data[0] % std::size(decoders)](data + 1, size - 1);
    return 0;
}
