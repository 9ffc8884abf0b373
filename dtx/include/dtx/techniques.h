/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * techniques.h: techniques that reduce contention of many threads and coroutines. Each can be
 * switched off, to measure what it gains.
 *
 * Source: SMART (ASPLOS 2024). Its first one, that no two threads share a queue pair or a doorbell,
 * has no switch: each session has connections of its own.
 *
 * Tests: tests/unit/dtx/engine/base/techniques_test.cpp
 */
#ifndef DTX_TECHNIQUES_H
#define DTX_TECHNIQUES_H

#include <string>
#include <vector>

namespace dtx
{

struct Techniques {
    bool throttle = true; /* librpm adapts the number of operations under way, RPM_PACE_THROTTLE */
    bool backoff = true;  /* wait after a conflict, longer after each */
    bool depth = true;    /* fewer transactions of a session at once while most attempts fail */
    bool guesses = true;  /* read a row where it was last seen, without the index */

    /* "all", "none", the techniques that are on: "throttle,backoff", or those that are off:
     * "-depth,-guesses". Throws Error. */
    static Techniques parse(const std::string &text);

    /* All words that parse() accepts. */
    static std::vector<std::string> words();

    bool operator==(const Techniques &) const = default;
};

} // namespace dtx
#endif
