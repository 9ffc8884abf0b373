// SPDX-License-Identifier: BSD-3-Clause
// place_test.cpp: gaps between objects, against a map of the pool's pages.
#include "unit/pool/server.h"

#include "base/rng.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace
{

constexpr uint64_t kPage = 4096;

// Which pages of the pool an object has.
std::vector<bool> pages_of(const rpmi_service *service)
{
    std::vector<bool> taken(service->opts.pool->bytes / kPage);

    std::fill_n(taken.begin(), service->super.data_offset / kPage, true);
    for (uint32_t i = 0; i < service->super.entries; i++) {
        const rpmi_object &object = service->objects[i];

        for (uint64_t at = 0; object.used && at < object.entry.bytes; at += kPage)
            taken[(object.entry.offset + at) / kPage] = true;
    }
    return taken;
}

// The first of @n free pages in a row, or 0.
uint64_t first_fit(const std::vector<bool> &taken, uint64_t n)
{
    auto at = std::search_n(taken.begin(), taken.end(), static_cast<int64_t>(n), false);

    return at == taken.end() ? 0 : static_cast<uint64_t>(at - taken.begin());
}

} // namespace

TEST_CASE("place: the first gap that fits is given, and room is counted", "[unit]")
{
    PoolServer server(1u << 20);
    uint32_t me = server.client();
    rpmi_rng rng;
    int full = 0;

    rpmi_rng_seed(&rng, 3);
    for (int turn = 0; turn < 2000; turn++) {
        std::string name = "r" + std::to_string(rpmi_rng_next(&rng) % 40);
        std::vector<bool> taken = pages_of(server.service);
        uint64_t pages = 1 + rpmi_rng_next(&rng) % 24;
        uint64_t fit = first_fit(taken, pages);
        struct rpmi_dir_room room = {};

        rpmi_dir_room(server.service, false, &room);
        uint64_t free = static_cast<uint64_t>(std::count(taken.begin(), taken.end(), false));
        REQUIRE(room.free == free * kPage);
        REQUIRE((room.largest == 0 || first_fit(taken, room.largest / kPage) != 0));
        REQUIRE(first_fit(taken, room.largest / kPage + 1) == 0);
        if (server.remove(me, name).status == 0)
            continue;
        rpmi_reply made = server.open(me, name, RPM_KIND_REGION, pages * kPage - turn % 2);
        full += made.status == RPM_E_NOSPACE;
        REQUIRE(made.status == (fit != 0 ? 0 : RPM_E_NOSPACE));
        REQUIRE((fit == 0 || made.offset == fit * kPage));
        if (made.status == 0)
            server.with_key(me, RPMI_CALL_CLOSE, made.key);
    }
    CHECK(full > 100);
}
