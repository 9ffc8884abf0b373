// SPDX-License-Identifier: BSD-3-Clause
#include "unit/tier/tiered.h"

#include <cstring>

using namespace loop;

TEST_CASE("read cold: a reader goes through the segments into the log", "[unit]")
{
    Stage stage;
    auto &[dir, server, conn, tier, log] = stage;
    Archiver archiver(tier, log);
    std::vector<Record> wrote = fill(log, 3 * SPAN);
    int error;

    archiver.all(0);
    REQUIRE(rpm_log_trim(log, rpm_archiver_lsn(archiver.archiver)) == 0);
    std::vector<Record> more = fill(log, 1000, 700);
    wrote.insert(wrote.end(), more.begin(), more.end());
    CHECK(read_all(log).size() < wrote.size());
    CHECK(read_through(log, tier, &error) == wrote);
    CHECK(error == 0);
    for (size_t i = 0; i < wrote.size(); i += 17)
        REQUIRE(read_through(log, tier, &error, wrote[i].lsn) ==
                std::vector<Record>(wrote.begin() + static_cast<long>(i), wrote.end()));
    CHECK(read_through(log, tier, &error, wrote[3].lsn + 64).empty());
    CHECK(error == RPM_E_RANGE);
    CHECK(read_through(log, nullptr, &error, wrote[3].lsn).empty());
    CHECK(error == RPM_E_TRIMMED);
}

TEST_CASE("read cold: a reader that a trim overtakes goes on in the segments, and comes back",
          "[unit]")
{
    Stage stage(256u << 10);
    auto &[dir, server, conn, tier, log] = stage;
    Archiver archiver(tier, log);
    rpm_reader_opts opts = rpm_reader_opts_init();
    rpm_reader *reader = nullptr;
    rpm_record record;
    std::vector<Record> wrote;
    size_t read = 0;

    opts.tier = tier;
    opts.buffer_bytes = 4096;
    REQUIRE(rpm_reader_open(log, &opts, &reader) == 0);
    for (uint64_t lap = 0; lap < 12; lap++) {
        std::vector<Record> more = fill(log, 50000, lap * 1000);

        wrote.insert(wrote.end(), more.begin(), more.end());
        archiver.all(lap % 3 == 0);
        REQUIRE(rpm_log_trim(log, rpm_archiver_lsn(archiver.archiver)) == 0);
        for (size_t i = 0; i < more.size() / 2; i++) {
            REQUIRE(rpm_reader_next(reader, &record) == 1);
            REQUIRE(wrote[read++] == kept(record));
        }
    }
    while (rpm_reader_next(reader, &record) == 1)
        REQUIRE(wrote[read++].lsn == record.lsn);
    CHECK(read == wrote.size());
    append(log, "the last");
    REQUIRE(rpm_reader_next(reader, &record) == 1);
    CHECK(std::string(static_cast<const char *>(record.data), record.len) == "the last");
    rpm_reader_close(&reader);
}

TEST_CASE("read cold: what was trimmed and is in no segment is an error, and not the tail",
          "[unit]")
{
    Stage stage(256u << 10);
    auto &[dir, server, conn, tier, log] = stage;
    std::vector<Record> wrote;
    int error;

    {
        Archiver archiver(tier, log);
        wrote = fill(log, SPAN + 3000);
        archiver.all();
    }
    std::vector<Record> lost = fill(log, 2 * SPAN, 400);
    REQUIRE(rpm_log_trim(log, lost[10].lsn) == 0);
    std::vector<Record> over = fill(log, 119000, 2000); // over the bytes of the first ones
    REQUIRE(info(log).tail_lsn > (256u << 10) + lost[0].lsn + 64);
    lost.insert(lost.end(), over.begin(), over.end());
    CHECK(read_through(log, tier, &error) == wrote);
    CHECK(error == RPM_E_TRIMMED);
    CHECK(std::string(rpm_last_error()).find(dir / "") != std::string::npos);
    CHECK(read_through(log, tier, &error, lost[10].lsn).size() == lost.size() - 10);
    CHECK(error == 0);

    Archiver archiver(tier, log); // goes on at the head, behind the gap
    archiver.all();
    rpm_tier_log found = rpm_tier_log_init();
    REQUIRE(rpm_tier_entry(tier, 0, &found) == 1);
    CHECK(found.gaps == 1);
    CHECK(rpm_tier_drop(tier, found.log_id, lost[10].lsn) >= 2);
    CHECK(read_through(log, tier, &error).size() == lost.size() - 10);
    REQUIRE(rpm_tier_drop(tier, found.log_id, UINT64_MAX) >= 1);
    CHECK(files(dir / "").empty());
}

