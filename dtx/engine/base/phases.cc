/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * phases.cc: parse the names of phases.
 *
 * Tests: tests/unit/dtx/engine/base/phases_test.cpp
 */
#include <dtx/phases.h>

#include <dtx/error.h>

#include <librpm.h>

#include <array>
#include <sstream>
#include <utility>

namespace dtx
{

static constexpr std::array<std::pair<const char *, Via Phases::*>, 5> kPhaseNames{ {
    { "execute", &Phases::execute },
    { "lock", &Phases::lock },
    { "validate", &Phases::validate },
    { "log", &Phases::log },
    { "commit", &Phases::commit },
} };

Phases Phases::parse(const std::string &text)
{
    if (text == "fewest")
        return {};

    std::istringstream words(text == "one-sided" ? ""
                             : text == "call"    ? "execute,lock,validate,log,commit"
                             : text == "hybrid"  ? "lock,commit"
                                                 : text);
    Phases phases{ Via::one_sided, Via::one_sided, Via::one_sided, Via::one_sided, Via::one_sided };

    for (std::string word; std::getline(words, word, ',');) {
        bool known = false;

        for (const auto &[name, phase] : kPhaseNames)
            if (word == name) {
                phases.*phase = Via::call;
                known = true;
            }
        if (!known)
            throw Error(RPM_E_INVAL, "'" + word +
                                         "' is not a phase; expected execute, lock, validate, log, "
                                         "commit, or fewest, one-sided, call, hybrid for all");
    }
    return phases;
}

std::vector<std::string> Phases::words()
{
    std::vector<std::string> words = { "fewest", "one-sided", "call", "hybrid" };

    for (const auto &[name, phase] : kPhaseNames)
        words.emplace_back(name);
    return words;
}

} // namespace dtx
