// SPDX-License-Identifier: BSD-3-Clause
// What a line says, and that a damaged, mixed or foreign one says nothing.
extern "C" {
#include "base/bytes.h"
#include "base/sum.h"
#include "wire/decision.h"
}
#include "support/catch.h"

#include <cstring>

static const rpmi_decision SOUND = { 3, 0x1122334455667788, 640, 1472, 1408, 99, 7 };

TEST_CASE("decision: every bit of a line is under its checksum", "[unit][wire]")
{
    unsigned char line[RPMI_DECISION_BYTES];
    rpmi_decision found;

    rpmi_decision_put(line, &SOUND);
    REQUIRE(rpmi_decision_get(line, &found) == 0);
    CHECK(found.epoch == SOUND.epoch);
    CHECK(found.log_id == SOUND.log_id);
    CHECK(found.head_lsn == SOUND.head_lsn);
    CHECK(found.trim_lsn == SOUND.trim_lsn);
    CHECK(found.last_lsn == SOUND.last_lsn);
    CHECK(found.last_sum == SOUND.last_sum);
    CHECK(found.number == SOUND.number);
    for (unsigned bit = 0; bit < 8 * sizeof(line); bit++) {
        line[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
        CHECK(rpmi_decision_get(line, &found) == RPM_E_CORRUPT);
        line[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
    }
}

TEST_CASE("decision: two that are mixed are none", "[unit][wire]")
{
    unsigned char first[RPMI_DECISION_BYTES];
    unsigned char second[RPMI_DECISION_BYTES];
    rpmi_decision next = SOUND;
    rpmi_decision found;

    next.head_lsn = SOUND.trim_lsn;
    next.last_lsn = SOUND.trim_lsn;
    next.trim_lsn = SOUND.trim_lsn + 64;
    next.last_sum++;
    next.number++;
    rpmi_decision_put(first, &SOUND);
    rpmi_decision_put(second, &next);
    for (unsigned cut = 24; cut < RPMI_DECISION_BYTES; cut += 8) { // they differ from byte 16 on
        unsigned char mixed[RPMI_DECISION_BYTES];

        memcpy(mixed, first, cut);
        memcpy(mixed + cut, second + cut, sizeof(mixed) - cut);
        CHECK(rpmi_decision_get(mixed, &found) == RPM_E_CORRUPT);
    }
}

TEST_CASE("decision: a blank line, another version", "[unit][wire]")
{
    unsigned char line[RPMI_DECISION_BYTES] = {};
    rpmi_decision found;

    CHECK(rpmi_decision_get(line, &found) == RPM_E_NOENT);
    rpmi_decision_put(line, &SOUND);
    rpmi_store32(line, 2);
    CHECK(rpmi_decision_get(line, &found) == RPM_E_CORRUPT);
    rpmi_store64(line + 56, rpmi_sum(line, 56));
    CHECK(rpmi_decision_get(line, &found) == RPM_E_VERSION);
}

TEST_CASE("decision: the sets fill the region up to the words", "[unit][wire]")
{
    CHECK(rpmi_decision_set(UINT64_MAX) == RPMI_DECISION_SETS - 1);
    CHECK(RPMI_DECISION_WORDS_AT == 32768);
    CHECK(RPMI_DECISIONS_BYTES == 32768 + 512);
}