// Flips a bit of a record's payload in a server's pool. A frame begins with its LSN; so may a line
// of the log's header, which lies before the records.
void damage(Server &server, uint64_t lsn)
{
    std::vector<unsigned char> &bytes = server.pool.bytes;
    size_t at = bytes.size() - RPMI_LINE_BYTES;

    while (std::memcmp(&bytes[at], &lsn, sizeof(lsn)) != 0)
        at -= RPMI_LINE_BYTES;
    bytes[at + RPMI_FRAME_HEADER_BYTES] ^= 1;
}

TEST_CASE("read cold: a record that is damaged in the log is read from its segment", "[unit]")
{
    Stage stage;
    auto &[dir, server, conn, tier, log] = stage;
    std::vector<Record> wrote = fill(log, 3 * SPAN);
    int error;

    {
        Archiver archiver(tier, log);
        archiver.all();
    }
    std::vector<Record> more = fill(log, 20000, 700);
    std::vector<Record> all = wrote;
    all.insert(all.end(), more.begin(), more.end());
    size_t damaged = GENERATE(2u, 40u, 70u);

    CAPTURE(damaged);
    damage(server, wrote[damaged].lsn);
    CHECK(read_through(log, nullptr, &error).size() < all.size());
    CHECK(error == RPM_E_CORRUPT);
    CHECK(conn.link->stats().damaged == 0);
    CHECK(read_through(log, tier, &error) == all);
    CHECK(error == 0);
    CHECK(conn.link->stats().damaged == 1);

    // A reader may begin there.
    CHECK(read_through(log, nullptr, &error, wrote[damaged].lsn).empty());
    CHECK(error == RPM_E_CORRUPT);
    CHECK(read_through(log, tier, &error, wrote[damaged].lsn) ==
          std::vector<Record>(all.begin() + static_cast<long>(damaged), all.end()));
    CHECK(conn.link->stats().damaged == 2);

    // Several records, and one that no segment has yet.
    for (size_t i = 30; i < 35; i++)
        damage(server, wrote[i].lsn);
    CHECK(read_through(log, tier, &error) == all);
    CHECK(conn.link->stats().damaged == 3); // from there on it reads the segments
    damage(server, more[3].lsn);
    CHECK(read_through(log, tier, &error).size() == wrote.size() + 3);
    CHECK(error == RPM_E_CORRUPT);
    CHECK(std::string(rpm_last_error()).find("they end before it") != std::string::npos);
}

// Appends records of one length, so that those of another seed have the same LSNs.
std::vector<Record> fill_evenly(rpm_log *log, uint64_t seed)
{
    std::vector<Record> wrote;

    for (uint64_t i = 0; i < 400; i++) {
        std::string data = loop::payload(seed + i, 500);

        wrote.push_back({ data, append(log, data), 1 });
    }
    return wrote;
}

