// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"

#include <librpm.h>
#include <string>

TEST_CASE("connect: connections to several servers of one world share its time", "[unit]")
{
    rpm_sim_opts opts = rpm_sim_opts_init();
    rpm_sim *sim = nullptr;
    rpm_conn *conn[2] = {};
    rpm_region_opts region = rpm_region_opts_init();

    opts.servers = 2;
    REQUIRE(rpm_sim_open(&opts, &sim) == 0);
    for (uint32_t i = 0; i < 2; i++)
        REQUIRE(rpm_sim_connect(sim, i, nullptr, &conn[i]) == 0);
    uint64_t now = rpm_sim_now_ns(sim);
    region.flags = RPM_REGION_CREATE;
    region.bytes = 4096;
    for (uint32_t i = 0; i < 2; i++) {
        rpm_region *one = nullptr;

        REQUIRE(rpm_region_open(conn[i], "r", &region, &one) == 0);
        REQUIRE(rpm_region_write(one, 0, "hello", 5) == 0);
        REQUIRE(rpm_sim_now_ns(sim) > now);
        now = rpm_sim_now_ns(sim);
        rpm_region_close(&one);
        rpm_conn_close(&conn[i]);
    }
    rpm_sim_close(&sim);
}

TEST_CASE("connect: options are judged before anything is opened", "[unit]")
{
    rpm_sim *sim = nullptr;
    rpm_conn *conn = nullptr;
    rpm_conn_opts opts = rpm_conn_opts_init();

    REQUIRE(rpm_sim_open(nullptr, &sim) == 0);
    opts.depth = 1;
    REQUIRE(rpm_sim_connect(sim, 0, &opts, &conn) == RPM_E_INVAL);
    REQUIRE(conn == nullptr);
    rpm_sim_close(&sim);
}

TEST_CASE("connect: a killed client machine gives RPM_E_LOST for good", "[unit]")
{
    rpm_sim *sim = nullptr;
    rpm_conn *conn = nullptr;
    rpm_region *one = nullptr;
    rpm_region_opts region = rpm_region_opts_init();

    REQUIRE(rpm_sim_open(nullptr, &sim) == 0);
    REQUIRE(rpm_sim_connect(sim, 0, nullptr, &conn) == 0);
    region.flags = RPM_REGION_CREATE;
    region.bytes = 4096;
    REQUIRE(rpm_region_open(conn, "r", &region, &one) == 0);
    rpm_sim_kill_client(conn);
    REQUIRE(rpm_region_write(one, 0, "hello", 5) == RPM_E_LOST);
    rpm_region_close(&one);
    REQUIRE(rpm_region_open(conn, "r", &region, &one) == RPM_E_LOST);
    rpm_conn_close(&conn);
    rpm_sim_close(&sim);
}

TEST_CASE("connect: with method carry, the agent is one that the server declares", "[unit][agent]")
{
    rpm_sim *sim = nullptr;
    rpm_conn *conn = nullptr;
    rpm_log *log = nullptr;
    rpm_conn_opts opts = rpm_conn_opts_init();
    rpm_log_opts of_log = rpm_log_opts_init();
    struct rpm_conn_stats stats = rpm_conn_stats_init();
    struct rpm_log_info info = rpm_log_info_init();

    REQUIRE(rpm_sim_open(nullptr, &sim) == 0);
    opts.method = RPM_METHOD_CARRY;
    REQUIRE(rpm_sim_connect_agent(sim, 0, &opts, &conn) == 0);
    of_log.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    REQUIRE(rpm_log_open(conn, "log", &of_log, &log) == 0);
    REQUIRE(rpm_log_info(log, &info) == 0);
    CHECK(info.method == RPM_METHOD_CARRY);
    for (int i = 0; i < 10; i++)
        REQUIRE(rpm_log_append(log, "record", 6, nullptr) == 0);
    REQUIRE(rpm_conn_stats(conn, &stats) == 0);
    CHECK(stats.orders == 10);
    CHECK(stats.carried == 10);
    CHECK(stats.order_fallbacks == 0);
    rpm_log_close(&log);
    rpm_conn_close(&conn);
    rpm_sim_close(&sim);
}
