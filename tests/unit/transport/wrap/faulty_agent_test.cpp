// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"

#include <librpm.h>
#include <string>

namespace
{

struct Outcome {
    uint64_t orders;
    uint64_t fallbacks;
    uint64_t recovered;
};

constexpr uint64_t kRecords = 300;

// Appends records by orders, cuts the power and counts what is recovered.
Outcome append_all(uint32_t faults_ppm, uint64_t seed)
{
    rpm_sim_opts opts = rpm_sim_opts_init();
    rpm_conn_opts conn_opts = rpm_conn_opts_init();
    rpm_log_opts log_opts = rpm_log_opts_init();
    struct rpm_conn_stats stats = rpm_conn_stats_init();
    rpm_sim *sim = nullptr;
    rpm_conn *conn = nullptr;
    rpm_log *log = nullptr;
    rpm_reader *reader = nullptr;
    rpm_record record;
    Outcome outcome{};

    opts.seed = seed;
    opts.preset = "adr-noddio";
    opts.agent_faults_ppm = faults_ppm;
    REQUIRE(rpm_sim_open(&opts, &sim) == 0);
    conn_opts.method = RPM_METHOD_ORDER;
    REQUIRE(rpm_sim_connect_agent(sim, 0, &conn_opts, &conn) == 0);
    log_opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    log_opts.capacity_bytes = 256 << 10;
    REQUIRE(rpm_log_open(conn, "log", &log_opts, &log) == 0);
    for (uint64_t i = 0; i < kRecords; i++)
        REQUIRE(rpm_log_append(log, &i, sizeof(i), nullptr) == 0);
    REQUIRE(rpm_conn_stats(conn, &stats) == 0);
    outcome.orders = stats.orders;
    outcome.fallbacks = stats.order_fallbacks;
    rpm_log_close(&log);
    rpm_sim_power_cut(sim, 0, RPM_CUT_DROP);
    REQUIRE(rpm_sim_restart(sim, 0) == 0);
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    REQUIRE(rpm_log_open(conn, "log", nullptr, &log) == 0);
    REQUIRE(rpm_reader_open(log, nullptr, &reader) == 0);
    while (rpm_reader_next(reader, &record) == 1)
        outcome.recovered += *static_cast<const uint64_t *>(record.data) == outcome.recovered;
    rpm_reader_close(&reader);
    rpm_log_close(&log);
    rpm_conn_close(&conn);
    rpm_sim_close(&sim);
    return outcome;
}

} // namespace

TEST_CASE("faulty agent: no record is acknowledged by its answers", "[unit]")
{
    uint64_t fallbacks = 0;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        Outcome outcome = append_all(1000000, seed);

        CHECK(outcome.orders >= kRecords);
        CHECK(outcome.fallbacks == outcome.orders);
        CHECK(outcome.recovered == kRecords);
        fallbacks += outcome.fallbacks;
    }
    CHECK(fallbacks > 0);
}

TEST_CASE("faulty agent: one that answers most lists rightly is still used", "[unit]")
{
    Outcome right = append_all(0, 1);
    Outcome outcome = append_all(20000, 1);

    CHECK(right.fallbacks == 0);
    CHECK(right.recovered == kRecords);
    CHECK(outcome.fallbacks > 0);
    CHECK(outcome.fallbacks < outcome.orders);
    CHECK(outcome.recovered == kRecords);
}

TEST_CASE("faulty agent: it dies with its client's machine", "[unit]")
{
    rpm_sim_opts opts = rpm_sim_opts_init();
    rpm_sim *sim = nullptr;
    rpm_conn *conn = nullptr;

    opts.agent_faults_ppm = 500000;
    REQUIRE(rpm_sim_open(&opts, &sim) == 0);
    REQUIRE(rpm_sim_connect_agent(sim, 0, nullptr, &conn) == 0);
    rpm_sim_kill_client(conn);
    CHECK(rpm_conn_reconnect(conn) == RPM_E_LOST);
    rpm_conn_close(&conn);
    rpm_sim_close(&sim);
}
