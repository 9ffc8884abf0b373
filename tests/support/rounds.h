// SPDX-License-Identifier: BSD-3-Clause
// rounds.h: how often something is repeated. Under sanitizers, and where an emulator runs what was
// built for another architecture, each round costs ten times as much and more, and they look at
// what it does, not at what it comes to: a quarter of the rounds is enough there.
#ifndef TESTS_SUPPORT_ROUNDS_H
#define TESTS_SUPPORT_ROUNDS_H

#include <cstdint>

constexpr uint64_t rounds(uint64_t count)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(RPM_EMULATED)
    return (count + 3) / 4;
#else
    return count;
#endif
}

#endif
