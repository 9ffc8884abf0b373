// SPDX-License-Identifier: BSD-3-Clause
#include "unit/tier/tiered.h"

#include <librpm/decision.h>

using namespace loop;

TEST_CASE("archive: segments have every record, and end where their LSNs say", "[unit]")
{
    std::string codec = GENERATE(from_range(codecs()));
    CAPTURE(codec);
    support::Dir dir;
    Server server(4u << 20);
    Conn conn(server, queued());
    Log log(conn, "orders/a", WRITER, 1u << 20);
    Tier tier(dir / "", SPAN, nullptr, std::string(codec).c_str()); // borrowed until return
    Archiver archiver(tier, log);
    std::vector<Record> wrote = fill(log, 4 * SPAN);
    int error;

    CHECK(archiver.all(0) >= 3);
    uint64_t whole = rpm_archiver_lsn(archiver.archiver);
    CHECK(whole >= 3 * SPAN);
    CHECK(whole <= info(log).tail_lsn);
    CHECK(archiver.all(1) == (whole < info(log).tail_lsn ? 1 : 0));
    CHECK(rpm_archiver_lsn(archiver.archiver) == info(log).tail_lsn);
    CHECK(archiver.all(1) == 0);
    CHECK(stored_records(tier, log.log->log_id, &error) == wrote);
    CHECK(error == 0);
    CHECK(stored_records(tier, log.log->log_id, &error, wrote[7].lsn) ==
          std::vector<Record>(wrote.begin() + 7, wrote.end()));

    rpm_tier_log found = rpm_tier_log_init();
    REQUIRE(rpm_tier_entry(tier, 0, &found) == 1);
    CHECK(found.name == std::string("orders/a"));
    CHECK(found.first_lsn == 0);
    CHECK(found.end_lsn == info(log).tail_lsn);
    CHECK(found.records == wrote.size());
    CHECK(found.gaps == 0);
    CHECK(found.segments == files(dir / "").size());
    CHECK((found.stored_bytes < found.raw_bytes) == (codec != "none"));
    CHECK(rpm_tier_entry(tier, 1, &found) == 0);
}

TEST_CASE("archive: two archivers, one begun later, store the same segments", "[unit]")
{
    support::Dir one;
    support::Dir two;
    Server server(4u << 20);
    Conn conn(server, queued());
    Log log(conn, "a", WRITER, 1u << 20);
    Tier tier(one / "");
    Tier other(two / "");
    std::vector<Record> wrote = fill(log, 2 * SPAN + 700);
    {
        Archiver archiver(tier, log);
        archiver.all(0); // drops what is not full
    }
    fill(log, 3 * SPAN, 1000);
    Archiver again(tier, log);
    again.all(0);
    Archiver late(other, log);
    late.all(0);

    std::vector<std::string> first = files(one / "");
    std::vector<std::string> second = files(two / "");
    REQUIRE(first.size() == second.size());
    REQUIRE(first.size() >= 4);
    for (size_t i = 0; i < first.size(); i++) {
        CHECK(first[i].substr((one / "").size()) == second[i].substr((two / "").size()));
        CHECK(bytes_of(first[i]) == bytes_of(second[i]));
    }
}

TEST_CASE("archive: segments of each codec, in one folder, are read as one log", "[unit]")
{
    Stage stage;
    auto &[dir, server, conn, plain, log] = stage;
    std::vector<std::string> names = codecs();
    std::vector<Record> wrote;
    std::set<uint32_t> numbers;
    int error;

    for (size_t i = 0; i < 2 * names.size(); i++) {
        Tier tier(dir / "", SPAN, nullptr, names[i % names.size()].c_str());
        Archiver archiver(tier, log);
        std::vector<Record> more = fill(log, SPAN / 2, 1000 * i);

        wrote.insert(wrote.end(), more.begin(), more.end());
        CHECK(archiver.all(1) > 0);
        REQUIRE(rpm_log_trim(log, rpm_archiver_lsn(archiver.archiver)) == 0);
    }
    std::vector<Record> last = fill(log, 1000, 9000); // in the log alone
    for (const std::string &file : files(dir / "")) {
        rpmi_segment segment;

        REQUIRE(rpmi_segment_get(bytes_of(file).data(), &segment) == 0);
        numbers.insert(segment.codec);
    }
    CHECK(numbers.size() == names.size());
    CHECK(stored_records(plain, stage.id(), &error) == wrote);
    CHECK(error == 0);
    wrote.insert(wrote.end(), last.begin(), last.end());
    CHECK(read_through(log, plain, &error) == wrote);
    CHECK(error == 0);
}

