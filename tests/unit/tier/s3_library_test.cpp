// SPDX-License-Identifier: BSD-3-Clause
#if RPMI_WITH_S3
#include "unit/tier/s3/objects.h"
#else
#include "unit/tier/tiered.h"
#endif

extern "C" {
#include "tier/s3_library.h"
}

#if RPMI_WITH_S3

TEST_CASE("s3 library: the object store that the program is linked with is opened", "[unit]")
{
    Objects objects;
    rpmi_store *store = nullptr;

    REQUIRE(rpmi_s3_library_open("s3://bucket/", &store) == 0);
    CHECK(store->named_early);
    store->ops->close(store);
}

// The log's records are in objects that the writer has read whole before it trims.
static void damage(std::map<std::string, std::string> &held)
{
    for (auto &[key, bytes] : held)
        bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] + 1);
}

TEST_CASE("s3 library: a writer trims what it has read whole, and nothing else", "[unit]")
{
    Objects objects;
    loop::Server server{ 4u << 20 };
    loop::Conn conn{ server, loop::queued() };
    Tier agents{ "s3://bucket/a" };
    Tier writers{ "s3://bucket/a" };
    loop::Log log;
    rpm_archiver *archiver = nullptr;
    rpmi_stored stored;

    objects.page = 1000;
    for (rpm_tier *each : { agents.tier, writers.tier })
        Objects::hurry(each->store);
    REQUIRE(log.open(conn, "a", tiered(nullptr, 1u << 20)) == 0);
    std::vector<loop::Record> wrote = fill(log.log, 300000);
    REQUIRE(rpm_archiver_open(agents, log.log, &archiver) == 0);
    while (rpm_archiver_turn(archiver, 1) == 1)
        ;
    rpm_archiver_close(&archiver);
    REQUIRE(objects.held.size() >= 4);

    std::map<std::string, std::string> whole = objects.held;
    damage(objects.held); // behind the header, which stays valid
    CHECK(rpmi_cold_stored(log.log, writers, UINT64_MAX, &stored) == RPM_E_CORRUPT);
    CHECK(said("s3://bucket/a/"));
    CHECK(said("the checksum of its frames is wrong"));
    objects.held = whole;
    objects.change = [](const support::HttpRequest &request, const std::string &answer) {
        return request.method == "HEAD" ? support::HttpServer::reply("503 No", "") : answer;
    };
    CHECK(rpmi_cold_stored(log.log, writers, UINT64_MAX, &stored) == RPM_E_IO);
    // Listed, and not there.
    objects.change = [](const support::HttpRequest &request, const std::string &answer) {
        return request.method == "HEAD" ? support::HttpServer::reply("404 No", "") : answer;
    };
    CHECK(rpmi_cold_stored(log.log, writers, UINT64_MAX, &stored) == RPM_E_NOENT);
    objects.change = nullptr;
    REQUIRE(rpmi_cold_stored(log.log, writers, UINT64_MAX, &stored) == 0);
    CHECK(stored.end_lsn == log.log->tail_lsn);

    // Read once: the next time their headers are enough.
    size_t before = objects.count("GET");
    REQUIRE(rpmi_cold_stored(log.log, writers, UINT64_MAX, &stored) == 0);
    CHECK(objects.count("GET") - before == 1 + objects.held.size());
    int err;
    CHECK(stored_records(writers, log.log->log_id, &err) == wrote);
    CHECK(err == 0);
    CHECK(rpm_tier_drop(writers, log.log->log_id, UINT64_MAX) == static_cast<int>(whole.size()));
    CHECK(objects.held.empty());
}

#else

TEST_CASE("s3 library: a library without it says how to build it", "[unit]")
{
    rpm_tier *tier = nullptr;

    CHECK(rpm_tier_open("s3://bucket/a", nullptr, &tier) == RPM_E_NOCAP);
    CHECK(std::string(rpm_last_error()).find("-DLIBRPM_S3=ON") != std::string::npos);
    CHECK(tier == nullptr);
}

#endif
