// SPDX-License-Identifier: BSD-3-Clause
// rounds.h: how often a test repeats something, and from which seed on. Under sanitizers and under
// an emulator of another architecture a round costs ten times as much or more, and what these find
// does not depend on the number of rounds: a quarter of the rounds is enough there, an eighth under
// the emulator, and of all combinations of options only enough to take each branch once.
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

#if defined(RPM_EMULATED)
inline constexpr uint64_t kOneOf = 8; // rounds that a release does
#elif defined(RPM_SANITIZED)
inline constexpr uint64_t kOneOf = 4;
#else
inline constexpr uint64_t kOneOf = 1;
#endif
inline constexpr bool kSlow = kOneOf > 1;

constexpr uint64_t rounds(uint64_t count)
{
    return (count + kOneOf - 1) / kOneOf;
}

// The first seed of a test: the same in each run, unless LIBRPM_TEST_SEED moves it.
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
