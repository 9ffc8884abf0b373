// SPDX-License-Identifier: BSD-3-Clause
// golden.h: the golden files of lib/FORMAT.md.
#ifndef TESTS_GOLDEN_GOLDEN_H
#define TESTS_GOLDEN_GOLDEN_H

#include "golden/hex.h"

extern "C" {
#include "wire/handshake.h"
}

#include <cstring>

const char *const SECRET = "open sesame";

// The conversation of the golden files up to the auth message.
inline rpmi_transcript golden_transcript()
{
    rpmi_transcript transcript = {};
    Bytes hello = golden("net_hello");
    Bytes challenge = golden("challenge");
    Bytes auth = golden("auth");

    REQUIRE(hello.size() == RPMI_NET_HELLO_BYTES);
    REQUIRE(challenge.size() == RPMI_CHALLENGE_BYTES);
    REQUIRE(auth.size() == RPMI_AUTH_BYTES);
    memcpy(transcript.hello, hello.data(), hello.size());
    memcpy(transcript.challenge, challenge.data(), challenge.size());
    memcpy(transcript.auth, auth.data(), auth.size());
    return transcript;
}

#endif
