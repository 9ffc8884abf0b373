// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

#include <string>

static std::string text_of(const rpmi_history &history)
{
    std::string text(rpmi_history_text(&history, nullptr, 0) + 1, '\0');

    rpmi_history_text(&history, &text[0], text.size());
    text.pop_back();
    return text;
}

TEST_CASE("history: the fingerprint depends on what, where, when and in which order", "[unit]")
{
    rpmi_event one = {};
    rpmi_event two = {};
    rpmi_history forward = {};
    rpmi_history backward = {};
    rpmi_history later = {};

    one.kind = RPMI_EV_SEND;
    two.kind = RPMI_EV_ARRIVE;
    rpmi_history_add(&forward, &one);
    rpmi_history_add(&forward, &two);
    rpmi_history_add(&backward, &two);
    rpmi_history_add(&backward, &one);
    two.at = 1;
    rpmi_history_add(&later, &one);
    rpmi_history_add(&later, &two);
    REQUIRE(forward.print != backward.print);
    REQUIRE(forward.print != later.print);
}

TEST_CASE("history: the text holds the last events, oldest first", "[unit]")
{
    rpmi_history history = {};
    rpmi_event event = {};

    REQUIRE(text_of(history).empty());
    event.kind = RPMI_EV_EVICT;
    for (uint64_t i = 0; i < RPMI_HISTORY_KEPT + 3; i++) {
        event.at = i;
        rpmi_history_add(&history, &event);
    }
    std::string text = text_of(history);
    REQUIRE(text.find("3 ns evict 0 0\n") == 0);
    REQUIRE(text.find("66 ns evict 0 0\n") != std::string::npos);

    char small[8];
    REQUIRE(rpmi_history_text(&history, small, sizeof(small)) == text.size());
    REQUIRE(std::string(small) == text.substr(0, 7));
}
