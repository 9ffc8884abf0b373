// SPDX-License-Identifier: BSD-3-Clause
extern "C" {
#include "base/bytes.h"
#include "base/err.h"
#include "base/limits.h"
#include "wire/greet.h"
}
#include "support/catch.h"

#include <cstring>
#include <string>

static rpmi_entry sample_entry()
{
    rpmi_entry entry = {};

    entry.depth = 256;
    entry.staging_bytes = 16 << 20;
    strcpy(entry.pool, "main");
    return entry;
}

// A conversation up to the entry, as both sides remember it.
static rpmi_talk sample_talk(const char *secret)
{
    rpmi_entry entry = sample_entry();
    rpmi_talk talk;

    REQUIRE(rpmi_opening_make(&talk) == 0);
    REQUIRE(rpmi_challenge_make(&talk, 0) == 0);
    REQUIRE(rpmi_entry_make(&talk, secret, &entry) == 0);
    return talk;
}

static rpmi_welcome sample_welcome()
{
    rpmi_welcome welcome = {};

    welcome.version = RPMI_PROTOCOL_VERSION;
    welcome.mode = RPMI_MODE_RING;
    welcome.client = 7;
    welcome.server_epoch = 9;
    welcome.facts = rpm_facts_init();
    return welcome;
}

TEST_CASE("greet: a greeting under one secret lets in and brings the wishes", "[wire]")
{
    for (const char *secret : { "", "open sesame" }) {
        rpmi_talk talk = sample_talk(secret);
        unsigned char sealed[RPMI_SEALED_BYTES];
        rpmi_welcome welcome = sample_welcome();
        rpmi_welcome found;
        rpmi_entry entry;

        CHECK(rpmi_opening_get(talk.opening, sizeof(talk.opening)) == 0);
        CHECK(rpmi_challenge_get(talk.challenge, sizeof(talk.challenge)) == 0);
        REQUIRE(rpmi_entry_get(&talk, secret, &entry) == 0);
        CHECK(entry.depth == 256);
        CHECK(entry.staging_bytes == 16 << 20);
        CHECK(std::string(entry.pool) == "main");
        REQUIRE(rpmi_sealed_make(&talk, secret, &welcome, sealed) == 0);
        REQUIRE(rpmi_sealed_get(&talk, secret, sealed, &found) == 0);
        CHECK(found.client == 7);
    }
}

TEST_CASE("greet: another secret opens no door, in either direction", "[wire]")
{
    rpmi_talk talk = sample_talk("open sesame");
    unsigned char sealed[RPMI_SEALED_BYTES];
    rpmi_welcome welcome = sample_welcome();
    rpmi_entry entry;

    for (const char *other : { "", "open sesame ", "Open sesame" }) {
        CHECK(rpmi_entry_get(&talk, other, &entry) == RPM_E_DENIED);
        REQUIRE(rpmi_sealed_make(&talk, other, &welcome, sealed) == 0);
        CHECK(rpmi_sealed_get(&talk, "open sesame", sealed, &welcome) == RPM_E_DENIED);
    }
}

TEST_CASE("greet: a recorded entry is worth nothing under another challenge", "[wire]")
{
    rpmi_talk recorded = sample_talk("open sesame");
    rpmi_talk replayed = recorded;
    rpmi_entry entry;

    REQUIRE(rpmi_challenge_make(&replayed, 0) == 0);
    CHECK(rpmi_entry_get(&replayed, "open sesame", &entry) == RPM_E_DENIED);
    CHECK(rpmi_entry_get(&recorded, "open sesame", &entry) == 0);
}

TEST_CASE("greet: a welcome of another conversation is not believed", "[wire]")
{
    rpmi_talk one = sample_talk("open sesame");
    rpmi_talk other = sample_talk("open sesame");
    unsigned char sealed[RPMI_SEALED_BYTES];
    rpmi_welcome welcome = sample_welcome();

    REQUIRE(rpmi_sealed_make(&other, "open sesame", &welcome, sealed) == 0);
    CHECK(rpmi_sealed_get(&one, "open sesame", sealed, &welcome) == RPM_E_DENIED);
}

TEST_CASE("greet: a refusal is heard without a proof", "[wire]")
{
    rpmi_talk talk = sample_talk("open sesame");
    unsigned char sealed[RPMI_SEALED_BYTES];
    rpmi_welcome welcome = sample_welcome();
    rpmi_welcome found;

    welcome.status = RPM_E_REFUSED;
    REQUIRE(rpmi_sealed_make(&talk, "another", &welcome, sealed) == 0);
    REQUIRE(rpmi_sealed_get(&talk, "open sesame", sealed, &found) == 0);
    CHECK(found.status == RPM_E_REFUSED);
}

