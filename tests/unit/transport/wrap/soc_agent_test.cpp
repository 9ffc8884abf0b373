// SPDX-License-Identifier: BSD-3-Clause
// A writer whose agent is on the SoC of its server.
#include "support/catch.h"

#include <librpm.h>
#include <librpm/sim.h>
#include <string>

namespace
{

struct Soc {
    rpm_sim *sim = nullptr;
    rpm_conn *conn = nullptr;
    rpm_log *log = nullptr;

    explicit Soc(uint64_t seed = 1)
    {
        rpm_sim_opts opts = rpm_sim_opts_init();
        rpm_conn_opts of_conn = rpm_conn_opts_init();
        rpm_log_opts of_log = rpm_log_opts_init();

        opts.seed = seed;
        opts.agent_on_soc = 1;
        REQUIRE(rpm_sim_open(&opts, &sim) == 0);
        of_conn.method = RPM_METHOD_CARRY;
        REQUIRE(rpm_sim_connect_agent(sim, 0, &of_conn, &conn) == 0);
        of_log.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
        REQUIRE(rpm_log_open(conn, "log", &of_log, &log) == 0);
    }
    Soc(const Soc &) = delete;
    ~Soc()
    {
        rpm_log_close(&log);
        rpm_conn_close(&conn);
        rpm_sim_close(&sim);
    }
    int append(const std::string &text)
    {
        return rpm_log_append(log, text.data(), text.size(), nullptr);
    }
    struct rpm_conn_stats stats() const
    {
        struct rpm_conn_stats stats = rpm_conn_stats_init();

        REQUIRE(rpm_conn_stats(conn, &stats) == 0);
        return stats;
    }
    // All records, as another client reads them.
    std::string read() const
    {
        rpm_conn *other = nullptr;
        rpm_reader *reader = nullptr;
        rpm_log *seen = nullptr;
        rpm_record record;
        std::string all;

        REQUIRE(rpm_sim_connect(sim, 0, nullptr, &other) == 0);
        REQUIRE(rpm_log_open(other, "log", nullptr, &seen) == 0);
        REQUIRE(rpm_reader_open(seen, 0, &reader) == 0);
        while (rpm_reader_next(reader, &record) == 1)
            all += std::string(static_cast<const char *>(record.data), record.len) + ";";
        rpm_reader_close(&reader);
        rpm_log_close(&seen);
        rpm_conn_close(&other);
        return all;
    }
};

} // namespace

TEST_CASE("soc agent: records that the engine copies are certified, and read by others",
          "[unit][agent]")
{
    uint64_t fallbacks = 0; // of orders that the model delivers later than the writer waits

    for (uint64_t seed = 1; seed < 20; seed++) {
        Soc soc(seed);
        std::string expected;

        for (int i = 0; i < 20; i++) {
            std::string text(static_cast<size_t>(1 + 37 * i), static_cast<char>('a' + i));

            REQUIRE(soc.append(text) == 0);
            expected += text + ";";
        }
        CHECK(soc.read() == expected);
        CHECK(soc.stats().carried == 20);
        fallbacks += soc.stats().order_fallbacks;
    }
    CHECK(fallbacks < 10); // of 380 orders
}

TEST_CASE("soc agent: a writer whose agent dies goes on without it", "[unit][agent]")
{
    for (uint64_t seed = 1; seed < 20; seed++) {
        Soc soc(seed);

        REQUIRE(soc.append("one") == 0);
        REQUIRE(rpm_log_append_async(soc.log, "two", 3, 0, nullptr, nullptr) == 0);
        for (uint64_t i = 0; i < seed * 3; i++)
            rpm_sim_step(soc.sim);
        rpm_sim_kill_agent(soc.sim, 0);
        REQUIRE(soc.append("three") == 0);
        CHECK(soc.read() == "one;two;three;");
        CHECK(soc.stats().carried <= 3); // the last one, if it was not known yet
    }
}

TEST_CASE("soc agent: the agent lives on when its writer dies, and dies with the server's power",
          "[unit][agent]")
{
    Soc soc;

    REQUIRE(soc.append("one") == 0);
    rpm_sim_kill_client(soc.conn);
    CHECK(soc.append("two") == RPM_E_LOST);
    CHECK(soc.read() == "one;");

    Soc cut;
    REQUIRE(cut.append("one") == 0);
    rpm_sim_power_cut(cut.sim, 0, RPM_CUT_DROP);
    CHECK(cut.append("two") == RPM_E_LOST);
    REQUIRE(rpm_sim_restart(cut.sim, 0) == 0);
    CHECK(cut.read() == "one;");
}

TEST_CASE("soc agent: a server whose CPU stops answers later", "[unit][agent]")
{
    Soc soc;
    uint64_t begin_ns;

    REQUIRE(soc.append("one") == 0);
    begin_ns = rpm_sim_now_ns(soc.sim);
    rpm_sim_stop_server(soc.sim, 0, 3000000);
    REQUIRE(soc.append("two") == 0);
    CHECK(rpm_sim_now_ns(soc.sim) >= begin_ns + 3000000);
    CHECK(soc.read() == "one;two;");
}
