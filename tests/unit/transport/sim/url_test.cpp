// SPDX-License-Identifier: BSD-3-Clause
// sim: URLs that name an agent on the server's SoC.
#include "support/catch.h"

#include <librpm.h>
#include <string>

namespace
{

// Appends by a connection to @url; its counters.
struct rpm_conn_stats append_by(const char *url, uint32_t expected)
{
    struct rpm_conn_stats stats = rpm_conn_stats_init();
    struct rpm_log_info info = rpm_log_info_init();
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_conn *conn = nullptr;
    rpm_log *log = nullptr;

    opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    REQUIRE(rpm_conn_open(url, nullptr, &conn) == 0);
    REQUIRE(rpm_log_open(conn, "log", &opts, &log) == 0);
    REQUIRE(rpm_log_info(log, &info) == 0);
    CHECK(info.method == expected);
    for (int i = 0; i < 10; i++)
        REQUIRE(rpm_log_append(log, "record", 6, nullptr) == 0);
    REQUIRE(rpm_conn_stats(conn, &stats) == 0);
    rpm_log_close(&log);
    rpm_conn_close(&conn);
    return stats;
}

std::string refused(const char *url)
{
    rpm_conn *conn = nullptr;

    CHECK(rpm_conn_open(url, nullptr, &conn) == RPM_E_INVAL);
    CHECK(conn == nullptr);
    return rpm_last_error();
}

} // namespace

TEST_CASE("sim url: an agent on the SoC has records certified, or carries them", "[unit][agent]")
{
    CHECK(append_by("sim:seed=1,preset=bf2,agent=soc", RPM_METHOD_ORDER).orders == 10);
    CHECK(append_by("sim:seed=1,preset=bf2,agent=soc,carry=agent", RPM_METHOD_CARRY).carried == 10);
    CHECK(append_by("sim:seed=1,preset=bf2", RPM_METHOD_COPY).orders == 0);
    CHECK(append_by("sim:seed=1,agent=soc,wrap=count", RPM_METHOD_ORDER).orders == 10);
}

TEST_CASE("sim url: options of an agent on the SoC are checked", "[unit]")
{
    CHECK(refused("sim:seed=1,agent=soc,carry=dpu").find("carry=agent") != std::string::npos);
    CHECK(refused("sim:seed=1,agent=soc,calibration=times").find("calibration=times") !=
          std::string::npos);
    CHECK(refused("sim:seed=1,carry=agent").find("add agent=soc") != std::string::npos);
}