TEST_CASE("read cold: segments of another history are not taken for a damaged record", "[unit]")
{
    Stage stage;
    auto &[dir, server, conn, tier, log] = stage;
    std::vector<unsigned char> before = server.pool.bytes;
    std::vector<Record> others = fill_evenly(log, 1000);
    int error;

    {
        Archiver archiver(tier, log);
        archiver.all();
    }
    // The pool is restored from a backup, and the log goes on with other records.
    log.close();
    std::copy(before.begin(), before.end(), server.pool.bytes.begin()); // it stays where it is
    REQUIRE(log.open(conn, "a", tiered(nullptr, 1 << 20)) == 0);
    std::vector<Record> wrote = fill_evenly(log, 5000);

    REQUIRE(wrote[20].lsn == others[20].lsn);
    damage(server, wrote[20].lsn);
    CHECK(read_through(log, tier, &error).size() == 20);
    CHECK(error == RPM_E_CORRUPT);
    CHECK(std::string(rpm_last_error()).find("another record") != std::string::npos);
    CHECK(conn.link->stats().damaged == 0);
}

TEST_CASE("read cold: segments that cannot be read are not called segments without the record",
          "[unit]")
{
    Stage stage;
    auto &[dir, server, conn, tier, log] = stage;
    std::vector<Record> wrote = fill(log, 2 * SPAN);
    int error;

    {
        Archiver archiver(tier, log);
        archiver.all();
    }
    damage(server, wrote[10].lsn);
    std::filesystem::path folder = std::filesystem::path(files(dir / "").front()).parent_path();
    std::filesystem::remove_all(folder);
    std::filesystem::create_symlink(folder, folder); // ELOOP
    CHECK(read_through(log, tier, &error, wrote[5].lsn).size() == 5);
    CHECK(error == RPM_E_IO);
    CHECK(conn.link->stats().damaged == 0);
}

TEST_CASE("read cold: damage of a log's head, or of the last stored record, is named", "[unit]")
{
    Stage stage;
    auto &[dir, server, conn, tier, log] = stage;
    std::vector<Record> wrote = fill(log, 2 * SPAN);
    std::vector<unsigned char> &bytes = server.pool.bytes;
    int error;

    {
        Archiver archiver(tier, log);
        archiver.all();
    }
    damage(server, wrote[wrote.size() - 1].lsn); // the last one that the segments have
    fill(log, 5000, 800);
    CHECK(read_through(log, tier, &error).size() == wrote.size() - 1);
    CHECK(error == RPM_E_CORRUPT);
    CHECK(std::string(rpm_last_error()).find("where the last one of its segments") !=
          std::string::npos);
    for (size_t at = 0; at + 64 < bytes.size(); at += 64)
        if (std::memcmp(&bytes[at], "LOGHEAD", 7) == 0)
            bytes[at + 40] ^= 1;
    CHECK(read_through(log, tier, &error).empty());
    CHECK(error == RPM_E_CORRUPT);
    CHECK(std::string(rpm_last_error()).find("the segments in") == std::string::npos);
    CHECK(conn.link->stats().damaged == 0);
}

TEST_CASE("read cold: a reader in the segments lives through a lost connection", "[unit]")
{
    Stage stage;
    auto &[dir, server, conn, tier, log] = stage;
    rpm_reader_opts opts = rpm_reader_opts_init();
    rpm_reader *reader = nullptr;
    rpm_record record;
    rpm_outcome outcomes[256];
    uint32_t count;
    std::vector<Record> wrote = fill(log, 2 * SPAN);
    size_t read = 0;
    {
        Archiver archiver(tier, log);
        archiver.all(0);
        REQUIRE(rpm_log_trim(log, rpm_archiver_lsn(archiver.archiver)) == 0);
    }
    opts.tier = tier;
    REQUIRE(rpm_reader_open(log, &opts, &reader) == 0);
    while (read < 5 && rpm_reader_next(reader, &record) == 1)
        read++;
    server.stop();
    REQUIRE(server.start() == 0);
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    REQUIRE(rpm_log_resume(log, outcomes, 256, &count) == 0);
    while (rpm_reader_next(reader, &record) == 1)
        REQUIRE(wrote[read++].lsn == record.lsn);
    CHECK(read == wrote.size());
    rpm_reader_close(&reader);
}
