// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

#include <map>

namespace
{

struct Cache {
    rpmi_llc llc = {};
    rpmi_rng rng = {};

    Cache(uint64_t sets, uint64_t ways, uint64_t victims)
    {
        rpmi_rng_seed(&rng, 1);
        if (rpmi_llc_open(&llc, sets, ways, victims) != 0)
            throw std::runtime_error("no memory");
    }
    ~Cache()
    {
        rpmi_llc_close(&llc);
    }
    uint64_t fill(uint64_t line)
    {
        return rpmi_llc_fill(&llc, line, &rng);
    }
    bool has(uint64_t line) const
    {
        return rpmi_llc_has(&llc, line);
    }
};

} // namespace

TEST_CASE("llc: with one victim the oldest line of a full set is evicted", "[unit]")
{
    Cache cache(4, 3, 1);

    for (uint64_t line : { 1, 5, 9, 2 })
        REQUIRE(cache.fill(line) == UINT64_MAX);
    CHECK(cache.fill(13) == 1);
    CHECK_FALSE(cache.has(1));
    for (uint64_t line : { 5, 9, 13, 2 })
        CHECK(cache.has(line));
    CHECK(cache.fill(17) == 5);
    CHECK_FALSE(cache.has(0));
}

TEST_CASE("llc: one of the oldest lines is evicted at random, and no younger one", "[unit]")
{
    Cache cache(1, 8, 3);
    std::vector<uint64_t> lines; // oldest first
    std::map<size_t, int> went;

    for (uint64_t line = 0; line < 8; line++) {
        REQUIRE(cache.fill(line) == UINT64_MAX);
        lines.push_back(line);
    }
    for (uint64_t line = 8; line < 3008; line++) {
        uint64_t old = cache.fill(line);
        size_t age = 0;

        while (age < lines.size() && lines[age] != old)
            age++;
        REQUIRE(age < 3);
        went[age]++;
        lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(age));
        lines.push_back(line);
    }
    for (size_t age = 0; age < 3; age++)
        CHECK(went[age] > 900);
}

TEST_CASE("llc: there are never more victims than ways", "[unit]")
{
    Cache cache(1, 2, 3);
    int younger = 0;

    cache.fill(0);
    cache.fill(1);
    for (uint64_t line = 2; line < 202; line++) {
        uint64_t old = cache.fill(line);

        REQUIRE(old < line);
        younger += old == line - 1;
        REQUIRE(cache.has(line));
    }
    CHECK(younger > 60);
    CHECK(younger < 140);
}

TEST_CASE("llc: a failed allocation is an error", "[unit]")
{
    rpmi_llc llc = {};

    rpmi_mem_fail_at(1);
    CHECK(rpmi_llc_open(&llc, 4, 3, 1) == RPM_E_NOMEM);
    rpmi_llc_close(&llc);
}
