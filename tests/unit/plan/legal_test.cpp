// SPDX-License-Identifier: BSD-3-Clause
// legal_test.cpp: the matrix of methods and domains of the design, written a second time by hand.
#include "unit/plan/support.h"

extern "C" {
#include "plan/legal.h"
}
#include "support/catch.h"

#include <string>

namespace
{

struct Row {
    rpm_method method;
    // adr ddio on, adr ddio unknown, adr ddio off, eadr, msync, none
    int durable[6];
};

const Row ROWS[] = {
    { RPM_METHOD_WRITE, { 0, 0, 0, 0, 0, 0 } },      { RPM_METHOD_READ, { 0, 0, 1, 1, 0, 0 } },
    { RPM_METHOD_READ_OTHER, { 0, 0, 0, 0, 0, 0 } }, { RPM_METHOD_MESSAGE, { 1, 1, 1, 1, 1, 0 } },
    { RPM_METHOD_IMMEDIATE, { 1, 1, 1, 1, 1, 0 } },  { RPM_METHOD_COPY, { 1, 1, 1, 1, 1, 0 } },
    { RPM_METHOD_FLUSH, { 1, 1, 1, 1, 0, 0 } },      { RPM_METHOD_STORE, { 1, 1, 1, 1, 0, 0 } },
    { RPM_METHOD_ORDER, { 1, 1, 1, 1, 1, 0 } },      { RPM_METHOD_CARRY, { 1, 1, 1, 1, 1, 0 } },
};

rpm_facts platform(int column)
{
    static const rpm_domain domains[] = { RPM_DOMAIN_ADR,  RPM_DOMAIN_ADR,   RPM_DOMAIN_ADR,
                                          RPM_DOMAIN_EADR, RPM_DOMAIN_MSYNC, RPM_DOMAIN_NONE };
    static const rpm_answer ddio[] = { RPM_YES, RPM_UNKNOWN, RPM_NO, RPM_YES, RPM_NO, RPM_NO };
    rpm_facts facts = facts_of(domains[column], ddio[column], EVERY_METHOD);

    facts.native_flush = RPM_YES;
    return facts;
}

bool proves_placement(rpm_method method)
{
    return method != RPM_METHOD_WRITE && method != RPM_METHOD_READ_OTHER;
}

} // namespace

TEST_CASE("legal: every cell of the matrix for durable is as the design says", "[unit]")
{
    REQUIRE(std::size(ROWS) == RPM_METHOD_COUNT - 1);
    for (const Row &row : ROWS)
        for (int column = 0; column < 6; column++) {
            rpm_facts facts = platform(column);
            const char *reason = nullptr;

            CAPTURE(rpm_method_name(row.method), column);
            CHECK(rpm_legal(&facts, row.method, RPM_DURABLE, &reason) == row.durable[column]);
            REQUIRE(reason != nullptr);
            CHECK(std::string(reason).size() > 20);
            // An option left at its default means durable.
            CHECK(rpm_legal(&facts, row.method, RPM_LEVEL_DEFAULT, nullptr) == row.durable[column]);
        }
}

TEST_CASE("legal: visible needs an answer that implies placement, on any platform", "[unit]")
{
    for (const Row &row : ROWS)
        for (int column = 0; column < 6; column++) {
            rpm_facts facts = platform(column);

            CAPTURE(rpm_method_name(row.method), column);
            CHECK(rpm_legal(&facts, row.method, RPM_VISIBLE, nullptr) ==
                  proves_placement(row.method));
            CHECK(rpm_legal(&facts, row.method, RPM_POSTED, nullptr) == 1);
        }
}

TEST_CASE("legal: process needs memory that outlives the server", "[unit]")
{
    static const int outlives[] = { 0, 0, 0, 1, 1, 1, 1 };

    for (uint32_t medium = RPM_MEDIUM_UNKNOWN; medium <= RPM_MEDIUM_DEVDAX; medium++) {
        rpm_facts facts = platform(5);

        facts.medium = medium;
        CAPTURE(medium);
        CHECK(rpm_legal(&facts, RPM_METHOD_READ, RPM_PROCESS, nullptr) == outlives[medium]);
        CHECK(rpm_legal(&facts, RPM_METHOD_WRITE, RPM_PROCESS, nullptr) == 0);
    }
}

