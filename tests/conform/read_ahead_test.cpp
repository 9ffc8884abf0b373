// SPDX-License-Identifier: BSD-3-Clause
// read_ahead_test.cpp: a reader with the copy engine rdma returns every record, on every transport,
// while a writer appends and trims.
#include "conform/fixture.h"

#include <librpm.h>

using namespace conform;

namespace
{

const uint64_t RING = 256 << 10;
const uint64_t RECORD = 3000; // with its frame no divisor of what is read at once

// What differs from record to record.
std::vector<unsigned char> record_of(uint64_t number)
{
    std::vector<unsigned char> bytes(RECORD);

    for (size_t i = 0; i < bytes.size(); i++)
        bytes[i] = static_cast<unsigned char>(number * 31 + i * 7 + i / 251);
    return bytes;
}

struct LogClient {
    rpm_conn *conn = nullptr;
    rpm_log *log = nullptr;

    LogClient(Server *server, const std::string &wrap, uint32_t flags)
    {
        rpm_conn_opts opts = rpm_conn_opts_init();
        rpm_log_opts log_opts = rpm_log_opts_init();

        opts.timeout_us = 30000000;
        conn = server->connect(wrap, opts);
        log_opts.flags = flags;
        log_opts.capacity_bytes = flags != 0 ? RING : 0;
        log_opts.level = flags != 0 ? RPM_VISIBLE : 0;
        REQUIRE(rpm_log_open(conn, server->name("ahead").c_str(), &log_opts, &log) == 0);
    }
    LogClient(const LogClient &) = delete;
    ~LogClient()
    {
        rpm_log_close(&log);
        rpm_conn_close(&conn);
    }
};

} // namespace

TEST_CASE("read ahead: a reader with a copy engine returns every record of several laps",
          "[conform]")
{
    std::string where = GENERATE(from_range(servers()));
    std::string wrap = GENERATE(from_range(wraps()));
    CAPTURE(where, wrap);
    std::unique_ptr<Server> server = start_server(where);
    LogClient writer(server.get(), "", RPM_LOG_WRITE | RPM_LOG_CREATE);
    LogClient following(server.get(), wrap, 0);
    rpm_reader_opts opts = rpm_reader_opts_init();
    rpm_reader *reader = nullptr;
    struct rpm_conn_stats stats = rpm_conn_stats_init();
    uint64_t next = 0;
    uint64_t wrong = 0;

    opts.engine = "rdma";
    opts.buffer_bytes = 8192;
    REQUIRE(rpm_reader_open(following.log, &opts, &reader) == 0);
    for (uint64_t turn = 0, appended = 0; turn < 6; turn++) {
        rpm_record record;
        int found = 0;

        for (uint64_t end = appended + 60; appended < end; appended++)
            REQUIRE(rpm_log_append(writer.log, record_of(appended).data(), RECORD, nullptr) == 0);
        for (; next < appended && (found = rpm_reader_next(reader, &record)) == 1; next++)
            wrong +=
                record.len != RECORD || memcmp(record.data, record_of(next).data(), RECORD) != 0;
        CHECK(found == 1);
        REQUIRE(next == appended);
        CHECK(rpm_reader_next(reader, &record) == 0);
        struct rpm_log_info info = rpm_log_info_init();
        REQUIRE(rpm_log_info(writer.log, &info) == 0);
        REQUIRE(rpm_log_trim(writer.log, info.tail_lsn) == 0);
    }
    CHECK(wrong == 0);
    REQUIRE(rpm_conn_stats(following.conn, &stats) == 0);
    CHECK(stats.copied_bytes >= next * RECORD);
    CHECK(stats.copy_fallbacks == 0);
    rpm_reader_close(&reader);
}
