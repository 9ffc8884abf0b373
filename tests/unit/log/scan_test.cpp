// SPDX-License-Identifier: BSD-3-Clause
#include "unit/log/kinds.h"

extern "C" {
#include "log/log.h"

#include <cstring>
}

using namespace loop;

namespace
{

std::vector<Kind> two_kinds()
{
    std::vector<Kind> two = { kinds()[0], kinds()[1] };
    return two;
}

} // namespace

TEST_CASE("scan: a flipped bit anywhere in a record ends the log there, and is counted", "[unit]")
{
    Kind kind = GENERATE(from_range(two_kinds()));
    rpm_conn_opts conn_opts = with_method(kind.method);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    std::vector<unsigned char> saved;

    CAPTURE(kind.name);
    {
        Log log(conn, "a", WRITER, 4096);
        append(log, payload(1, 40));
        REQUIRE(append_async(log, payload(2, 90), 0, RPM_MORE) == 0); // 64 .. 192, 14 filling
        REQUIRE(append_async(log, payload(3, 40), 0, RPM_MORE) == 0);
        REQUIRE(rpm_log_persist(log) == 0);
    }
    saved = server.pool.bytes;
    for (uint64_t at = 64; at < 192; at++) {
        Log log(conn, "a", 0);

        server.pool.bytes[RING + at] ^= 0x10;
        struct rpm_log_info seen = info(log);
        bool filling = at >= 64 + 24 + 90;
        CAPTURE(at);
        CHECK(seen.records == (filling ? 3 : 1));
        CHECK(seen.tail_lsn == (filling ? 256 : 64));
        // A frame with a blank header is not counted; one with a wrong header is.
        CHECK(seen.torn <= 2);
        CHECK((seen.torn == 0) == filling);
        CHECK(seen.stranded == (filling ? 0 : 1));
        // Not by assignment: ASan's memmove() copies byte by byte.
        std::memcpy(server.pool.bytes.data(), saved.data(), saved.size());
    }
}

TEST_CASE("scan: a record that was acknowledged before another was appended is never the end",
          "[unit]")
{
    Kind kind = GENERATE(from_range(two_kinds()));
    rpm_conn_opts conn_opts = with_method(kind.method);
    uint32_t level = GENERATE(RPM_DURABLE, RPM_VISIBLE);
    bool reopened = GENERATE(false, true); // by a writer that appended nothing
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    std::vector<unsigned char> saved;

    CAPTURE(kind.name, level, reopened);
    {
        Log log(conn, "a", WRITER, 4096, level);

        for (uint64_t i = 0; i < 4; i++)
            append(log, payload(i, 40));
    }
    if (reopened)
        Log(conn, "a", RPM_LOG_WRITE, 0, level);
    saved = server.pool.bytes;
    for (uint64_t record = 0; record < 4; record++) {
        // Below RPM_DURABLE a power cut may lose acknowledged records.
        int wanted = level == RPM_DURABLE && (record < 3 || reopened) ? RPM_E_CORRUPT : 0;
        rpm_log_opts opts = rpm_log_opts_init();
        Log log(conn, "a", 0);
        Log writer;

        CAPTURE(record);
        server.pool.bytes[RING + record * 64 + 30] ^= 1;
        struct rpm_log_info seen = rpm_log_info_init();
        rpm_reader *reader = nullptr;
        rpm_record got;
        uint64_t records = 0;
        int err;
        CHECK(rpm_log_info(log, &seen) == wanted);
        REQUIRE(rpm_reader_open(log, nullptr, &reader) == 0);
        while ((err = rpm_reader_next(reader, &got)) == 1)
            records++;
        CHECK(err == wanted);
        CHECK(rpm_reader_next(reader, &got) == wanted); // and reports it again
        CHECK(records == record);
        rpm_reader_close(&reader);
        opts.flags = RPM_LOG_WRITE;
        opts.level = level;
        CHECK(writer.open(conn, "a", opts) == wanted);
        writer.close();
        std::memcpy(server.pool.bytes.data(), saved.data(), saved.size());
    }
}

