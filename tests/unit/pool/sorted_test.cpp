// SPDX-License-Identifier: BSD-3-Clause
// sorted_test.cpp: sorted lists of objects, against a list that is sorted anew.
#include "unit/pool/server.h"

#include "base/rng.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

namespace
{

bool is_before(rpmi_sorted_by by, const rpmi_dirent &a, const rpmi_dirent &b)
{
    if (by == RPMI_BY_NAME)
        return strcmp(a.name, b.name) < 0;
    return by == RPMI_BY_PLACE ? a.offset < b.offset : a.id < b.id;
}

} // namespace

TEST_CASE("sorted: objects that come and go stay sorted, and are found", "[unit]")
{
    const rpmi_sorted_by by = GENERATE(RPMI_BY_NAME, RPMI_BY_PLACE, RPMI_BY_ID);
    std::vector<rpmi_object> objects(200);
    std::vector<rpmi_object *> room(objects.size());
    std::vector<rpmi_object *> model;
    rpmi_sorted order = { by, 0, room.data() };
    rpmi_rng rng;

    rpmi_rng_seed(&rng, 7);
    for (size_t i = 0; i < objects.size(); i++) {
        snprintf(objects[i].entry.name, sizeof(objects[i].entry.name), "n%zu", i * 37 % 200);
        objects[i].entry.offset = i * 91 % 200 << 12;
        objects[i].entry.id = i * 53 % 100; // each twice
    }
    for (int turn = 0; turn < 3000; turn++) {
        rpmi_object *one = &objects[rpmi_rng_next(&rng) % objects.size()];

        if (one->used) {
            rpmi_sorted_remove(&order, one);
            model.erase(std::find(model.begin(), model.end(), one));
        } else {
            one->used = true;
            rpmi_sorted_add(&order, one);
            model.push_back(one);
        }
        one->used = std::find(model.begin(), model.end(), one) != model.end();
        REQUIRE(order.n == model.size());
        for (uint32_t i = 1; i < order.n; i++)
            REQUIRE(!is_before(by, order.at[i]->entry, order.at[i - 1]->entry));
        uint32_t place = rpmi_sorted_find(&order, &one->entry);
        auto less = [&](const rpmi_object *other) {
            return is_before(by, other->entry, one->entry);
        };
        REQUIRE(place == std::count_if(model.begin(), model.end(), less));
    }
}
