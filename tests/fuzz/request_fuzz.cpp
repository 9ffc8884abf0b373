// SPDX-License-Identifier: BSD-3-Clause
// request_fuzz.cpp: the headers of a request and of an answer on a stream, and a handshake, from
// untrusted clients. Encoding an accepted message again gives the input, and the sum of its lengths
// does not overflow.
//
// Input: a request, an answer, an auth message, a challenge or a hello.
extern "C" {
#include "base/err.h"
#include "base/limits.h"
#include "wire/handshake.h"
#include "wire/stream.h"
}
#include "fuzz.h"

static void check_request(const uint8_t *bytes)
{
    uint8_t again[RPMI_REQUEST_BYTES];
    rpmi_request request;
    int err = rpmi_request_get(bytes, &request);

    FUZZ_CHECK(err == 0 || err == RPM_E_PROTO);
    if (err != 0)
        return;
    FUZZ_CHECK(request.head_bytes <= 64 && request.body_bytes <= RPMI_BODY_MAX);
    rpmi_request_put(again, &request);
    FUZZ_CHECK(memcmp(again, bytes, sizeof(again)) == 0);
}

static void check_answer(const uint8_t *bytes)
{
    uint8_t again[RPMI_ANSWER_BYTES];
    rpmi_answer answer;
    int err = rpmi_answer_get(bytes, &answer);

    FUZZ_CHECK(err == 0 || err == RPM_E_PROTO);
    if (err != 0)
        return;
    FUZZ_CHECK(answer.kind != RPMI_ANSWER_FAIL || static_cast<int32_t>(answer.value) < 0);
    rpmi_answer_put(again, &answer);
    FUZZ_CHECK(memcmp(again, bytes, sizeof(again)) == 0);
}

static_assert(RPMI_CHALLENGE_BYTES <= RPMI_NET_HELLO_BYTES, "room for either");

static void check_handshake(const uint8_t *auth, const uint8_t *challenge)
{
    rpmi_transcript transcript = {};
    rpmi_auth found = {};
    int err = rpmi_challenge_get(challenge, RPMI_CHALLENGE_BYTES);

    FUZZ_CHECK(err <= 0);
    err = rpmi_net_hello_get(challenge, RPMI_NET_HELLO_BYTES);
    FUZZ_CHECK(err == 0 || err == RPM_E_PROTO || err == RPM_E_VERSION);
    memcpy(transcript.auth, auth, sizeof(transcript.auth));
    err = rpmi_auth_get(&transcript, "a secret of the server", &found);
    FUZZ_CHECK(err == RPM_E_PROTO || err == RPM_E_VERSION || err == RPM_E_DENIED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t total =
        RPMI_REQUEST_BYTES + RPMI_ANSWER_BYTES + RPMI_AUTH_BYTES + RPMI_NET_HELLO_BYTES;
    auto bytes = fuzz_copy(data, size, total);
    const uint8_t *auth = bytes.get() + RPMI_REQUEST_BYTES + RPMI_ANSWER_BYTES;

    check_request(bytes.get());
    check_answer(bytes.get() + RPMI_REQUEST_BYTES);
    check_handshake(auth, auth + RPMI_AUTH_BYTES);
    return 0;
}
