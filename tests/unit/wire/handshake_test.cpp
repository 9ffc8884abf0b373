// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"
#include "wire/handshake.h"
}
#include "support/catch.h"

#include <cstring>
#include <string>

static rpmi_auth sample_auth()
{
    rpmi_auth auth = {};

    auth.depth = 256;
    auth.staging_bytes = 16 << 20;
    strcpy(auth.pool, "main");
    return auth;
}

// A handshake up to the auth message, with the state of both sides.
static rpmi_transcript sample_transcript(const char *secret)
{
    rpmi_auth auth = sample_auth();
    rpmi_transcript transcript;

    REQUIRE(rpmi_net_hello_make(&transcript) == 0);
    REQUIRE(rpmi_challenge_make(&transcript, 0) == 0);
    REQUIRE(rpmi_auth_make(&transcript, secret, &auth) == 0);
    return transcript;
}

static rpmi_accept admitted()
{
    rpmi_accept accepted = {};

    accepted.version = RPMI_PROTOCOL_VERSION;
    accepted.mode = RPMI_MODE_RING;
    accepted.client = 7;
    accepted.server_epoch = 9;
    accepted.facts = rpm_facts_init();
    return accepted;
}

TEST_CASE("handshake: with a common secret the client is accepted, and its wishes arrive", "[wire]")
{
    for (const char *secret : { "", "open sesame" }) {
        rpmi_transcript transcript = sample_transcript(secret);
        unsigned char sealed[RPMI_SEALED_BYTES];
        rpmi_accept accepted = admitted();
        rpmi_accept found;
        rpmi_auth auth;

        CHECK(rpmi_net_hello_get(transcript.hello, sizeof(transcript.hello)) == 0);
        CHECK(rpmi_challenge_get(transcript.challenge, sizeof(transcript.challenge)) == 0);
        REQUIRE(rpmi_auth_get(&transcript, secret, &auth) == 0);
        CHECK(auth.depth == 256);
        CHECK(auth.staging_bytes == 16 << 20);
        CHECK(std::string(auth.pool) == "main");
        REQUIRE(rpmi_sealed_make(&transcript, secret, &accepted, sealed) == 0);
        REQUIRE(rpmi_sealed_get(&transcript, secret, sealed, &found) == 0);
        CHECK(found.client == 7);
    }
}

TEST_CASE("handshake: another secret is refused by client and server", "[wire]")
{
    rpmi_transcript transcript = sample_transcript("open sesame");
    unsigned char sealed[RPMI_SEALED_BYTES];
    rpmi_accept accepted = admitted();
    rpmi_auth auth;

    for (const char *other : { "", "open sesame ", "Open sesame" }) {
        CHECK(rpmi_auth_get(&transcript, other, &auth) == RPM_E_DENIED);
        REQUIRE(rpmi_sealed_make(&transcript, other, &accepted, sealed) == 0);
        CHECK(rpmi_sealed_get(&transcript, "open sesame", sealed, &accepted) == RPM_E_DENIED);
    }
}

TEST_CASE("handshake: the server tells a wrong secret from none, and from one too many", "[wire]")
{
    auto refusal = [](const char *server, const char *client) {
        rpmi_transcript transcript = sample_transcript(client);
        rpmi_auth auth;

        CHECK(rpmi_auth_get(&transcript, server, &auth) == RPM_E_DENIED);
        return std::string(rpm_last_error());
    };

    CHECK(refusal("open sesame", "sesame").find("the secret is not the server's: ") == 0);
    CHECK(refusal("open sesame", "").find("no secret was given, and the server asks for one") == 0);
    CHECK(refusal("", "sesame").find("the server takes no secret: leave out") == 0);
}

TEST_CASE("handshake: a recorded auth message is refused under another challenge", "[wire]")
{
    rpmi_transcript recorded = sample_transcript("open sesame");
    rpmi_transcript replayed = recorded;
    rpmi_auth auth;

    REQUIRE(rpmi_challenge_make(&replayed, 0) == 0);
    CHECK(rpmi_auth_get(&replayed, "open sesame", &auth) == RPM_E_DENIED);
    CHECK(rpmi_auth_get(&recorded, "open sesame", &auth) == 0);
}

