// SPDX-License-Identifier: BSD-3-Clause
#include "unit/tier/tiered.h"

using namespace loop;

TEST_CASE("reader: segments that come while it reads are read as well", "[unit]")
{
    Stage stage;
    auto &[dir, server, conn, tier, log] = stage;
    Archiver archiver(tier, log);
    rpm_tier_reader *reader = nullptr;
    rpm_record record;

    append(log, "one");
    archiver.all();
    REQUIRE(rpm_tier_reader_open(tier, log.log->log_id, 0, &reader) == 0);
    REQUIRE(rpm_tier_reader_next(reader, &record) == 1);
    CHECK(rpm_tier_reader_next(reader, &record) == 0);
    CHECK(rpm_tier_reader_next(reader, &record) == 0);
    append(log, "two");
    append(log, "three");
    archiver.all();
    REQUIRE(rpm_tier_reader_next(reader, &record) == 1);
    CHECK(std::string(static_cast<const char *>(record.data), record.len) == "two");
    REQUIRE(rpm_tier_reader_next(reader, &record) == 1);
    CHECK(rpm_tier_reader_next(reader, &record) == 0);
    rpm_tier_reader_close(&reader);
}
