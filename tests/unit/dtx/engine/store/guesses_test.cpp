// SPDX-License-Identifier: BSD-3-Clause
#include "engine/store/guesses.h"

#include "support/catch.h"

using dtx::Address;
using dtx::Guesses;

namespace
{

constexpr uint32_t kTable = 3;

// Puts @n keys, each larger by @step than the one before. Returns how many are found afterwards.
uint64_t known(uint32_t room, uint64_t step, uint64_t n)
{
    Guesses guesses(room);
    uint64_t found = 0;

    for (uint64_t i = 0; i < n; i++)
        guesses.put(i * step, Address::of(0, kTable, i));
    for (uint64_t i = 0; i < n; i++) {
        auto address = guesses.find(kTable, i * step);

        if (!address)
            continue;
        REQUIRE(*address == Address::of(0, kTable, i));
        found++;
    }
    return found;
}

} // namespace

TEST_CASE("dtx: a guess is the last address put for a key of a table", "[unit]")
{
    Guesses guesses(1);

    CHECK(!guesses.find(kTable, 0));
    guesses.put(7, Address::of(1, kTable, 40));
    CHECK(guesses.find(kTable, 7) == Address::of(1, kTable, 40));
    CHECK(!guesses.find(kTable + 1, 7));
    CHECK(!guesses.find(kTable, 7 + 16));
    guesses.put(7, Address::of(2, kTable, 41));
    CHECK(guesses.find(kTable, 7) == Address::of(2, kTable, 41));
}

TEST_CASE("dtx: without places for guesses there are no guesses", "[unit]")
{
    Guesses guesses(0);

    guesses.put(7, Address::of(1, kTable, 40));
    guesses.prefetch(kTable, 7);
    CHECK(!guesses.find(kTable, 7));
}

TEST_CASE("dtx: four keys next to one another share a line of guesses", "[unit]")
{
    CHECK(known(4, 1, 4) == 4);
    for (uint64_t first = 0; first < 4000; first += 4) {
        Guesses guesses(4);

        for (uint64_t key = first; key < first + 4; key++)
            guesses.put(key, Address::of(0, kTable, key));
        for (uint64_t key = first; key < first + 4; key++)
            REQUIRE(guesses.find(kTable, key) == Address::of(0, kTable, key));
    }
}

// If 1024 keys are put in 4096 places at random, later ones replace one in nine, and some 906 are
// left; this allows one in five.
TEST_CASE("dtx: guesses of keys that are far apart are spread over all places", "[unit]")
{
    for (uint64_t step :
         { 1ull, 4ull, 10ull, 16ull, 64ull, 256ull, 4096ull, 1ull << 32, 1ull << 40 })
        CHECK(known(4096, step, 1024) > 820);
}