TEST_CASE("handshake: an accept message of another conversation is refused", "[wire]")
{
    rpmi_transcript one = sample_transcript("open sesame");
    rpmi_transcript other = sample_transcript("open sesame");
    unsigned char sealed[RPMI_SEALED_BYTES];
    rpmi_accept accepted = admitted();

    REQUIRE(rpmi_sealed_make(&other, "open sesame", &accepted, sealed) == 0);
    CHECK(rpmi_sealed_get(&one, "open sesame", sealed, &accepted) == RPM_E_DENIED);
}

TEST_CASE("handshake: a refusal is accepted without a proof", "[wire]")
{
    rpmi_transcript transcript = sample_transcript("open sesame");
    unsigned char sealed[RPMI_SEALED_BYTES];
    rpmi_accept accepted = admitted();
    rpmi_accept found;

    accepted.status = RPM_E_REFUSED;
    REQUIRE(rpmi_sealed_make(&transcript, "another", &accepted, sealed) == 0);
    REQUIRE(rpmi_sealed_get(&transcript, "open sesame", sealed, &found) == 0);
    CHECK(found.status == RPM_E_REFUSED);
}

TEST_CASE("handshake: every changed byte of an auth message or an accept message is detected",
          "[wire]")
{
    rpmi_transcript transcript = sample_transcript("open sesame");
    unsigned char sealed[RPMI_SEALED_BYTES];
    rpmi_accept accepted = admitted();
    rpmi_auth auth;

    REQUIRE(rpmi_sealed_make(&transcript, "open sesame", &accepted, sealed) == 0);
    for (size_t i = 0; i < sizeof(transcript.auth); i++) {
        rpmi_transcript changed = transcript;

        changed.auth[i] ^= 0x40;
        CHECK(rpmi_auth_get(&changed, "open sesame", &auth) != 0);
    }
    for (size_t i = 0; i < sizeof(sealed); i++) {
        unsigned char changed[RPMI_SEALED_BYTES];
        rpmi_accept found;

        memcpy(changed, sealed, sizeof(changed));
        changed[i] ^= 0x40;
        int err = rpmi_sealed_get(&transcript, "open sesame", changed, &found);
        CHECK((err != 0 || found.status != 0));
    }
}

TEST_CASE("handshake: every changed byte of what is sent with an accept message is detected",
          "[wire]")
{
    rpmi_transcript transcript = sample_transcript("open sesame");
    unsigned char sealed[RPMI_SEALED_BYTES];
    rpmi_accept accepted = admitted();
    rpmi_accept found;

    transcript.beside_bytes = 48;
    for (unsigned char i = 0; i < 48; i++)
        transcript.beside[i] = i;
    REQUIRE(rpmi_sealed_make(&transcript, "open sesame", &accepted, sealed) == 0);
    REQUIRE(rpmi_sealed_get(&transcript, "open sesame", sealed, &found) == 0);
    for (size_t i = 0; i < 48; i++) {
        rpmi_transcript changed = transcript;

        changed.beside[i] ^= 0x40;
        CHECK(rpmi_sealed_get(&changed, "open sesame", sealed, &found) == RPM_E_DENIED);
    }
    for (uint32_t len : { 0u, 47u, 49u }) { // all left out, the last left out, one too many
        rpmi_transcript changed = transcript;

        changed.beside_bytes = len;
        CHECK(rpmi_sealed_get(&changed, "open sesame", sealed, &found) == RPM_E_DENIED);
    }
}

