/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * techniques.h: what keeps many threads and coroutines from being in each other's way, each of
 * which can be left out to see what it is good for.
 *
 * Source: SMART (ASPLOS 2024). Its first one, that no two threads share a queue pair or a doorbell,
 * has no switch: each session has connections of its own. Tests:
 * tests/unit/dtx/engine/base/techniques_test.cpp
 */
#ifndef DTX_TECHNIQUES_H
#define DTX_TECHNIQUES_H

#include <string>
#include <vector>

namespace dtx
{

struct Techniques {
    bool throttle = true; /* librpm finds how much may be under way, RPM_PACE_THROTTLE */
    bool backoff = true;  /* wait after a conflict, longer from try to try */
    bool depth = true;    /* fewer transactions of a session at once while most tries fail */
    bool guesses = true;  /* rows are looked for where they were seen last, not by the index */

    /* "all", "none", those that are on: "throttle,backoff", or those that are off:
     * "-depth,-guesses". Throws Error. */
    static Techniques parse(const std::string &text);

    /* All words that parse() accepts. */
    static std::vector<std::string> words();

    bool operator==(const Techniques &) const = default;
};

} // namespace dtx
#endif
