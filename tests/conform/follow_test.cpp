// SPDX-License-Identifier: BSD-3-Clause
// follow_test.cpp: a direct writer hears that a reader follows its tail, and that it went.
#include "support/server.h"

extern "C" {
#include "conn/conn.h"
#include "transport/shm/shm.h"
}

namespace
{

// Appends until the writer has looked around at least twice.
void append_on(rpm_log *log)
{
    for (int i = 0; i < 1100; i++)
        REQUIRE(rpm_log_append(log, "record", 6, nullptr) == 0);
}

} // namespace

TEST_CASE("follow: a reader at the tail is heard of by the writer until it goes", "[conform]")
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