TEST_CASE("handshake: messages of another version or kind, or cut short, are distinguished",
          "[wire]")
{
    rpmi_transcript transcript = sample_transcript("");

    for (size_t len = 0; len < RPMI_NET_HELLO_BYTES; len++) {
        rpmi_transcript cut = transcript;

        CHECK(rpmi_net_hello_get(transcript.hello, len) == RPM_E_PROTO);
        // If 7 or 8 bytes are kept, the magic (7 letters and a zero) is whole and the version is 0:
        // that is another version, not a broken hello.
        if (len < 7 || len > 8) {
            memset(cut.hello + len, 0, sizeof(cut.hello) - len);
            CHECK(rpmi_net_hello_get(cut.hello, sizeof(cut.hello)) == RPM_E_PROTO);
        }
    }
    for (size_t len = 0; len < RPMI_CHALLENGE_BYTES; len++)
        CHECK(rpmi_challenge_get(transcript.challenge, len) == RPM_E_PROTO);
    memcpy(transcript.hello, transcript.challenge, sizeof(transcript.challenge));
    CHECK(rpmi_net_hello_get(transcript.hello, sizeof(transcript.hello)) == RPM_E_PROTO);
    REQUIRE(rpmi_net_hello_make(&transcript) == 0);
    REQUIRE(rpmi_challenge_make(&transcript, 0) == 0);
    CHECK(rpmi_challenge_get(transcript.hello, sizeof(transcript.hello)) == RPM_E_PROTO);
    for (uint32_t other : { RPMI_HANDSHAKE_VERSION - 1, RPMI_HANDSHAKE_VERSION + 1 }) {
        const std::string named = "handshake version " + std::to_string(other);

        rpmi_store32(transcript.hello + 8, other);
        rpmi_store32(transcript.challenge + 8, other);
        CHECK(rpmi_net_hello_get(transcript.hello, sizeof(transcript.hello)) == RPM_E_VERSION);
        CHECK(std::string(rpm_last_error()).find(named) != std::string::npos);
        CHECK(rpmi_challenge_get(transcript.challenge, sizeof(transcript.challenge)) ==
              RPM_E_VERSION);
    }
}

TEST_CASE("handshake: a hello with a reserved byte in use is refused", "[wire]")
{
    rpmi_transcript transcript = sample_transcript("");

    REQUIRE(rpmi_net_hello_get(transcript.hello, RPMI_NET_HELLO_BYTES) == 0);
    for (size_t at = 12; at < 16; at++) {
        rpmi_transcript changed = transcript;

        changed.hello[at] = 1;
        CHECK(rpmi_net_hello_get(changed.hello, RPMI_NET_HELLO_BYTES) == RPM_E_PROTO);
    }
}

TEST_CASE("handshake: the magic of a pool's directory entry is not that of an auth message",
          "[wire]")
{
    rpmi_transcript transcript = sample_transcript("");
    rpmi_auth auth;

    memcpy(transcript.auth, "RPMETRY", 8);
    CHECK(rpmi_auth_get(&transcript, "", &auth) == RPM_E_PROTO);
}

TEST_CASE("handshake: a server's refusal in its challenge is passed on", "[wire]")
{
    rpmi_transcript transcript;

    REQUIRE(rpmi_net_hello_make(&transcript) == 0);
    REQUIRE(rpmi_challenge_make(&transcript, RPM_E_VERSION) == 0);
    CHECK(rpmi_challenge_get(transcript.challenge, sizeof(transcript.challenge)) == RPM_E_VERSION);
    rpmi_store32(transcript.challenge + 12, 5);
    CHECK(rpmi_challenge_get(transcript.challenge, sizeof(transcript.challenge)) == RPM_E_PROTO);
}

TEST_CASE("handshake: an auth message that asks for depth 0, or too much, is refused", "[wire]")
{
    for (uint32_t depth : { 0u, RPMI_DEPTH_MAX + 1 }) {
        rpmi_auth auth = sample_auth();
        rpmi_transcript transcript = sample_transcript("");

        auth.depth = depth;
        REQUIRE(rpmi_auth_make(&transcript, "", &auth) == 0);
        CHECK(rpmi_auth_get(&transcript, "", &auth) == RPM_E_PROTO);
    }
}
