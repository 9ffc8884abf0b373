/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * guesses.h: a cache of the addresses that rows had when a session last read them. A guess may be
 * wrong: its user compares the key of the row that it finds there.
 *
 * Each key has one place in the cache; a new guess replaces the guess that is there. Rows with
 * neighbouring keys are often used together, so four neighbouring keys share a line of 64 bytes,
 * and popular rows occupy little of the CPU's caches. The hash of the keys' common part chooses the
 * line and the order of the four in it, so keys that are far apart are spread evenly over all
 * places, even if all of them are multiples of one number.
 *
 * Tests: tests/unit/dtx/engine/store/guesses_test.cpp
 */
#ifndef DTX_ENGINE_GUESSES_H
#define DTX_ENGINE_GUESSES_H

#include <dtx/address.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace dtx
{

class Guesses
{
  public:
    /* A cache with places for at least @rows guesses; 0: no cache. */
    explicit Guesses(uint32_t rows) : lines_((uint64_t{ rows } + kTogether - 1) / kTogether) {}

    /* @table: a table of rows, so never 0, which has the allocator heads. */
    std::optional<Address> find(uint32_t table, uint64_t key) const
    {
        if (lines_.empty())
            return std::nullopt;

        const Guess &found = lines_[line_of(table, key)].guesses[place_in_line(key)];

        if (found.key != key || found.address.table() != table)
            return std::nullopt;
        return found.address;
    }
    void put(uint64_t key, Address address)
    {
        if (!lines_.empty())
            lines_[line_of(address.table(), key)].guesses[place_in_line(key)] = { key, address };
    }
    /* Has the CPU fetch the cache line of a key that find() will be called with soon. */
    void prefetch(uint32_t table, uint64_t key) const
    {
        if (!lines_.empty())
            __builtin_prefetch(&lines_[line_of(table, key)]);
    }

  private:
    static constexpr uint64_t kTogether = 4;
    static constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u; /* 2^64 over the golden ratio, odd */

    struct Guess {
        uint64_t key = 0;
        Address address; /* 0, the address of an allocator head: no guess */
    };

    struct alignas(64) Line {
        std::array<Guess, kTogether> guesses;
    };
    static_assert(sizeof(Line) == 64);

    size_t line_of(uint32_t table, uint64_t key) const
    {
        uint64_t mixed = (key / kTogether ^ uint64_t{ table } << 56) * kGolden;

        return static_cast<size_t>((static_cast<unsigned __int128>(mixed) * lines_.size()) >> 64);
    }
    /* Each of four neighbouring keys has a place of its own in the line. */
    static size_t place_in_line(uint64_t key)
    {
        return (key + (key / kTogether * kGolden >> 32)) % kTogether;
    }

    std::vector<Line> lines_;
};

} // namespace dtx
#endif
