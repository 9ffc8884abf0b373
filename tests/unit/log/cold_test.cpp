// SPDX-License-Identifier: BSD-3-Clause
#include "unit/tier/tiered.h"

using namespace loop;

// Appends until the log takes no more. The error.
static int fill_up(rpm_log *log, const std::string &data)
{
    uint64_t lsn;
    int err = 0;

    while (err == 0)
        err = rpm_log_append(log, data.data(), data.size(), &lsn);
    return err;
}

TEST_CASE("cold: a log that is stored is never full, and loses nothing", "[unit]")
{
    Stage stage(256u << 10, true);
    auto &[dir, server, conn, tier, log] = stage;
    std::vector<Record> wrote;
    int error;

    Archiver archiver(tier, log);
    for (uint64_t lap = 0; lap < 50; lap++) { // ten times its capacity
        std::vector<Record> more = fill(log, 52000, lap * 1000);

        wrote.insert(wrote.end(), more.begin(), more.end());
        archiver.all(0);
    }
    archiver.all(1);
    CHECK(info(log).tail_lsn > 10 * (256u << 10));
    CHECK(stored_records(tier, log.log->log_id, &error) == wrote);
}

TEST_CASE("cold: a log that is smaller than a segment would be is never full either", "[unit]")
{
    support::Dir dir;
    Server server(4u << 20);
    Conn conn(server, queued());
    Tier tier(dir / "", 4u << 20);
    int error;

    for (uint64_t capacity : { 8192, 65536 }) {
        Log log;
        std::vector<Record> wrote;

        REQUIRE(log.open(conn, capacity == 8192 ? "a" : "b", tiered(tier, capacity)) == 0);
        Archiver archiver(tier, log);
        for (uint64_t lap = 0; lap < 40; lap++) {
            std::string data = payload(lap, capacity / 5);

            archiver.all(0);
            wrote.push_back({ data, append(log, data), 1 });
        }
        archiver.all(1);
        CHECK(stored_records(tier, log.log->log_id, &error) == wrote);
    }
}

TEST_CASE("cold: without segments the log is full, and says where they end", "[unit]")
{
    Stage stage(128u << 10, true);
    auto &[dir, server, conn, tier, log] = stage;
    std::string data(8000, 'd');
    uint64_t lsn;
    int err = fill_up(log, data);

    CHECK(err == RPM_E_FULL);
    CHECK(std::string(rpm_last_error()).find("no segment in") != std::string::npos);
    Archiver archiver(tier, log);
    archiver.all(0);
    uint64_t head = rpm_archiver_lsn(archiver.archiver);
    CHECK(head > 0);
    CHECK(info(log).head_lsn == 0);
    REQUIRE(rpm_log_append(log, data.data(), data.size(), &lsn) == 0);
    CHECK(info(log).head_lsn == head);
}

TEST_CASE("cold: nothing is trimmed for a segment that is damaged or of other records", "[unit]")
{
    Stage stage(128u << 10, true);
    auto &[dir, server, conn, tier, log] = stage;
    std::string data(8000, 'd');
    uint64_t lsn;

    REQUIRE(fill_up(log, data) == RPM_E_FULL);
    Archiver archiver(tier, log);
    archiver.all(0);
    std::string file = files(dir / "").back();
    std::string whole = bytes_of(file);
    rpmi_segment segment;
    REQUIRE(rpmi_segment_get(whole.data(), &segment) == 0);

    write_bytes(file, whole.substr(0, whole.size() - 1));
    CHECK(rpm_log_append(log, data.data(), data.size(), &lsn) == RPM_E_CORRUPT);
    segment.last_sum++;
    std::string other = whole;
    rpmi_segment_put(&other[0], &segment);
    write_bytes(file, other);
    CHECK(rpm_log_append(log, data.data(), data.size(), &lsn) == RPM_E_CORRUPT);
    CHECK(info(log).head_lsn == 0);
    write_bytes(file, whole);
    CHECK(rpm_log_append(log, data.data(), data.size(), &lsn) == 0);
}
