// SPDX-License-Identifier: BSD-3-Clause
#include "unit/dtx/check/damage.h"
#include <dtx/checks.h>

#include <cstring>

using dtx::checks::check_copies;

TEST_CASE("copies: all copies are whole and equal after a run")
{
    Database db = rows_of_two_copies();
    std::vector<dtx::Findings> found = check_copies(*db.cluster);

    REQUIRE(found.size() == 2);
    CHECK(broken(found[0], "whole") == 0);
    CHECK(broken(found[1], "whole") == 0);
    CHECK(broken(found[1], "copies") == 0);
    CHECK(broken(found[0], "copies") == UINT64_MAX);
}

TEST_CASE("copies: one object is read again as it was among all")
{
    Database db = rows_of_two_copies();
    dtx::Cluster::Reading reading(*db.cluster);
    uint32_t table = db.tables.sorted.number;
    std::vector<unsigned char> again(db.cluster->layout().table(table).slot_bytes);
    size_t same = 0;
    size_t all = 0;

    for (uint32_t copy : { 0, 1 })
        db.cluster->each_object(
            table, copy, [&](dtx::Address address, const unsigned char *image, uint32_t bytes) {
                db.cluster->read_object(address, copy, again.data());
                same += std::memcmp(again.data(), image, bytes) == 0 ? 1 : 0;
                all++;
            });
    CHECK(all > 0);
    CHECK(same == all);
}

TEST_CASE("copies: a differing or torn object is reported with its address and copy")
{
    Database db = rows_of_two_copies();
    dtx::Address row = first_object(*db.cluster, db.tables.sorted.number, is_valid);
    std::vector<dtx::Findings> found;

    damage(*db.cluster, 1, row, [](unsigned char *image) { image[sizeof(dtx::ObjectHeader)]++; });
    found = check_copies(*db.cluster);
    CHECK(broken(found[0], "whole") == 0);
    CHECK(broken(found[1], "whole") == 0);
    CHECK(broken(found[1], "copies") == 1);
    CHECK(found[1].texts().at(0).find("table 'sorted' shard 0 slot " +
                                      std::to_string(row.slot())) != std::string::npos);

    damage(
        *db.cluster, 0, row, [](unsigned char *image) { image[sizeof(dtx::ObjectHeader)]++; },
        false);
    found = check_copies(*db.cluster);
    CHECK(broken(found[0], "whole") == 1);
    CHECK(broken(found[1], "whole") == 0);
}