TEST_CASE("archive: a segment that another archiver stored by another codec is the same", "[unit]")
{
    for (const std::string &name : codecs()) {
        CAPTURE(name);
        Stage stage;
        auto &[dir, server, conn, plain, log] = stage;
        Tier tier(dir / "", SPAN, nullptr, name.c_str());
        Archiver first(plain, log);
        Archiver second(tier, log);
        std::vector<Record> wrote = fill(log, 3 * SPAN);
        int error;

        first.all();
        std::vector<std::string> stored = files(dir / "");
        CHECK(second.all() == static_cast<int>(stored.size()));
        CHECK(rpm_archiver_lsn(second.archiver) == info(log).tail_lsn);
        CHECK(files(dir / "") == stored);
        CHECK(stored_records(tier, stage.id(), &error) == wrote);
    }
}

TEST_CASE("archive: by a copy engine the segments are the same, over several laps", "[unit]")
{
    support::Dir one;
    support::Dir two;
    std::string engine = GENERATE("rdma", "cpu");
    CAPTURE(engine);
    Server server(4u << 20);
    Conn conn(server, engine == "cpu" ? synchronous() : queued());
    Log log(conn, "a", WRITER, 1u << 20);
    Tier tier(one / "", SPAN, std::string(engine).c_str()); // borrowed until return
    Tier other(two / "");
    Archiver archiver(tier, log);
    Archiver plain(other, log);

    for (uint64_t round = 0; round < 6; round++) {
        fill(log, 6 * SPAN, 1000 * round);
        archiver.all(1);
        plain.all(1);
        REQUIRE(rpm_log_trim(log, info(log).tail_lsn) == 0);
    }
    std::vector<std::string> first = files(one / "");
    std::vector<std::string> second = files(two / "");
    REQUIRE(first.size() == second.size());
    REQUIRE(first.size() > 30);
    for (size_t i = 0; i < first.size(); i++)
        CHECK(bytes_of(first[i]) == bytes_of(second[i]));
    CHECK(conn.link->stats().copied_bytes >= 36 * SPAN);
    CHECK(conn.link->stats().copy_fallbacks == 0);
}

TEST_CASE("archive: a store that fails is tried again, and loses nothing", "[unit]")
{
    Stage stage;
    auto &[dir, server, conn, tier, log] = stage;
    Archiver archiver(tier, log);
    std::vector<Record> wrote = fill(log, 2 * SPAN);
    int error;

    // A file where the log's folder would be.
    char folder[RPMI_SEGMENT_FOLDER_CHARS + 1];
    rpmi_segment_folder_put(folder, log.log->log_id);
    write_bytes(dir / folder, "");
    CHECK(rpm_archiver_turn(archiver.archiver, 0) < 0);
    CHECK(std::string(rpm_last_error()).find(dir / "") != std::string::npos);
    rpm_tier_log found = rpm_tier_log_init();
    CHECK(rpm_tier_entry(tier, 0, &found) < 0);
    CHECK(std::string(rpm_last_error()).find(folder) != std::string::npos);
    CHECK(rpm_archiver_lsn(archiver.archiver) == 0);
    std::filesystem::remove(dir / folder);
    archiver.all(1);
    CHECK(stored_records(tier, log.log->log_id, &error) == wrote);
}

