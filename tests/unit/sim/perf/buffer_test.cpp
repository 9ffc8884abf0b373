// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"
#include "support/death.h"

#include <algorithm>
#include <set>

namespace
{

struct Buffer {
    std::vector<rpmi_buffer> room = std::vector<rpmi_buffer>(1);

    explicit Buffer(uint32_t entries)
    {
        rpmi_buffer_open(room.data(), entries);
    }
    operator rpmi_buffer *()
    {
        return room.data();
    }
};

} // namespace

TEST_CASE("buffer: an entry that was taken is found until it is returned", "[unit]")
{
    Buffer buffer(RPMI_BUFFER_MAX);
    std::set<uint32_t> there;
    rpmi_rng rng;

    rpmi_rng_seed(&rng, 9);
    for (int i = 0; i < 20000; i++) {
        uint32_t line = static_cast<uint32_t>(rpmi_rng_below(&rng, 4000)) * 4096;
        rpmi_buffer_entry *entry = rpmi_buffer_find(buffer, line);

        REQUIRE((entry != nullptr) == (there.count(line) == 1));
        if (entry != nullptr) {
            REQUIRE(entry->line == line);
            rpmi_buffer_give(buffer, entry);
            there.erase(line);
        } else if (there.size() < RPMI_BUFFER_MAX) {
            REQUIRE(rpmi_buffer_take(buffer, line)->held == 0);
            there.insert(line);
        }
        REQUIRE(static_cast<rpmi_buffer *>(buffer)->useds == there.size());
        REQUIRE(static_cast<rpmi_buffer *>(buffer)->spares == RPMI_BUFFER_MAX - there.size());
    }
    CHECK(there.size() > 900);
}

TEST_CASE("buffer: any entry may be picked, but none that is busy", "[unit]")
{
    Buffer buffer(3);
    std::set<uint32_t> picked;
    rpmi_rng rng;

    rpmi_rng_seed(&rng, 1);
    for (uint32_t line : { 7u, 8u, 9u })
        rpmi_buffer_take(buffer, line);
    rpmi_buffer_find(buffer, 8)->busy = true;
    for (int i = 0; i < 100; i++)
        picked.insert(rpmi_buffer_any(buffer, &rng)->line);
    CHECK(picked == std::set<uint32_t>{ 7, 9 });
    rpmi_buffer_find(buffer, 7)->busy = true;
    rpmi_buffer_find(buffer, 9)->busy = true;
    CHECK(rpmi_buffer_any(buffer, &rng) == nullptr);
}

TEST_CASE("buffer: taking from a full one is an assertion", "[unit]")
{
    CHECK(death_of([] {
              Buffer buffer(1);

              rpmi_buffer_take(buffer, 1);
              rpmi_buffer_take(buffer, 2);
          }).find("buffer->spares > 0") != std::string::npos);
}
