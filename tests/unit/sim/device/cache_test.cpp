// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

#include <map>

namespace
{

// A cache over some memory, and a plain model of it: all contents that each line ever had.
struct Twin {
    explicit Twin(uint64_t bytes, uint32_t unit = 1)
        : seen(bytes), room(rpmi_cache_bytes(bytes) + 64)
    {
        void *at = room.data();
        size_t space = room.size();

        std::align(64, space - 64, at, space);
        rpmi_cache_open(&cache, at, seen.data(), bytes, unit);
        rpmi_rng_seed(&rng, 1);
    }

    std::vector<unsigned char> line(uint32_t n) const
    {
        return std::vector<unsigned char>(&seen[n * 64], &seen[n * 64] + 64);
    }

    std::vector<unsigned char> choice(uint32_t n, uint32_t i) const
    {
        uint64_t until;
        const unsigned char *at = rpmi_cache_choice(&cache, n, i, &until);

        return std::vector<unsigned char>(at, at + 64);
    }

    void write(uint64_t offset, unsigned char value, uint32_t len = 64)
    {
        std::vector<unsigned char> bytes(len, value);

        rpmi_cache_write(&cache, offset, bytes.data(), len, &rng);
    }

    rpmi_cache cache;
    rpmi_rng rng;
    std::vector<unsigned char> seen;
    std::vector<unsigned char> room;
};

} // namespace

TEST_CASE("cache: a dirty line keeps every older content, oldest first", "[unit]")
{
    Twin twin(4096);

    REQUIRE(rpmi_cache_choices(&twin.cache, 3) == 1);
    for (unsigned char value = 1; value <= 3; value++)
        twin.write(3 * 64, value);
    REQUIRE(rpmi_cache_choices(&twin.cache, 3) == 4);
    for (unsigned char value = 0; value <= 3; value++)
        REQUIRE(twin.choice(3, value) == std::vector<unsigned char>(64, value));
    REQUIRE(rpmi_cache_next_dirty(&twin.cache, 0, 64) == 3);
    REQUIRE(rpmi_cache_next_dirty(&twin.cache, 4, 64) == 64);
}

TEST_CASE("cache: writing a line back makes exactly what was seen by then durable", "[unit]")
{
    Twin twin(4096);

    twin.write(0, 1);
    twin.write(0, 2);
    uint64_t stamp = twin.cache.stamp;
    twin.write(0, 3);
    REQUIRE(rpmi_cache_write_back(&twin.cache, 0, stamp));
    REQUIRE(rpmi_cache_choices(&twin.cache, 0) == 2);
    REQUIRE(twin.choice(0, 0) == std::vector<unsigned char>(64, 2));
    REQUIRE(twin.choice(0, 1) == std::vector<unsigned char>(64, 3));
    REQUIRE_FALSE(rpmi_cache_write_back(&twin.cache, 0, stamp));
    REQUIRE(rpmi_cache_write_back(&twin.cache, 0, UINT64_MAX));
    REQUIRE(rpmi_cache_choices(&twin.cache, 0) == 1);
    REQUIRE(twin.cache.dirty_count == 0);
    REQUIRE(twin.line(0) == std::vector<unsigned char>(64, 3));
}

TEST_CASE("cache: a write that is durable on arrival takes the dirty line along", "[unit]")
{
    Twin twin(4096);
    unsigned char bytes[8] = { 9, 9, 9, 9, 9, 9, 9, 9 };

    twin.write(64, 1);
    rpmi_cache_write_through(&twin.cache, 64 + 8, bytes, 8);
    REQUIRE(rpmi_cache_choices(&twin.cache, 1) == 1);
    REQUIRE(twin.line(1)[0] == 1);
    REQUIRE(twin.line(1)[8] == 9);
}

TEST_CASE("cache: settling a line decides its content from then on", "[unit]")
{
    Twin twin(4096);
    uint64_t until;

    twin.write(128, 1);
    twin.write(128, 2);
    rpmi_cache_settle(&twin.cache, 2, rpmi_cache_choice(&twin.cache, 2, 1, &until));
    REQUIRE(twin.line(2) == std::vector<unsigned char>(64, 1));
    REQUIRE(rpmi_cache_choices(&twin.cache, 2) == 1);
}

TEST_CASE("cache: when there is no room a dirty line is evicted, and nothing is lost", "[unit]")
{
    Twin twin(256 * 1024);

    for (uint32_t i = 0; i < 3 * RPMI_SIM_VERSIONS; i++)
        twin.write(i * 64 % (256 * 1024), static_cast<unsigned char>(1 + i / 4096));
    REQUIRE(twin.cache.dirty_count <= RPMI_SIM_VERSIONS);
    REQUIRE(twin.cache.dirty_count > RPMI_SIM_VERSIONS / 2);
    for (uint32_t i = 0; i < 3 * RPMI_SIM_VERSIONS; i++)
        REQUIRE(twin.line(i) == std::vector<unsigned char>(64, 1));
}

TEST_CASE("cache: a sector's lines are written back together", "[unit]")
{
    Twin twin(8192, 8);

    twin.write(8 * 64, 1);
    twin.write(15 * 64, 1);
    twin.write(16 * 64, 1);
    REQUIRE(rpmi_cache_write_back_unit(&twin.cache, 12, UINT64_MAX));
    REQUIRE(rpmi_cache_choices(&twin.cache, 8) == 1);
    REQUIRE(rpmi_cache_choices(&twin.cache, 15) == 1);
    REQUIRE(rpmi_cache_choices(&twin.cache, 16) == 2);
}

TEST_CASE("cache: random use agrees with a plain history of every line", "[unit]")
{
    const uint32_t lines = 16;
    Twin twin(lines * 64);
    std::map<uint32_t, std::vector<std::vector<unsigned char>>> past; // durable one first
    rpmi_rng rng;

    rpmi_rng_seed(&rng, 11);
    for (uint32_t n = 0; n < lines; n++)
        past[n].push_back(twin.line(n));
    for (int step = 0; step < 20000; step++) {
        uint32_t n = static_cast<uint32_t>(rpmi_rng_below(&rng, lines));
        uint32_t from = static_cast<uint32_t>(rpmi_rng_below(&rng, 64));
        uint32_t len = 1 + static_cast<uint32_t>(rpmi_rng_below(&rng, 64 - from));

        switch (past[n].size() > 20 ? 2 : rpmi_rng_below(&rng, 3)) {
        case 0:
        case 1:
            twin.write(n * 64 + from, static_cast<unsigned char>(step), len);
            past[n].push_back(twin.line(n));
            break;
        default:
            rpmi_cache_write_back(&twin.cache, n, UINT64_MAX);
            past[n].erase(past[n].begin(), past[n].end() - 1);
        }
        REQUIRE(rpmi_cache_choices(&twin.cache, n) == past[n].size());
        for (uint32_t i = 0; i < past[n].size(); i++)
            REQUIRE(twin.choice(n, i) == past[n][i]);
    }
    REQUIRE(twin.cache.fresh - twin.cache.spares == [&] {
        size_t used = 0;
        for (const auto &line : past)
            used += line.second.size() - 1;
        return used;
    }());
}
