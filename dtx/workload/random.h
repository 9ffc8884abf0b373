/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * random.h: pseudo-random numbers: xoshiro256**, seeded by splitmix64. Equal seeds give equal runs,
 * on any machine and with any standard library.
 *
 * Tests: tests/unit/dtx/workload/random_test.cpp
 */
#ifndef DTX_WORKLOAD_RANDOM_H
#define DTX_WORKLOAD_RANDOM_H

#include <cstddef>
#include <cstdint>
#include <utility>

namespace dtx
{

inline uint64_t splitmix64(uint64_t &state)
{
    uint64_t z = state += 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* Derives the seed of a part from the seed of the whole. Not a sum or product: part 7 of seed 1
 * must differ from part 1 of seed 7. */
inline uint64_t seed_of(uint64_t seed, uint64_t part)
{
    uint64_t state = seed;
    uint64_t mixed = splitmix64(state) ^ part;

    return splitmix64(mixed);
}

class Random
{
  public:
    explicit Random(uint64_t seed)
    {
        for (uint64_t &word : state_)
            word = splitmix64(seed);
    }
    uint64_t next()
    {
        uint64_t result = rotate(state_[1] * 5, 7) * 9;
        uint64_t shifted = state_[1] << 17;

        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = rotate(state_[3], 45);
        return result;
    }
    /* A number from 0 to @bound - 1, all equally likely; @bound is at least 1. */
    uint64_t below(uint64_t bound)
    {
        /* The lowest 2^64 % bound numbers are rejected: they would make some results more likely.
         */
        uint64_t uneven = (0 - bound) % bound;
        uint64_t value = next();

        while (value < uneven)
            value = next();
        return value % bound;
    }
    /* A number from @from to @to, both included. */
    uint32_t between(uint32_t from, uint32_t to)
    {
        return from + static_cast<uint32_t>(below(uint64_t{ to } - from + 1));
    }
    /* True in @of_ten_thousand of 10,000 cases. */
    bool chance(uint32_t of_ten_thousand)
    {
        return below(10000) < of_ten_thousand;
    }
    template <class T> void shuffle(T *items, size_t count)
    {
        for (size_t i = count; i > 1; i--)
            std::swap(items[i - 1], items[below(i)]);
    }

  private:
    static uint64_t rotate(uint64_t value, int by)
    {
        return (value << by) | (value >> (64 - by));
    }

    uint64_t state_[4];
};

} // namespace dtx
#endif