TEST_CASE("greet: no byte of an entry or a welcome can change unnoticed", "[wire]")
{
    rpmi_talk talk = sample_talk("open sesame");
    unsigned char sealed[RPMI_SEALED_BYTES];
    rpmi_welcome welcome = sample_welcome();
    rpmi_entry entry;

    REQUIRE(rpmi_sealed_make(&talk, "open sesame", &welcome, sealed) == 0);
    for (size_t i = 0; i < sizeof(talk.entry); i++) {
        rpmi_talk changed = talk;

        changed.entry[i] ^= 0x40;
        CHECK(rpmi_entry_get(&changed, "open sesame", &entry) != 0);
    }
    for (size_t i = 0; i < sizeof(sealed); i++) {
        unsigned char changed[RPMI_SEALED_BYTES];
        rpmi_welcome found;

        memcpy(changed, sealed, sizeof(changed));
        changed[i] ^= 0x40;
        int err = rpmi_sealed_get(&talk, "open sesame", changed, &found);
        CHECK((err != 0 || found.status != 0));
    }
}

TEST_CASE("greet: no byte of what travels beside a welcome can change unnoticed", "[wire]")
{
    rpmi_talk talk = sample_talk("open sesame");
    unsigned char sealed[RPMI_SEALED_BYTES];
    rpmi_welcome welcome = sample_welcome();
    rpmi_welcome found;

    talk.beside_bytes = 48;
    for (unsigned char i = 0; i < 48; i++)
        talk.beside[i] = i;
    REQUIRE(rpmi_sealed_make(&talk, "open sesame", &welcome, sealed) == 0);
    REQUIRE(rpmi_sealed_get(&talk, "open sesame", sealed, &found) == 0);
    for (size_t i = 0; i < 48; i++) {
        rpmi_talk changed = talk;

        changed.beside[i] ^= 0x40;
        CHECK(rpmi_sealed_get(&changed, "open sesame", sealed, &found) == RPM_E_DENIED);
    }
    for (uint32_t len : { 0u, 47u, 49u }) { // left out, cut short, one too many
        rpmi_talk changed = talk;

        changed.beside_bytes = len;
        CHECK(rpmi_sealed_get(&changed, "open sesame", sealed, &found) == RPM_E_DENIED);
    }
}

TEST_CASE("greet: messages of another version or kind, or cut short, are told apart", "[wire]")
{
    rpmi_talk talk = sample_talk("");

    for (size_t len = 0; len < RPMI_OPENING_BYTES; len++) {
        rpmi_talk cut = talk;

        CHECK(rpmi_opening_get(talk.opening, len) == RPM_E_PROTO);
        if (len < 7 || len > 8) { // without its version it is of version 0
            memset(cut.opening + len, 0, sizeof(cut.opening) - len);
            CHECK(rpmi_opening_get(cut.opening, sizeof(cut.opening)) == RPM_E_PROTO);
        }
    }
    for (size_t len = 0; len < RPMI_CHALLENGE_BYTES; len++)
        CHECK(rpmi_challenge_get(talk.challenge, len) == RPM_E_PROTO);
    memcpy(talk.opening, talk.challenge, sizeof(talk.challenge));
    CHECK(rpmi_opening_get(talk.opening, sizeof(talk.opening)) == RPM_E_PROTO);
    REQUIRE(rpmi_opening_make(&talk) == 0);
    REQUIRE(rpmi_challenge_make(&talk, 0) == 0);
    CHECK(rpmi_challenge_get(talk.opening, sizeof(talk.opening)) == RPM_E_PROTO);
    rpmi_store32(talk.opening + 8, RPMI_GREET_VERSION + 1);
    rpmi_store32(talk.challenge + 8, RPMI_GREET_VERSION + 1);
    CHECK(rpmi_opening_get(talk.opening, sizeof(talk.opening)) == RPM_E_VERSION);
    CHECK(rpmi_challenge_get(talk.challenge, sizeof(talk.challenge)) == RPM_E_VERSION);
}

TEST_CASE("greet: a server's refusal in its challenge is passed on", "[wire]")
{
    rpmi_talk talk;

    REQUIRE(rpmi_opening_make(&talk) == 0);
    REQUIRE(rpmi_challenge_make(&talk, RPM_E_VERSION) == 0);
    CHECK(rpmi_challenge_get(talk.challenge, sizeof(talk.challenge)) == RPM_E_VERSION);
    rpmi_store32(talk.challenge + 12, 5);
    CHECK(rpmi_challenge_get(talk.challenge, sizeof(talk.challenge)) == RPM_E_PROTO);
}

TEST_CASE("greet: an entry that wishes for no depth, or too much, is refused", "[wire]")
{
    for (uint32_t depth : { 0u, RPMI_DEPTH_MAX + 1 }) {
        rpmi_entry entry = sample_entry();
        rpmi_talk talk = sample_talk("");

        entry.depth = depth;
        REQUIRE(rpmi_entry_make(&talk, "", &entry) == 0);
        CHECK(rpmi_entry_get(&talk, "", &entry) == RPM_E_PROTO);
    }
}
