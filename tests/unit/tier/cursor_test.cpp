// SPDX-License-Identifier: BSD-3-Clause
#include "unit/tier/tiered.h"

using namespace loop;

TEST_CASE("cursor: from each record on, and from nowhere else", "[unit]")
{
    Stage stage;
    auto &[dir, server, conn, tier, log] = stage;
    Archiver archiver(tier, log);
    std::vector<Record> wrote = fill(log, 2 * SPAN);
    uint64_t id = log.log->log_id;
    int error;

    archiver.all();
    for (size_t i = 0; i < wrote.size(); i += 5) {
        REQUIRE(stored_records(tier, id, &error, wrote[i].lsn).front() == wrote[i]);
        REQUIRE(error == 0);
    }
    for (uint64_t bad : { wrote[1].lsn + 64, wrote[1].lsn + 1, wrote.back().lsn + 64 }) {
        CHECK(stored_records(tier, id, &error, bad).empty());
        CHECK(error == RPM_E_RANGE);
    }
    stored_records(tier, id, &error, info(log).tail_lsn);
    CHECK(error == RPM_E_NOENT);
    stored_records(tier, id + 1, &error);
    CHECK(error == RPM_E_NOENT);
}
