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

TEST_CASE("copies: an object that is torn or older on one copy is written as it is on the other")
{
    Database db = rows_of_two_copies();
    dtx::Address row = first_object(
        *db.cluster, db.cluster->schema().tables()[db.tables.sorted.number].index,
        [](const dtx::ObjectHeader &header, const unsigned char *) { return header.version > 2; });
    std::string slot = " slot " + std::to_string(row.slot());
    std::vector<std::string> texts;
    auto told = [&](const std::string &text) { texts.push_back(text); };
    auto tear = [](unsigned char *image) { image[sizeof(dtx::ObjectHeader)]++; };

    CHECK(dtx::checks::make_copies_equal(*db.cluster, told) == 0);
    CHECK(texts.empty());
    for (uint32_t copy : { 0, 1 }) {
        damage(*db.cluster, copy, row, tear, false);
        CHECK(dtx::checks::make_copies_equal(*db.cluster, told) == 0);
        damage(*db.cluster, copy, row, [](unsigned char *image) {
            dtx::header_of(image).version--;
            image[sizeof(dtx::ObjectHeader)]++;
        });
        CHECK(dtx::checks::make_copies_equal(*db.cluster, told) == 0);
        for (const dtx::Findings &found : check_copies(*db.cluster))
            CHECK(found.texts().empty());
    }
    REQUIRE(texts.size() == 4);
    for (size_t copy : { 0, 1 }) {
        std::string end = " on copy " + std::to_string(copy) + ": wrote it as it is on copy " +
                          std::to_string(1 - copy);

        CHECK(texts[2 * copy].find(slot + " is torn" + end) != std::string::npos);
        CHECK(texts[2 * copy + 1].find(slot + " differs" + end) != std::string::npos);
    }

    for (uint32_t copy : { 0, 1 })
        damage(*db.cluster, copy, row, tear, false);
    CHECK(dtx::checks::make_copies_equal(*db.cluster, told) == 1);
    CHECK(texts.size() == 4);
}