TEST_CASE("scan: the proof that a record was acknowledged may be far behind it", "[unit]")
{
    const uint64_t capacity = 16u << 20;
    bool long_ones = GENERATE(true, false); // or shorter ones that were outstanding together
    Server server(32u << 20);
    Conn conn(server, synchronous());
    uint64_t at = 0;
    uint64_t tail = 0;

    CAPTURE(long_ones);
    {
        Log log(conn, "a", WRITER, capacity);

        if (long_ones) {
            append(log, payload(1, 1500000));
            at = append(log, payload(2, 1400000));
        } else {
            append(log, payload(1, 40));
            REQUIRE(append_async(log, payload(2, 300000), 0, RPM_MORE, &at) == 0);
            for (uint64_t i = 0; i < 8; i++)
                REQUIRE(append_async(log, payload(3 + i, 300000), 0, RPM_MORE) == 0);
            REQUIRE(rpm_log_persist(log) == 0);
        }
        tail = append(log, "behind");
    }
    REQUIRE(tail - at > 1u << 20);
    server.pool.bytes[ring_of(32u << 20) + at + 4] ^= 1; // of its LSN, because its end is unknown
    struct rpm_log_info seen = rpm_log_info_init();
    Log log(conn, "a", 0);
    CHECK(rpm_log_info(log, &seen) == RPM_E_CORRUPT);
    CHECK(seen.tail_lsn == at); // and the error says what was found
    CHECK(seen.records == 1);
    CHECK(seen.stranded == (long_ones ? 1 : 9));
}

TEST_CASE("scan: a trim in front of a damaged record does not hide it", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log writer(conn, "a", WRITER, 4096);
    Log log(conn, "a", 0);
    rpmi_scan_report report;

    for (uint64_t i = 0; i < 4; i++)
        append(writer, payload(i, 40));
    REQUIRE(rpmi_log_head(log) == 0);
    REQUIRE(rpm_log_trim(writer, 64) == 0); // now the reader's head is an old one
    server.pool.bytes[RING + 128 + 30] ^= 1;
    CHECK(rpmi_log_scan(log, 0, nullptr, nullptr, &report) == RPM_E_CORRUPT);
    server.pool.bytes[RING + 128 + 30] ^= 1;
    REQUIRE(rpm_log_trim(writer, 192) == 0);
    server.pool.bytes[RING + 128 + 30] ^= 1;
    CHECK(rpmi_log_scan(log, 0, nullptr, nullptr, &report) == 0); // it may have been overwritten
}

TEST_CASE("scan: records that a repair discarded prove nothing about those written over them",
          "[unit]")
{
    Kind kind = GENERATE(from_range(two_kinds()));
    rpm_conn_opts conn_opts = with_method(kind.method);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    std::vector<unsigned char> first;

    CAPTURE(kind.name);
    {
        Log log(conn, "a", WRITER, 4096);

        for (uint64_t i = 0; i < 8; i++)
            append(log, payload(i, 40));
    }
    first = server.pool.bytes;
    server.pool.bytes[RING + 64 + 30] ^= 1;
    rpm_repair_opts opts = rpm_repair_opts_init();
    rpm_repair_report report = rpm_repair_report_init();
    opts.flags = RPM_REPAIR_WRITE | RPM_REPAIR_DISCARD;
    REQUIRE(rpm_log_repair(conn, "a", &opts, &report) == 0);
    REQUIRE(report.tail_lsn == 64);
    {
        Log log(conn, "a", RPM_LOG_WRITE, 0, RPM_VISIBLE);

        for (uint64_t i = 0; i < 4; i++)
            append(log, payload(i, 40));
    }
    Log(conn, "a", RPM_LOG_WRITE, 0, RPM_VISIBLE); // now 320 is behind the records that
    std::memcpy(&server.pool.bytes[RING + 128], &first[RING + 128], 192); // a power cut may lose
    Log log(conn, "a", 0);
    struct rpm_log_info seen = rpm_log_info_init();
    CHECK(rpm_log_info(log, &seen) == 0);
    CHECK(seen.records == 2);
    CHECK(seen.tail_lsn == 128);
}

