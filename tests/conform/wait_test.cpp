// SPDX-License-Identifier: BSD-3-Clause
// wait_test.cpp: blocking waits for completions, and records gathered from slices, on every
// transport.
#include "conform/fixture.h"

#include <librpm.h>

using namespace conform;

namespace
{

const uint32_t WAITING = 32;

struct WaitingWriter {
    std::unique_ptr<Server> server;
    rpm_conn *conn = nullptr;
    rpm_log *log = nullptr;

    explicit WaitingWriter(const std::string &what, uint64_t timeout_us = 30000000)
        : server(start_server(what))
    {
        rpm_conn_opts opts = rpm_conn_opts_init();
        rpm_log_opts log_opts = rpm_log_opts_init();

        opts.timeout_us = timeout_us;
        conn = server->connect("", opts);
        log_opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
        log_opts.capacity_bytes = 256 << 10;
        log_opts.inflight_max = WAITING;
        REQUIRE(rpm_log_open(conn, server->name("log").c_str(), &log_opts, &log) == 0);
    }
    WaitingWriter(const WaitingWriter &) = delete;
    ~WaitingWriter()
    {
        rpm_log_close(&log);
        rpm_conn_close(&conn);
    }
};

} // namespace

#define ON_EACH_WRITER()                                                                           \
    std::string where = GENERATE(from_range(servers()));                                           \
    CAPTURE(where);                                                                                \
    WaitingWriter writer(where)

TEST_CASE("wait: it returns with as many completions as asked for, in order, without polling",
          "[conform]")
{
    uint32_t min = GENERATE(1u, 7u, WAITING);
    ON_EACH_WRITER();
    rpm_completion done[WAITING];
    uintptr_t sent = 0;
    uintptr_t ended = 0;

    CAPTURE(min);
    while (ended < 500) {
        while (sent < 500) {
            int err =
                rpm_log_append_async(writer.log, &sent, sizeof(sent), sent % 3 == 1 ? RPM_MORE : 0,
                                     reinterpret_cast<void *>(sent), nullptr);

            if (err == RPM_E_BUSY && sent > ended)
                break;
            REQUIRE(err == 0);
            sent++;
        }
        int n = rpm_log_wait(writer.log, done, WAITING, min, UINT64_MAX);
        REQUIRE(n >= static_cast<int>(std::min<uintptr_t>(min, sent - ended)));
        for (int i = 0; i < n; i++) {
            REQUIRE(done[i].status == 0);
            REQUIRE(done[i].context == reinterpret_cast<void *>(ended));
            ended++;
        }
    }
    CHECK(rpm_log_wait(writer.log, done, WAITING, 1, UINT64_MAX) == 0); // nothing is outstanding
    CHECK(rpm_log_wait(writer.log, done, 1, 2, 0) == RPM_E_INVAL);
}

TEST_CASE("wait: the loss of a connection ends it, and then there is nothing to wait for",
          "[conform]")
{
    NEEDS_OWN_SERVER("it kills the server");
    ON_EACH_WRITER();
    rpm_completion done[WAITING];
    uint32_t ended = 0;
    int n = 0;

    REQUIRE(rpm_log_append(writer.log, "x", 1, nullptr) == 0);
    REQUIRE(rpm_log_append_async(writer.log, "y", 1, RPM_MORE, nullptr, nullptr) == 0);
    writer.server->kill();
    while ((n = rpm_log_wait(writer.log, done, WAITING, 1, UINT64_MAX)) > 0)
        ended += static_cast<uint32_t>(n);
    CHECK(n == RPM_E_LOST);
    CHECK(ended == 1);
    CHECK(done[0].status == RPM_E_LOST);
}

TEST_CASE("appendv: slices that were gathered are read as one record", "[conform]")
{
    ON_EACH_WRITER();
    std::string payload;
    rpm_reader *reader = nullptr;
    rpm_record record;
    uint32_t found = 0;

    for (int i = 0; i < 20000; i++)
        payload += static_cast<char>('a' + i % 23);
    std::vector<size_t> sizes = { 1, 39, 40, 64, 230, 500, 4096, 9000, 20000 };
    for (size_t size : sizes) {
        size_t cut = size / 3;
        rpm_slice slices[3] = { { payload.data(), cut },
                                { payload.data() + cut, 0 },
                                { payload.data() + cut, size - cut } };

        REQUIRE(rpm_log_appendv(writer.log, slices, 3, nullptr) == 0);
        REQUIRE(rpm_log_appendv_async(writer.log, slices, 3, RPM_MORE, nullptr, nullptr) == 0);
    }
    REQUIRE(rpm_log_persist(writer.log) == 0);
    REQUIRE(rpm_reader_open(writer.log, nullptr, &reader) == 0);
    while (rpm_reader_next(reader, &record) == 1) {
        std::string data(static_cast<const char *>(record.data), record.len);

        CHECK(data == payload.substr(0, sizes.at(found / 2)));
        found++;
    }
    rpm_reader_close(&reader);
    CHECK(found == 2 * sizes.size());
}

TEST_CASE("last error: a call that fails without a text does not leave an older one", "[conform]")
{
    ON_EACH_WRITER();
    rpm_completion done[1];
    int err = 0;

    CHECK(rpm_log_wait(writer.log, done, 1, 2, 0) == RPM_E_INVAL);
    std::string older = rpm_last_error();
    CHECK(older.find("2 completions") != std::string::npos);
    for (uint32_t i = 0; i <= WAITING && err == 0; i++)
        err = rpm_log_append_async(writer.log, "x", 1, 0, nullptr, nullptr);
    // Where completions arrived in between there was always room.
    if (err == 0)
        return;
    CHECK(err == RPM_E_BUSY);
    CHECK(rpm_last_error() != older);
}
