// SPDX-License-Identifier: BSD-3-Clause
#include "unit/tier/tiered.h"

using namespace loop;

TEST_CASE("tier: options out of range are refused", "[unit]")
{
    support::Dir dir;
    rpm_tier_opts opts = rpm_tier_opts_init();
    rpm_tier *tier = nullptr;

    for (uint64_t span :
         { uint64_t(1), uint64_t(65535), uint64_t(65537), uint64_t(128) << 20, UINT64_MAX }) {
        opts.segment_span = span;
        CHECK(rpm_tier_open((dir / "").c_str(), &opts, &tier) == RPM_E_INVAL);
    }
    opts = rpm_tier_opts_init();
    opts.engine = "dsa";
    CHECK(rpm_tier_open((dir / "").c_str(), &opts, &tier) == RPM_E_INVAL);
    opts = rpm_tier_opts_init();
    opts.codec = "gzip";
    CHECK(rpm_tier_open((dir / "").c_str(), &opts, &tier) == RPM_E_INVAL);
    opts = rpm_tier_opts_init();
    opts.size = 4;
    CHECK(rpm_tier_open((dir / "").c_str(), &opts, &tier) == RPM_E_INVAL);
    CHECK(tier == nullptr);
    rpm_tier_close(&tier);
}

TEST_CASE("tier: each log by its id, and none beside", "[unit]")
{
    support::Dir dir;
    Server server(4u << 20);
    Conn conn(server, queued());
    Tier tier(dir / "");
    std::map<uint64_t, std::string> names;
    rpm_tier_log found = rpm_tier_log_init();

    CHECK(rpm_tier_entry(tier, 0, &found) == 0);
    for (const char *name : { "a", "b", "c/d" }) {
        Log log(conn, name, WRITER, 65536);
        Archiver archiver(tier, log);

        append(log, name);
        archiver.all();
        names[log.log->log_id] = name;
    }
    std::filesystem::create_directory(dir / "other");
    std::filesystem::create_directory(dir / "0000000000000001"); // without segments
    uint32_t index = 0;
    for (auto [id, name] : names) {
        REQUIRE(rpm_tier_entry(tier, index++, &found) == 1);
        CHECK(found.log_id == id);
        CHECK(found.name == name);
        CHECK(found.records == 1);
    }
    CHECK(rpm_tier_entry(tier, index, &found) == 0);
}

TEST_CASE("tier: every allocation may fail", "[unit]")
{
    support::Dir dir;
    Server server(4u << 20);
    Conn conn(server, queued());
    Log log(conn, "a", WRITER, 65536);
    uint64_t nth = 0;
    int err = RPM_E_NOMEM;

    append(log, "one");
    while (err == RPM_E_NOMEM) {
        rpm_tier *tier = nullptr;
        rpm_archiver *archiver = nullptr;
        rpm_tier_reader *reader = nullptr;
        rpm_record record;

        rpmi_mem_fail_at(++nth);
        err = rpm_tier_open((dir / "").c_str(), nullptr, &tier);
        if (err == 0)
            err = rpm_archiver_open(tier, log, &archiver);
        if (err == 0)
            err = rpm_archiver_turn(archiver, 1);
        if (err >= 0)
            err = rpm_tier_reader_open(tier, log.log->log_id, 0, &reader);
        if (err == 0)
            err = rpm_tier_reader_next(reader, &record);
        rpmi_mem_fail_at(0);
        rpm_tier_reader_close(&reader);
        rpm_archiver_close(&archiver);
        rpm_tier_close(&tier);
    }
    CHECK(err == 1);
    CHECK(nth > 8);
}
