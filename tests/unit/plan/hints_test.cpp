// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"

#include <librpm/plan.h>
#include <string>

static const struct {
    const char *text;
    uint32_t hints;
} GOOD[] = {
    { "all", 0x3fe },     { "none", 0 },        { "H1", 0x002 },      { "H6,H9", 0x240 },
    { "h6,h9", 0x240 },   { "-H3", 0x3f6 },     { "-H3,-H9", 0x1f6 }, { "none,+H9", 0x200 },
    { "none,H9", 0x200 }, { "all,-H1", 0x3fc }, { "+H4", 0x3fe },     { "H4,-H4", 0 },
    { "-H3,+H3", 0x3fe },
};

static const char *const BAD[] = {
    "",     ",",    "H0",      "H10",  "H",      "6",    "every",
    "all,", ",all", "H6,none", "-all", "H6 ,H9", "--H3", "HH",
};

TEST_CASE("hints: every documented form is understood", "[unit]")
{
    for (const auto &good : GOOD) {
        uint32_t hints = 0xdead;

        CAPTURE(good.text);
        CHECK(rpm_hints_parse(good.text, &hints) == 0);
        CHECK(hints == good.hints);
    }
}

TEST_CASE("hints: without a text all hints are on", "[unit]")
{
    uint32_t hints = 0;

    CHECK(rpm_hints_parse(nullptr, &hints) == 0);
    CHECK(hints == RPM_HINTS_ALL);
}

TEST_CASE("hints: any other text is refused, and the output is unchanged", "[unit]")
{
    for (const char *text : BAD) {
        uint32_t hints = 0xdead;

        CAPTURE(text);
        CHECK(rpm_hints_parse(text, &hints) == RPM_E_INVAL);
        CHECK(hints == 0xdead);
        CHECK(std::string(rpm_last_error()).find(std::string("\"") + text + "\"") !=
              std::string::npos);
    }
}