TEST_CASE("legal: anonymous memory is durable only if the operator declared it", "[unit]")
{
    rpm_facts facts = platform(3);
    const char *reason = nullptr;

    facts.medium = GENERATE(RPM_MEDIUM_DRAM, RPM_MEDIUM_HUGE);
    CHECK(rpm_legal(&facts, RPM_METHOD_READ, RPM_DURABLE, &reason) == 0);
    CHECK(std::string(reason).find("lost when the server process ends") != std::string::npos);

    facts.domain_declared = 1;
    CHECK(rpm_legal(&facts, RPM_METHOD_READ, RPM_DURABLE, &reason) == 1);
    CHECK(std::string(reason).find("operator declared") != std::string::npos);
    CHECK(rpm_legal(&facts, RPM_METHOD_READ, RPM_PROCESS, nullptr) == 1);

    facts.domain = RPM_DOMAIN_NONE; // declared as not durable
    CHECK(rpm_legal(&facts, RPM_METHOD_READ, RPM_PROCESS, nullptr) == 0);
}

TEST_CASE("legal: a native flush must be reported for the region", "[unit]")
{
    rpm_facts facts = platform(GENERATE(0, 2, 3));

    CHECK(rpm_legal(&facts, RPM_METHOD_FLUSH, RPM_DURABLE, nullptr) == 1);
    facts.native_flush = GENERATE(RPM_NO, RPM_UNKNOWN);
    CHECK(rpm_legal(&facts, RPM_METHOD_FLUSH, RPM_DURABLE, nullptr) == 0);
    CHECK(rpm_legal(&facts, RPM_METHOD_FLUSH, RPM_VISIBLE, nullptr) == 0);
}

TEST_CASE("legal: levels nest on every combination of facts", "[unit]")
{
    for (uint32_t domain = 0; domain <= 4; domain++)
        for (uint32_t medium = 0; medium <= 7; medium++)
            for (uint32_t other = 0; other < 18; other++) {
                rpm_facts facts = rpm_facts_init();

                facts.domain = domain;
                facts.medium = medium;
                facts.ddio = other % 3;
                facts.native_flush = other / 3 % 3;
                facts.domain_declared = other / 9;
                for (int m = RPM_METHOD_WRITE; m < RPM_METHOD_COUNT; m++)
                    for (int level = RPM_VISIBLE; level <= RPM_DURABLE; level++) {
                        rpm_method method = static_cast<rpm_method>(m);

                        if (!rpm_legal(&facts, method, static_cast<rpm_level>(level), nullptr))
                            continue;
                        REQUIRE(
                            rpm_legal(&facts, method, static_cast<rpm_level>(level - 1), nullptr));
                    }
            }
}

TEST_CASE("legal: unknown methods and levels are not legal", "[unit]")
{
    rpm_facts facts = platform(3);

    CHECK(rpm_legal(&facts, RPM_METHOD_DEFAULT, RPM_POSTED, nullptr) == 0);
    CHECK(rpm_legal(&facts, RPM_METHOD_COUNT, RPM_POSTED, nullptr) == 0);
    CHECK(rpm_legal(&facts, RPM_METHOD_COPY, static_cast<rpm_level>(5), nullptr) == 0);
}

TEST_CASE("legal: an unknown domain is treated as no domain", "[unit]")
{
    rpm_facts facts = platform(3);

    facts.domain = 17;
    CHECK(rpmi_platform_of(&facts) == RPMI_PLATFORM_NONE);
}

TEST_CASE("legal: a domain that the medium cannot have proves nothing", "[unit]")
{
    for (rpm_domain domain : { RPM_DOMAIN_ADR, RPM_DOMAIN_EADR })
        for (uint32_t declared : { 0, 1 })
            for (int m = RPM_METHOD_WRITE; m < RPM_METHOD_COUNT; m++) {
                rpm_facts facts = rpm_facts_init();
                rpm_method method = static_cast<rpm_method>(m);
                const char *reason = nullptr;

                facts.medium = RPM_MEDIUM_FILE;
                facts.domain = domain;
                facts.domain_declared = declared;
                facts.ddio = RPM_NO;
                facts.native_flush = RPM_YES;
                CHECK(rpmi_platform_of(&facts) == RPMI_PLATFORM_NONE);
                CHECK(rpm_legal(&facts, method, RPM_DURABLE, &reason) == 0);
                CHECK(std::string(reason).find("page cache") != std::string::npos);
                facts.medium = RPM_MEDIUM_TMPFS;
                CHECK((rpmi_platform_of(&facts) == RPMI_PLATFORM_NONE) == (declared == 0));
                if (declared == 0)
                    CHECK(rpm_legal(&facts, method, RPM_DURABLE, nullptr) == 0);
            }
}
