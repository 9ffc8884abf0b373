// SPDX-License-Identifier: BSD-3-Clause
// repair_test.cpp: a log whose head is lost is recovered on every transport. A client cannot write
// to a log's header, so the test changes the pool's file between two runs of the server.
#include "conform/fixture.h"

extern "C" {
#include "wire/head.h"
}
#include <librpm.h>

using namespace conform;

namespace
{

class Client
{
  public:
    explicit Client(Server *server)
    {
        rpm_conn_opts opts = rpm_conn_opts_init();

        opts.timeout_us = 30000000;
        conn = server->connect("", opts);
    }
    Client(const Client &) = delete;
    ~Client()
    {
        rpm_log_close(&log);
        rpm_conn_close(&conn);
    }
    int open(uint32_t flags)
    {
        rpm_log_opts opts = rpm_log_opts_init();

        opts.flags = flags;
        opts.capacity_bytes = 64 << 10;
        return rpm_log_open(conn, "log", &opts, &log);
    }
    int append(const std::string &data)
    {
        return rpm_log_append(log, data.data(), data.size(), nullptr);
    }
    rpm_repair_report repair(uint32_t flags, int expected = 0)
    {
        rpm_repair_opts opts = rpm_repair_opts_init();
        rpm_repair_report report = rpm_repair_report_init();

        opts.flags = flags;
        int err = rpm_log_repair(conn, "log", &opts, &report);
        CAPTURE(rpm_last_error());
        REQUIRE(err == expected);
        return report;
    }
    std::vector<std::string> read() const
    {
        return conform::records_of(log);
    }

    rpm_conn *conn = nullptr;
    rpm_log *log = nullptr;
};

const uint64_t HEADER = 36864; // of the first log in a pool

} // namespace

#define ON_EACH_OWN_SERVER()                                                                       \
    NEEDS_OWN_SERVER("it damages the pool");                                                       \
    std::string where = GENERATE(from_range(servers()));                                           \
    CAPTURE(where);                                                                                \
    std::unique_ptr<Server> server = start_server(where)

TEST_CASE("repair: all records of a log without a valid head are found", "[conform]")
{
    ON_EACH_OWN_SERVER();
    std::vector<std::string> wrote;

    for (int writer = 0; writer < 2; writer++) {
        Client client(server.get());
        REQUIRE(client.open(RPM_LOG_WRITE | RPM_LOG_CREATE) == 0);
        for (int i = 0; i < 20; i++) {
            wrote.push_back(
                std::string(static_cast<size_t>(10 + 50 * i), static_cast<char>('a' + i)));
            REQUIRE(client.append(wrote.back()) == 0);
        }
    }
    for (uint32_t slot = 0; slot < RPMI_HEAD_SLOTS; slot++)
        server->damage(HEADER + slot * RPMI_HEAD_SLOT_STRIDE + 40);
    {
        Client client(server.get());
        CHECK(client.open(0) == RPM_E_CORRUPT);
        CHECK(std::string(rpm_last_error()).find("rpm-log repair") != std::string::npos);
        CHECK(client.open(RPM_LOG_WRITE) == RPM_E_CORRUPT);
        CHECK(client.repair(0).records == wrote.size());
        CHECK(client.open(0) == RPM_E_CORRUPT);
        rpm_repair_report report = client.repair(RPM_REPAIR_WRITE);
        CHECK(report.state == RPM_REPAIR_NEEDED);
        CHECK(report.done == 1);
        CHECK(report.epoch == 3);
        REQUIRE(client.open(RPM_LOG_WRITE) == 0);
        CHECK(client.read() == wrote);
        wrote.push_back("and on");
        REQUIRE(client.append("and on") == 0);
    }
    server->kill();
    server->restart();
    Client again(server.get());
    CHECK(again.repair(RPM_REPAIR_WRITE).state == RPM_REPAIR_SOUND);
    REQUIRE(again.open(0) == 0);
    CHECK(again.read() == wrote);
}

TEST_CASE("repair: a live writer is fenced only if the caller asks for it", "[conform]")
{
    ON_EACH_OWN_SERVER();
    Client writer(server.get());
    Client client(server.get());

    REQUIRE(writer.open(RPM_LOG_WRITE | RPM_LOG_CREATE) == 0);
    REQUIRE(writer.append("one") == 0);
    for (uint32_t slot = 0; slot < RPMI_HEAD_SLOTS; slot++)
        server->damage(HEADER + slot * RPMI_HEAD_SLOT_STRIDE + 40);
    client.repair(RPM_REPAIR_WRITE, RPM_E_OWNED);
    REQUIRE(writer.append("two") == 0);
    CHECK(client.repair(RPM_REPAIR_WRITE | RPM_REPAIR_TAKEOVER).done == 1);
    CHECK(writer.append("three") == RPM_E_FENCED);
    REQUIRE(client.open(RPM_LOG_WRITE) == 0);
    CHECK(client.read() == std::vector<std::string>{ "one", "two" });
}
