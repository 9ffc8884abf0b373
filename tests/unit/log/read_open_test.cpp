// SPDX-License-Identifier: BSD-3-Clause
#include "unit/log/readers.h"

using namespace loop;

TEST_CASE("read open: from any record on, and from nowhere else", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 16384);
    std::vector<Record> wrote;

    for (uint64_t i = 0; i < 20; i++) {
        std::string data = payload(i, 1 + i * 40);
        wrote.push_back({ data, append(log, data), 1 });
    }
    uint64_t tail = info(log).tail_lsn;
    for (size_t i = 1; i < 20; i++)
        CHECK(read_all(log, wrote[i].lsn) == std::vector<Record>(wrote.begin() + i, wrote.end()));
    CHECK(read_all(log, tail).empty());
    Reader reader;
    for (uint64_t bad : { wrote[9].lsn + 64, wrote[9].lsn + 1, tail + 64, uint64_t(1) << 30,
                          UINT64_MAX, UINT64_MAX - 63 })
        CHECK(reader.open(log, bad) == RPM_E_RANGE);
    CHECK(reader.reader == nullptr);
    REQUIRE(rpm_log_trim(log, wrote[10].lsn) == 0);
    CHECK(reader.open(log, wrote[9].lsn) == RPM_E_TRIMMED);
    CHECK(read_all(log) == std::vector<Record>(wrote.begin() + 10, wrote.end()));
}

TEST_CASE("read open: options out of range are refused", "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    Log log(conn, "a", WRITER);
    struct {
        rpm_reader_opts known;
        uint64_t later;
    } newer = { rpm_reader_opts_init(), 1 };
    rpm_reader_opts opts = rpm_reader_opts_init();
    rpm_reader *reader = nullptr;

    opts.level = 5;
    CHECK(rpm_reader_open(log, &opts, &reader) == RPM_E_INVAL);
    opts = rpm_reader_opts_init();
    opts.buffer_bytes = 100;
    CHECK(rpm_reader_open(log, &opts, &reader) == RPM_E_INVAL);
    opts.buffer_bytes = 0xffffffff;
    CHECK(rpm_reader_open(log, &opts, &reader) == RPM_E_INVAL);
    opts.size = 2;
    CHECK(rpm_reader_open(log, &opts, &reader) == RPM_E_INVAL);
    newer.known.size = sizeof(newer);
    CHECK(rpm_reader_open(log, &newer.known, &reader) == RPM_E_OPTS);
    CHECK(reader == nullptr);
    rpm_reader_close(&reader);
    newer.later = 0;
    REQUIRE(rpm_reader_open(log, &newer.known, &reader) == 0);
    rpm_reader_close(&reader);
}
