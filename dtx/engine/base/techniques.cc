/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * techniques.cc: parse the names of techniques.
 *
 * Tests: tests/unit/dtx/engine/base/techniques_test.cpp
 */
#include <dtx/techniques.h>

#include <dtx/error.h>

#include <librpm.h>

#include <array>
#include <sstream>
#include <utility>

namespace dtx
{

static constexpr std::array<std::pair<const char *, bool Techniques::*>, 4> kTechniqueNames{ {
    { "throttle", &Techniques::throttle },
    { "backoff", &Techniques::backoff },
    { "depth", &Techniques::depth },
    { "guesses", &Techniques::guesses },
} };

static void set(Techniques &techniques, const std::string &word, bool on)
{
    for (const auto &[name, technique] : kTechniqueNames)
        if (word == name) {
            techniques.*technique = on;
            return;
        }
    throw Error(RPM_E_INVAL,
                "'" + word +
                    "' is not a technique; expected throttle, backoff, depth, guesses, each with a "
                    "'-' to leave it out, or all, none");
}

Techniques Techniques::parse(const std::string &text)
{
    bool without = text == "all" || text.starts_with('-');
    std::istringstream words(text == "all" || text == "none" ? "" : text);
    Techniques techniques = without ? Techniques{} : Techniques{ false, false, false, false };

    if (text.empty())
        set(techniques, text, true);
    for (std::string word; std::getline(words, word, ',');) {
        if (word.starts_with('-') != without)
            throw Error(RPM_E_INVAL, "'" + text +
                                         "' switches techniques on and off; give either those that "
                                         "are on or, with '-', those that are off");
        set(techniques, word.substr(without ? 1 : 0), !without);
    }
    return techniques;
}

std::vector<std::string> Techniques::words()
{
    std::vector<std::string> words = { "all", "none" };

    for (const char *sign : { "", "-" })
        for (const auto &[name, technique] : kTechniqueNames)
            words.push_back(std::string(sign) + name);
    return words;
}

} // namespace dtx
