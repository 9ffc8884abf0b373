// SPDX-License-Identifier: BSD-3-Clause
#include "unit/region/region.h"

extern "C" {
#include "log/claim.h"
}
#include "support/death.h"

using namespace loop;

namespace
{

int open_guarded(Region &region, rpm_conn *conn, rpm_log *log)
{
    rpm_region_opts opts = rpm_region_opts_init();

    opts.flags = RPM_REGION_CREATE;
    opts.bytes = 4096;
    opts.claim = log;
    return region.open(conn, "r", &opts);
}

} // namespace

TEST_CASE("claim: a region is guarded only by a held claim of its own connection", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Conn other(server, kind.setup, &conn_opts);
    Log log(conn, "log", WRITER, 8192);
    Log reader(conn, "log", 0);
    Log next;
    Region region;
    rpm_log_opts opts = rpm_log_opts_init();
    rpm_entry entry = rpm_entry_init();

    CHECK(open_guarded(region, other, log) == RPM_E_INVAL);
    CHECK(open_guarded(region, conn, reader) == RPM_E_INVAL);
    opts.flags = WRITER | RPM_LOG_TAKEOVER;
    REQUIRE(next.open(other, "log", opts) == 0);
    CHECK(open_guarded(region, conn, log) == RPM_E_FENCED);
    REQUIRE(rpm_conn_next(other, &entry) == 1);
    CHECK(rpm_conn_next(other, &entry) == 0);
    CHECK(open_guarded(region, other, next) == 0);
    CHECK(region.write(0, "hello") == 0);
}

TEST_CASE("claim: a log whose connection was lost guards when it was resumed", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "log", WRITER, 8192);
    Region region;
    rpm_outcome outcomes[256];
    uint32_t count = 0;

    REQUIRE(open_guarded(region, conn, log) == 0);
    server.stop();
    REQUIRE(server.start() == 0);
    CHECK(region.write(0, "hello") == RPM_E_LOST);
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    Region again;
    CHECK(open_guarded(again, conn, log) == RPM_E_LOST);
    REQUIRE(rpm_log_resume(log, outcomes, 256, &count) == 0);
    CHECK(open_guarded(again, conn, log) == 0);
    CHECK(again.write(0, "hello") == 0);
    CHECK(region.write(0, "olleh") == RPM_E_LOST);
    CHECK(again.read(0, 5) == "hello");
}

TEST_CASE("claim: a log must be closed after the regions that it guards", "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    Log log(conn, "log", WRITER, 8192);
    Region region;

    REQUIRE(open_guarded(region, conn, log) == 0);
    CHECK(death_of([&] { log.close(); }).find("guarded == 0") != std::string::npos);
    region.close();
    log.close();
    CHECK(log.log == nullptr);
}

TEST_CASE("claim: a fence that one region reports holds for all regions of that claim, no other",
          "[unit]")
{
    Server server;
    Conn conn(server, synchronous());
    Log log(conn, "log", WRITER, 8192);
    rpmi_claim one;
    rpmi_claim two;
    rpmi_claim none;

    REQUIRE(rpmi_claim_join(nullptr, conn, &none) == 0);
    CHECK_FALSE(rpmi_claim_has_ended(&none));
    REQUIRE(rpmi_claim_join(log, conn, &one) == 0);
    REQUIRE(rpmi_claim_join(log, conn, &two) == 0);
    CHECK(one.epoch == 1);
    CHECK_FALSE(rpmi_claim_has_ended(&two));
    rpmi_claim_set_ended(&one);
    CHECK(rpmi_claim_has_ended(&two));
    CHECK_FALSE(rpmi_claim_has_ended(&none));
    rpmi_claim later = two;
    later.epoch++;
    CHECK_FALSE(rpmi_claim_has_ended(&later));
    rpmi_claim_leave(&one);
    rpmi_claim_leave(&two);
    rpmi_claim_leave(&none);
}
