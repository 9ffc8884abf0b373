// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"

#include <librpm/error.h>
#include <map>
#include <sys/mman.h>
#include <vector>

extern "C" {
#include "base/rng.h"
#include "transport/stage.h"
}

namespace
{

alignas(64) unsigned char room[1 << 16];

} // namespace

TEST_CASE("stage: pieces are aligned, do not overlap, and can be returned", "[unit]")
{
    rpmi_stage stage = {};
    rpmi_rng rng;
    std::map<unsigned char *, uint64_t> taken;

    stage.base = room;
    stage.bytes = sizeof(room);
    rpmi_rng_seed(&rng, 3);
    for (int i = 0; i < 5000; i++) {
        if (!taken.empty() && rpmi_rng_chance(&rng, 500000)) {
            auto one = taken.begin();
            std::advance(one, static_cast<long>(rpmi_rng_below(&rng, taken.size())));
            rpmi_stage_give(&stage, one->first);
            taken.erase(one);
            continue;
        }
        uint64_t bytes = 1 + rpmi_rng_below(&rng, 5000);
        auto *ptr = static_cast<unsigned char *>(rpmi_stage_take(&stage, bytes));
        if (ptr == nullptr)
            continue;
        REQUIRE(reinterpret_cast<uintptr_t>(ptr) % 64 == 0);
        REQUIRE(ptr >= room);
        REQUIRE(ptr + bytes <= room + sizeof(room));
        auto after = taken.upper_bound(ptr);
        if (after != taken.end())
            REQUIRE(ptr + bytes <= after->first);
        if (after != taken.begin()) {
            auto before = std::prev(after);
            REQUIRE(before->first + before->second <= ptr);
        }
        taken[ptr] = bytes;
    }
    for (const auto &one : taken)
        rpmi_stage_give(&stage, one.first);
    CHECK(stage.used == 0);
    CHECK(rpmi_stage_take(&stage, sizeof(room)) == room);
    CHECK(rpmi_stage_take(&stage, 1) == nullptr);
}

TEST_CASE("stage: a request for more bytes or pieces than there are is refused", "[unit]")
{
    rpmi_stage stage = {};

    stage.base = room;
    stage.bytes = sizeof(room);
    CHECK(rpmi_stage_take(&stage, sizeof(room) + 1) == nullptr);
    uint32_t n = 0;
    while (rpmi_stage_take(&stage, 64) != nullptr)
        n++;
    CHECK(n == sizeof(room) / 64);
    stage.used = 0;
    stage.bytes = uint64_t{ 1 } << 40; // never touched
    n = 0;
    while (rpmi_stage_take(&stage, 64) != nullptr)
        n++;
    CHECK(n == RPMI_STAGE_PIECES);
}

TEST_CASE("stage: mapped memory is zero, and takes up a page only after a write to it", "[unit]")
{
    constexpr uint64_t kBytes = 16 << 20;
    rpmi_stage stage = {};
    std::vector<unsigned char> in_memory(kBytes / RPMI_PAGE_BYTES);
    auto pages = [&] {
        size_t n = 0;

        REQUIRE(mincore(stage.base, kBytes, in_memory.data()) == 0);
        for (unsigned char page : in_memory)
            n += page & 1;
        return n;
    };

    REQUIRE(rpmi_stage_map(&stage, kBytes) == 0);
    CHECK(pages() == 0);

    auto *bytes = static_cast<unsigned char *>(rpmi_stage_take(&stage, kBytes));

    REQUIRE(bytes == stage.base);
    CHECK((bytes[0] == 0 && bytes[kBytes - 1] == 0));
    bytes[0] = 1;
    CHECK((pages() > 0 && pages() < in_memory.size()));
    rpmi_stage_give(&stage, bytes);
    rpmi_stage_unmap(&stage);
    CHECK(stage.base == nullptr);
    CHECK(rpmi_stage_map(&stage, uint64_t{ 1 } << 60) == RPM_E_NOMEM);
    rpmi_stage_unmap(&stage);
}
