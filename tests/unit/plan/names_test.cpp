// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"

#include <librpm/facts.h>
#include <string>

TEST_CASE("names: each value has the name that the headers document", "[unit]")
{
    CHECK(rpm_level_name(RPM_LEVEL_DEFAULT) == std::string("default"));
    CHECK(rpm_level_name(RPM_POSTED) == std::string("posted"));
    CHECK(rpm_level_name(RPM_VISIBLE) == std::string("visible"));
    CHECK(rpm_level_name(RPM_PROCESS) == std::string("process"));
    CHECK(rpm_level_name(RPM_DURABLE) == std::string("durable"));

    CHECK(rpm_method_name(RPM_METHOD_DEFAULT) == std::string("default"));
    CHECK(rpm_method_name(RPM_METHOD_WRITE) == std::string("write"));
    CHECK(rpm_method_name(RPM_METHOD_READ) == std::string("read"));
    CHECK(rpm_method_name(RPM_METHOD_READ_OTHER) == std::string("read-other"));
    CHECK(rpm_method_name(RPM_METHOD_MESSAGE) == std::string("message"));
    CHECK(rpm_method_name(RPM_METHOD_IMMEDIATE) == std::string("immediate"));
    CHECK(rpm_method_name(RPM_METHOD_COPY) == std::string("copy"));
    CHECK(rpm_method_name(RPM_METHOD_FLUSH) == std::string("flush"));
    CHECK(rpm_method_name(RPM_METHOD_STORE) == std::string("store"));

    CHECK(rpm_medium_name(RPM_MEDIUM_UNKNOWN) == std::string("unknown"));
    CHECK(rpm_medium_name(RPM_MEDIUM_DRAM) == std::string("dram"));
    CHECK(rpm_medium_name(RPM_MEDIUM_HUGE) == std::string("huge"));
    CHECK(rpm_medium_name(RPM_MEDIUM_TMPFS) == std::string("tmpfs"));
    CHECK(rpm_medium_name(RPM_MEDIUM_FILE) == std::string("file"));
    CHECK(rpm_medium_name(RPM_MEDIUM_FSDAX) == std::string("fsdax"));
    CHECK(rpm_medium_name(RPM_MEDIUM_DEVDAX) == std::string("devdax"));

    CHECK(rpm_domain_name(RPM_DOMAIN_NONE) == std::string("none"));
    CHECK(rpm_domain_name(RPM_DOMAIN_MSYNC) == std::string("msync"));
    CHECK(rpm_domain_name(RPM_DOMAIN_ADR) == std::string("adr"));
    CHECK(rpm_domain_name(RPM_DOMAIN_EADR) == std::string("eadr"));
}

TEST_CASE("names: a value from a newer peer is named unknown", "[unit]")
{
    CHECK(rpm_level_name(static_cast<rpm_level>(5)) == std::string("unknown"));
    CHECK(rpm_method_name(static_cast<rpm_method>(11)) == std::string("unknown"));
    CHECK(rpm_medium_name(static_cast<rpm_medium>(7)) == std::string("unknown"));
    CHECK(rpm_domain_name(static_cast<rpm_domain>(4)) == std::string("unknown"));
}