TEST_CASE("archive: segments of another history are refused", "[unit]")
{
    support::Dir dir;
    Server server(4u << 20);
    Conn conn(server, queued());
    Tier tier(dir / "");
    std::vector<unsigned char> backup;
    rpm_archiver *archiver = nullptr;

    {
        Log log(conn, "a", WRITER, 1u << 20);
        fill(log, SPAN);
        log.close();
        backup = server.pool.bytes;
        REQUIRE(log.open(conn, "a", tiered(nullptr, 0)) == 0);
        fill(log, SPAN, 500);
        Archiver first(tier, log);
        first.all();
    }
    // The pool is restored, and other records are appended.
    conn.close();
    server.stop();
    server.pool.bytes = backup;
    server.pool.kept = backup;
    REQUIRE(server.start() == 0);
    Conn again(server, queued());
    Log log(again, "a", WRITER);
    CHECK(rpm_archiver_open(tier, log, &archiver) == RPM_E_CORRUPT);
    Record wrote = fill(log, 2 * SPAN, 900).front();
    CHECK(rpm_archiver_open(tier, log, &archiver) == RPM_E_CORRUPT);
    CHECK(std::string(rpm_last_error()).find("restored from a backup") != std::string::npos);
    CHECK(archiver == nullptr);
    // A reader does not go from the one history into the other.
    rpm_reader_opts opts = rpm_reader_opts_init();
    rpm_reader *reader = nullptr;
    rpm_record record;
    int found;
    REQUIRE(rpm_log_trim(log, wrote.lsn) == 0);
    opts.tier = tier;
    REQUIRE(rpm_reader_open(log, &opts, &reader) == 0);
    while ((found = rpm_reader_next(reader, &record)) == 1)
        continue;
    CHECK(found == RPM_E_CORRUPT);
    rpm_reader_close(&reader);
}

TEST_CASE("archive: records that are not durable are in no segment", "[unit]")
{
    support::Dir dir;
    Server server(4u << 20);
    Tier tier(dir / "");
    int error;
    std::vector<Record> in_segments;
    uint64_t log_id;
    {
        Conn conn(server, queued());
        Log log(conn, "a", WRITER, 1u << 20, RPM_VISIBLE);
        Archiver archiver(tier, log);

        fill(log, SPAN + 5000);
        archiver.all();
        log_id = log.log->log_id;
        in_segments = stored_records(tier, log_id, &error);
        CHECK(!in_segments.empty());
    }
    server.power_cut();
    REQUIRE(server.start() == 0);
    Conn conn(server, queued());
    Log log(conn, "a", 0);
    std::vector<Record> kept = read_all(log);
    REQUIRE(kept.size() >= in_segments.size());
    CHECK(std::vector<Record>(kept.begin(), kept.begin() + static_cast<long>(in_segments.size())) ==
          in_segments);
}

TEST_CASE("archive: behind another archiver, after a trim of what that one stored", "[unit]")
{
    Stage stage(256u << 10);
    auto &[dir, server, conn, tier, log] = stage;
    Archiver slow(tier, log);
    std::vector<Record> wrote;
    int error;

    for (uint64_t lap = 0; lap < 8; lap++) {
        Archiver fast(tier, log);
        std::vector<Record> more = fill(log, 90000, lap * 1000);

        wrote.insert(wrote.end(), more.begin(), more.end());
        if (lap % 3 == 2)
            slow.all(0);
        fast.all(lap % 2 == 0);
        REQUIRE(rpm_log_trim(log, rpm_archiver_lsn(fast.archiver)) == 0);
    }
    slow.all(1);
    CHECK(rpm_archiver_lsn(slow.archiver) == info(log).tail_lsn);
    CHECK(stored_records(tier, log.log->log_id, &error) == wrote);
    // Records that no archiver has stored are a gap, and an error.
    fill(log, 90000, 9000);
    uint64_t tail = info(log).tail_lsn;
    fill(log, 90000, 9500);
    REQUIRE(rpm_log_trim(log, tail) == 0);
    fill(log, 90000, 9700);
    CHECK(rpm_archiver_turn(slow.archiver, 0) == RPM_E_TRIMMED);
}

TEST_CASE("archive: segments that the writer still needs are not dropped", "[unit]")
{
    Stage stage;
    auto &[dir, server, conn, tier, log] = stage;
    Archiver archiver(tier, log);

    fill(log, 4 * SPAN);
    archiver.all();
    size_t all = files(dir / "").size();
    CHECK(rpm_archiver_drop(archiver.archiver, 0) == 0);
    REQUIRE(rpm_log_trim(log, rpm_archiver_lsn(archiver.archiver)) == 0);
    int dropped = rpm_archiver_drop(archiver.archiver, 2 * SPAN);
    CHECK(dropped >= 1);
    CHECK(files(dir / "").size() == all - static_cast<size_t>(dropped));
    CHECK(rpm_archiver_drop(archiver.archiver, 2 * SPAN) == 0);
    CHECK(rpm_archiver_drop(archiver.archiver, 1ull << 40) == 0);
    CHECK(rpm_archiver_drop(archiver.archiver, 0) == static_cast<int>(all) - dropped);
}

