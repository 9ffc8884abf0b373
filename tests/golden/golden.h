// SPDX-License-Identifier: BSD-3-Clause
// golden.h: the golden files, as bytes.
#ifndef TESTS_GOLDEN_GOLDEN_H
#define TESTS_GOLDEN_GOLDEN_H

#include "support/catch.h"

extern "C" {
#include "wire/handshake.h"
}

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using Bytes = std::vector<unsigned char>;

// "size N", then lines "offset: bytes # note" with numbers in hex; bytes without a line are zero.
inline Bytes golden(const std::string &name)
{
    std::ifstream file(std::string(GOLDEN_DIR) + "/" + name + ".hex");
    std::string line;
    Bytes bytes;

    while (std::getline(file, line)) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string first;
        std::string cell;

        if (!(words >> first))
            continue;
        words >> cell;
        if (first == "size") {
            bytes.resize(std::stoul(cell));
            continue;
        }
        size_t at = std::stoul(first, nullptr, 16);
        do {
            bytes.at(at++) = static_cast<unsigned char>(std::stoul(cell, nullptr, 16));
        } while (words >> cell);
    }
    INFO("golden file " << name);
    REQUIRE_FALSE(bytes.empty());
    return bytes;
}

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
