// SPDX-License-Identifier: BSD-3-Clause
#include <dtx/read_write_set.h>

#include "support/catch.h"

#include <cstring>

TEST_CASE("read-write set: accesses are found by address, and do not move", "[unit]")
{
    dtx::ReadWriteSet set;
    std::vector<dtx::Access *> all;

    for (int round = 0; round < 3; round++) {
        uint32_t many = round == 1 ? 5000 : 20;

        all.clear();
        for (uint32_t i = 0; i < many; i++) {
            dtx::Address address = dtx::Address::of(i % 3, 1, i * 7919 % 100003);

            REQUIRE(set.find(address) == nullptr);
            all.push_back(set.add(address, 64 + i % 5 * 64));
            std::memset(all.back()->image, static_cast<int>(i % 251), all.back()->bytes);
        }
        REQUIRE(set.size() == many);
        for (uint32_t i = 0; i < many; i++) {
            REQUIRE(set.find(all[i]->address) == all[i]);
            REQUIRE(all[i]->image[0] == i % 251);
            REQUIRE(all[i]->image[all[i]->bytes - 1] == i % 251);
        }
        set.clear();
        REQUIRE(set.size() == 0);
        REQUIRE(set.find(all[0]->address) == nullptr);
    }
}

TEST_CASE("dtx: an image larger than a block has memory of its own", "[unit]")
{
    dtx::ReadWriteSet set;
    dtx::Access *large = set.add(dtx::Address::of(0, 1, 1), 65 << 10);
    dtx::Access *small = set.add(dtx::Address::of(0, 1, 2), 64);

    std::memset(large->image, 1, large->bytes);
    std::memset(small->image, 2, small->bytes);
    CHECK(large->image[large->bytes - 1] == 1);
    CHECK(small->image[0] == 2);
}

TEST_CASE("read-write set: sorted accesses are in the order of their addresses", "[unit]")
{
    dtx::ReadWriteSet set;

    for (uint64_t slot : { 5, 1, 9, 3 })
        (void)set.add(dtx::Address::of(0, 1, slot), 64);
    (void)set.add(dtx::Address::of(0, 0, 77), 64);

    const auto &sorted = set.sorted();

    REQUIRE(sorted.size() == 5);
    for (size_t i = 1; i < sorted.size(); i++)
        CHECK(sorted[i - 1]->address < sorted[i]->address);
}