// The pool as it was before the records of @first, which are in segments; then those of @second.
static void rewrite(Stage &stage, const std::vector<std::string> &first,
                    const std::vector<std::string> &second)
{
    auto &[dir, server, conn, tier, log] = stage;

    log.close();
    std::vector<unsigned char> backup = server.pool.bytes;
    REQUIRE(log.open(conn, "a", tiered(nullptr, 0)) == 0);
    for (const std::string &data : first)
        append(log, data);
    {
        Archiver archiver(tier, log);
        archiver.all();
    }
    log.close();
    server.stop();
    server.pool.bytes = backup;
    server.pool.kept = backup;
    REQUIRE(server.start() == 0);
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    REQUIRE(log.open(conn, "a", tiered(nullptr, 0)) == 0);
    for (const std::string &data : second)
        append(log, data);
}

TEST_CASE("archive: a record that begins before the head is of another history", "[unit]")
{
    Stage stage;
    rpm_archiver *archiver = nullptr;

    rewrite(stage, { payload(1, 1000) }, std::vector<std::string>(20, "small"));
    REQUIRE(rpm_log_trim(stage.log, 128) == 0);
    CHECK(rpm_archiver_open(stage.tier, stage.log, &archiver) == RPM_E_CORRUPT);
    CHECK(std::string(rpm_last_error()).find("begins inside of it, at 128") != std::string::npos);
}

TEST_CASE("archive: a reader does not go from one history into another", "[unit]")
{
    Stage stage;
    rpm_reader_opts opts = rpm_reader_opts_init();
    rpm_reader *reader = nullptr;
    rpm_record record;

    // Records of the same sizes, so that each begins where one of the other history does.
    rewrite(stage, { "one", "two", "three" }, { "ONE", "TWO", "THREE", "FOUR" });
    opts.tier = stage.tier;
    REQUIRE(rpm_reader_open(stage.log, &opts, &reader) == 0);
    rpm_reader_close(&reader); // in the log, from its head
    REQUIRE(rpm_log_trim(stage.log, 64) == 0);
    REQUIRE(rpm_reader_open(stage.log, &opts, &reader) == 0);
    for (int i = 0; i < 3; i++)
        REQUIRE(rpm_reader_next(reader, &record) == 1);
    CHECK(rpm_reader_next(reader, &record) == RPM_E_CORRUPT);
    CHECK(rpm_reader_next(reader, &record) == RPM_E_CORRUPT); // and again
    rpm_reader_close(&reader);
}

TEST_CASE("archive: it decides to trim what is in segments, and no more than the log has", "[unit]")
{
    support::Dir dir;
    Server server(4u << 20);
    Conn conn(server, queued());
    Log log(conn, "a", WRITER, 1u << 20);
    Tier tier(dir / "");
    rpm_decision decision = rpm_decision_init();
    {
        Archiver archiver(tier, log);

        CHECK(rpm_archiver_decide(archiver.archiver, &decision) == 0);
        fill(log, SPAN / 2);
        CHECK(archiver.all(0) == 0); // they are in its memory
        CHECK(rpm_archiver_decide(archiver.archiver, &decision) == 0);
        fill(log, SPAN, 1000);
        CHECK(archiver.all(0) == 1);
        REQUIRE(rpm_archiver_decide(archiver.archiver, &decision) == 1);
        CHECK(decision.log_id == log.log->log_id);
        CHECK(decision.head_lsn == 0);
        CHECK(decision.epoch == info(log).epoch);
        CHECK(decision.trim_lsn == rpm_archiver_lsn(archiver.archiver));
        REQUIRE(rpm_log_trim(log, decision.trim_lsn) == 0);
        CHECK(rpm_archiver_decide(archiver.archiver, &decision) == 0);
        CHECK(archiver.all(1) == 1);
    }
    Archiver again(tier, log); // it finds the segment that the one before stored
    rpm_decision found = rpm_decision_init();

    REQUIRE(rpm_archiver_decide(again.archiver, &found) == 1);
    CHECK(found.head_lsn == decision.trim_lsn);
    CHECK(found.trim_lsn == info(log).tail_lsn);
    CHECK(found.last_lsn > found.head_lsn);
    CHECK(found.last_lsn < found.trim_lsn);
    found.size = 0;
    CHECK(rpm_archiver_decide(again.archiver, &found) == RPM_E_INVAL);
}
