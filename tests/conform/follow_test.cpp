// SPDX-License-Identifier: BSD-3-Clause
// follow_test.cpp: a direct writer detects that a reader follows its tail, and that it has stopped.
#include "support/catch.h"
#include "support/server.h"

extern "C" {
#include "conn/conn.h"
#include "transport/shm/shm.h"
}

#include <atomic>
#include <chrono>
#include <thread>

namespace
{

// Appends until the writer has checked for readers at least twice.
void append_on(rpm_log *log)
{
    for (int i = 0; i < 1100; i++)
        REQUIRE(rpm_log_append(log, "record", 6, nullptr) == 0);
}

// Reads a record or two at a time, each time by a new reader that opens where the last one ended.
uint64_t read_by_turns(rpm_log *log, const std::atomic<bool> &done)
{
    rpm_reader_opts opts = rpm_reader_opts_init();
    rpm_record record;
    uint64_t got = 0;

    for (bool last = false; !last;) {
        rpm_reader *reader = nullptr;
        uint64_t before = got;

        last = done;
        INFO("from " << opts.from_lsn);
        int err = rpm_reader_open(log, &opts, &reader);
        INFO(rpm_last_error());
        REQUIRE(err == 0);
        for (int i = 0; i < 2 && rpm_reader_next(reader, &record) == 1; i++) {
            opts.from_lsn = record.next_lsn;
            got++;
        }
        rpm_reader_close(&reader);
        last = last && got == before;
    }
    return got;
}

} // namespace

TEST_CASE("follow: a reader opens again where it ended while a writer appends", "[conform]")
{
    const char *mode = GENERATE("direct", "ring");
    support::Server server;
    rpm_log_opts opts = rpm_log_opts_init();
    std::atomic<bool> done{ false };
    rpm_conn *conns[2] = {};
    rpm_log *logs[2] = {};
    uint64_t sent = 0;
    int failed = 0;

    CAPTURE(mode);
    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    opts.capacity_bytes = 1 << 20;
    for (int i = 0; i < 2; i++) {
        REQUIRE(rpm_conn_open(server.url(mode).c_str(), nullptr, &conns[i]) == 0);
        REQUIRE(rpm_log_open(conns[i], "a", i == 0 ? &opts : nullptr, &logs[i]) == 0);
    }
    std::thread writer([&] {
        auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);

        for (; std::chrono::steady_clock::now() < end && sent < 16000 && failed == 0; sent++) {
            failed = rpm_log_append(logs[0], "record", 6, nullptr);
            std::this_thread::sleep_for(std::chrono::microseconds(sent % 4));
        }
        done = true;
    });
    uint64_t got = 0;
    try {
        got = read_by_turns(logs[1], done);
    } catch (...) {
        writer.join();
        throw;
    }
    writer.join();
    CHECK(failed == 0);
    CHECK(got == sent);
    for (int i = 0; i < 2; i++) {
        rpm_log_close(&logs[i]);
        rpm_conn_close(&conns[i]);
    }
}

TEST_CASE("follow: the writer knows of a reader at the tail until the reader leaves", "[conform]")
{
    support::Server server;
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_conn *conns[2] = {};
    rpm_log *logs[2] = {};
    rpm_reader *reader = nullptr;
    rpm_record record;
    uint64_t got = 0;

    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    opts.capacity_bytes = 1 << 20;
    for (int i = 0; i < 2; i++) {
        REQUIRE(rpm_conn_open(server.url("direct").c_str(), nullptr, &conns[i]) == 0);
        REQUIRE(rpm_log_open(conns[i], "a", i == 0 ? &opts : nullptr, &logs[i]) == 0);
    }
    const rpmi_direct &direct = rpmi_shm_of(conns[0]->link)->direct;

    append_on(logs[0]);
    CHECK_FALSE(direct.followed);
    REQUIRE(rpm_reader_open(logs[1], nullptr, &reader) == 0);
    for (int i = 0; i < 1100; i++) {
        REQUIRE(rpm_log_append(logs[0], "record", 6, nullptr) == 0);
        while (rpm_reader_next(reader, &record) == 1)
            got++;
    }
    CHECK(got == 2200);
    CHECK(direct.followed);
    append_on(logs[0]);
    CHECK_FALSE(direct.followed);
    for (; rpm_reader_next(reader, &record) == 1; got++)
        REQUIRE(record.len == 6);
    CHECK(got == 3300);

    rpm_reader_close(&reader);
    for (int i = 0; i < 2; i++) {
        rpm_log_close(&logs[i]);
        rpm_conn_close(&conns[i]);
    }
}