TEST_CASE("scan: a ring read in pieces gives the same result as a mapped one", "[unit]")
{
    // Records larger than the bounce buffer of 256 KiB, and the end of the ring among them.
    bool peeks = GENERATE(true, false);
    Server server(16u << 20);
    Conn conn(server, synchronous());
    Log log(conn, "a", WRITER, 8u << 20);
    std::vector<Record> wrote;

    conn.link->peeks = peeks;
    for (uint64_t i = 0; i < 24; i++) {
        std::string data = payload(i, i % 3 == 0 ? 900000 + i * 777 : 100 + i);
        uint64_t lsn;
        int err;

        while ((err = rpm_log_append(log, data.data(), data.size(), &lsn)) == RPM_E_FULL) {
            REQUIRE(wrote.size() > 1);
            REQUIRE(rpm_log_trim(log, wrote[1].lsn) == 0);
            wrote.erase(wrote.begin());
        }
        REQUIRE(err == 0);
        wrote.push_back({ data, lsn, 1 });
    }
    CHECK(read_all(log) == wrote);
    log.close();
    Log again(conn, "a", RPM_LOG_WRITE);
    CHECK(info(again).records == wrote.size());
    CHECK(read_all(again) == wrote);
    // And with a flipped bit in the middle of a long one.
    uint64_t at = 0;
    for (const Record &record : wrote)
        at = record.data.size() > 500000 ? record.lsn : at;
    server.pool.bytes[ring_of(16u << 20) + at % (8u << 20) + 400000] ^= 1;
    again.close();
    Log after(conn, "a", 0);
    struct rpm_log_info seen = rpm_log_info_init();
    CHECK(rpm_log_info(after, &seen) == RPM_E_CORRUPT);
    CHECK(std::string(rpm_last_error()).find("at " + std::to_string(at)) != std::string::npos);
}

TEST_CASE("scan: frames of an earlier lap are not records", "[unit]")
{
    Kind kind = GENERATE(from_range(two_kinds()));
    rpm_conn_opts conn_opts = with_method(kind.method);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 4096);

    for (uint64_t i = 0; i < 64; i++)
        append(log, "lap one");
    REQUIRE(rpm_log_trim(log, 4096) == 0);
    append(log, "lap two");
    log.close();
    Log again(conn, "a", RPM_LOG_WRITE);
    CHECK(info(again).records == 1);
    CHECK(info(again).torn == 0);
    CHECK(info(again).tail_lsn == 4096 + 64);
}

TEST_CASE("scan: a ring filled to the last byte ends where it begins", "[unit]")
{
    Kind kind = GENERATE(from_range(two_kinds()));
    rpm_conn_opts conn_opts = with_method(kind.method);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 4096);

    for (uint64_t i = 0; i < 10; i++)
        append(log, "x");
    REQUIRE(rpm_log_trim(log, 640) == 0);
    for (uint64_t i = 0; i < 64; i++)
        append(log, "y");
    CHECK(rpm_log_append(log, "z", 1, nullptr) == RPM_E_FULL);
    log.close();
    Log again(conn, "a", RPM_LOG_WRITE);
    CHECK(info(again).records == 64);
    CHECK(info(again).tail_lsn == 640 + 4096);
    CHECK(rpm_log_append(again, "z", 1, nullptr) == RPM_E_FULL);
}

