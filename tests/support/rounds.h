// SPDX-License-Identifier: BSD-3-Clause
// rounds.h: how often something is repeated, and from which seeds on. Under sanitizers, and
// where an emulator runs what was built for another architecture, each round costs ten times as
// much and more. They look at what it does, not at what it comes to: a quarter of the rounds is
// enough there, and of several options in all combinations those that together take each step
// once.
#ifndef TESTS_SUPPORT_ROUNDS_H
#define TESTS_SUPPORT_ROUNDS_H

#include <cstdint>
#include <cstdlib>
#include <vector>

#if defined(__has_feature) // clang
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RPM_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) // GCC
#define RPM_SANITIZED
#endif

#if defined(RPM_SANITIZED) || defined(RPM_EMULATED)
inline constexpr bool kSlow = true;
#else
inline constexpr bool kSlow = false;
#endif

constexpr uint64_t rounds(uint64_t count)
{
    return kSlow ? (count + 3) / 4 : count;
}

// The first of a test's seeds: the same one in each run, unless LIBRPM_TEST_SEED has a number.
inline uint64_t first_seed(uint64_t usual)
{
    const char *text = getenv("LIBRPM_TEST_SEED");

    return usual + (text == nullptr ? 0 : strtoull(text, nullptr, 10) * 1000000);
}

inline std::vector<uint64_t> seeds(uint64_t usual, uint64_t count)
{
    std::vector<uint64_t> list(count);

    for (uint64_t i = 0; i < count; i++)
        list[i] = first_seed(usual) + i;
    return list;
}

#endif
