// SPDX-License-Identifier: BSD-3-Clause
#include "unit/log/kinds.h"

extern "C" {
#include "log/log.h"
}

#include <string>

using namespace loop;

namespace
{

bool last_error_has(const char *words)
{
    return std::string(rpm_last_error()).find(words) != std::string::npos;
}

} // namespace

TEST_CASE("usable: a fenced log can be read, and a program learns how to write again", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Conn usurper(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 4096);
    rpm_log *raw = log;

    Log taken(usurper, "a", RPM_LOG_WRITE | RPM_LOG_TAKEOVER);
    CHECK(rpmi_log_readable(raw) == 0);
    CHECK(rpm_log_append(log, "x", 1, nullptr) == RPM_E_FENCED);
    CHECK(last_error_has("rpm_log_claim()"));
    CHECK(rpmi_log_readable(raw) == 0);
    CHECK(rpmi_log_refuse(raw) == RPM_E_FENCED);
    CHECK(rpmi_log_explain(raw, RPM_E_FENCED) == RPM_E_FENCED);
    CHECK(last_error_has("rpm_log_claim()"));
    CHECK(rpmi_log_explain(raw, 0) == 0);
}

TEST_CASE("usable: after a loss a log is neither read nor written until it is resumed", "[unit]")
{
    EACH_KIND(kind);
    Server server;
    Conn conn(server, kind.setup, &conn_opts);
    Log log(conn, "a", WRITER, 4096);
    rpm_log *raw = log;
    rpm_outcome outcomes[256];
    uint32_t count = 0;

    conn.link->drop();
    CHECK(rpm_log_append(log, "x", 1, nullptr) == RPM_E_LOST);
    CHECK(last_error_has("reconnect, then rpm_log_resume()"));
    CHECK(rpmi_log_readable(raw) == RPM_E_LOST);
    REQUIRE(rpm_conn_reconnect(conn) == 0);
    CHECK(rpmi_log_readable(raw) == RPM_E_LOST);
    CHECK(rpmi_log_check(raw, 1) == RPM_E_LOST);
    REQUIRE(rpm_log_resume(log, outcomes, 256, &count) == 0);
    CHECK(rpmi_log_readable(raw) == 0);
    CHECK(rpmi_log_check(raw, 1) == 0);
}