TEST_CASE("scan: which epochs belong where", "[unit]")
{
    rpmi_head head = {};
    rpmi_frame frame = {};

    head.base_lsn = 640;
    head.epoch = 5;
    frame.lsn = 640;
    frame.epoch = 5;
    CHECK(rpmi_epoch_belongs(&head, &frame, 3));
    frame.epoch = 4;
    CHECK_FALSE(rpmi_epoch_belongs(&head, &frame, 3));
    frame.epoch = 6;
    CHECK_FALSE(rpmi_epoch_belongs(&head, &frame, 3));
    frame.lsn = 576;
    frame.epoch = 5;
    CHECK_FALSE(rpmi_epoch_belongs(&head, &frame, 3));
    frame.epoch = 4;
    CHECK(rpmi_epoch_belongs(&head, &frame, 3));
    CHECK(rpmi_epoch_belongs(&head, &frame, 4));
    frame.epoch = 2;
    CHECK_FALSE(rpmi_epoch_belongs(&head, &frame, 3));
    CHECK(rpmi_epoch_belongs(&head, &frame, 0));
}

namespace
{

// Writer, reader and verify get the error, and the ring does not change.
void check_refused(Server &server, rpm_conn *conn)
{
    std::vector<unsigned char> before = server.pool.bytes;
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_reader *reader = nullptr;
    struct rpm_log_info seen = rpm_log_info_init();
    Log writer;

    opts.flags = RPM_LOG_WRITE;
    CHECK(writer.open(conn, "a", opts) == RPM_E_CORRUPT);
    CAPTURE(std::string(rpm_last_error()));
    CHECK(std::string(rpm_last_error()).find("damaged or an old one") != std::string::npos);
    Log log(conn, "a", 0);
    CHECK(rpm_log_info(log, &seen) == RPM_E_CORRUPT);
    int err = rpm_reader_open(log, nullptr, &reader);
    if (err == 0) {
        rpm_record record;

        while ((err = rpm_reader_next(reader, &record)) == 1)
            continue;
        CHECK(rpm_reader_next(reader, &record) == RPM_E_CORRUPT); // reported again
    }
    CHECK(err == RPM_E_CORRUPT);
    rpm_reader_close(&reader);
    CHECK(std::memcmp(&before[RING], &server.pool.bytes[RING], 4096) == 0);
}

} // namespace

TEST_CASE("scan: a record of an epoch above the head's proves that the head is an old one",
          "[unit]")
{
    Kind kind = GENERATE(from_range(two_kinds()));
    bool trimmed = GENERATE(false, true); // the log has only the second writer's records
    rpm_conn_opts conn_opts = with_method(kind.method);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    std::vector<unsigned char> old;

    CAPTURE(kind.name, trimmed);
    {
        Log log(conn, "a", WRITER, 4096);

        for (int i = 0; i < 5; i++)
            append(log, "first");
        if (trimmed)
            REQUIRE(rpm_log_trim(log, 320) == 0);
    }
    old.assign(&server.pool.bytes[HEADER], &server.pool.bytes[HEADER] + HEADS);
    {
        Log log(conn, "a", RPM_LOG_WRITE);

        for (int i = 0; i < 5; i++)
            append(log, "second");
    }
    std::memcpy(&server.pool.bytes[HEADER], old.data(), HEADS);
    check_refused(server, conn);
}

TEST_CASE("scan: a record of a later lap proves that the head is an old one", "[unit]")
{
    Kind kind = GENERATE(from_range(two_kinds()));
    size_t len = GENERATE(size_t(40), size_t(90)); // records of one line; and of two
    rpm_conn_opts conn_opts = with_method(kind.method);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 4096);
    std::vector<unsigned char> old;
    uint64_t third = 0;

    CAPTURE(kind.name, len);
    for (int i = 0; i < 20; i++) {
        uint64_t lsn = append(log, payload(1, i == 0 ? 40 : len));
        third = i == 3 ? lsn : third;
    }
    old.assign(&server.pool.bytes[HEADER], &server.pool.bytes[HEADER] + HEADS);
    REQUIRE(rpm_log_trim(log, third) == 0);
    for (int i = 0; i < 64; i++)
        if (rpm_log_append(log, payload(2, len).data(), len, nullptr) == RPM_E_FULL)
            break;
    log.close();
    std::memcpy(&server.pool.bytes[HEADER], old.data(), HEADS);
    check_refused(server, conn);
}
