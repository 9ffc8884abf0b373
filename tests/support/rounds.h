// SPDX-License-Identifier: BSD-3-Clause
// rounds.h: how often something is repeated. Under sanitizers, and where an emulator runs what was
// built for another architecture, each round costs ten times as much and more, and they look at
// what it does, not at what it comes to: a quarter of the rounds is enough there, and of several
// options in all combinations those that together take each step once.
#ifndef TESTS_SUPPORT_ROUNDS_H
#define TESTS_SUPPORT_ROUNDS_H

#include <cstdint>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(RPM_EMULATED)
inline constexpr bool kSlow = true;
#else
inline constexpr bool kSlow = false;
#endif

constexpr uint64_t rounds(uint64_t count)
{
    return kSlow ? (count + 3) / 4 : count;
}

#endif
