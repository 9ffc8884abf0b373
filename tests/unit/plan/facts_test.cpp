// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"

#include <librpm/facts.h>
#include <string>

static const char UNKNOWN[] = "medium: unknown\n"
                              "domain: none\n"
                              "ddio: unknown\n"
                              "native flush: unknown\n"
                              "atomic write: unknown\n"
                              "memory windows: unknown\n"
                              "store granularity: unknown\n"
                              "media line: unknown\n"
                              "methods: none\n"
                              "memory node: unknown\n"
                              "port node: unknown\n"
                              "source: the machine that holds the memory\n";

static const char KNOWN[] = "medium: devdax\n"
                            "domain: adr (declared)\n"
                            "ddio: off\n"
                            "native flush: yes\n"
                            "atomic write: no\n"
                            "memory windows: yes\n"
                            "store granularity: 64 bytes\n"
                            "media line: 256 bytes\n"
                            "methods: write, read, store\n"
                            "memory node: 1\n"
                            "port node: 0\n"
                            "pool starts: 7\n"
                            "source: device model (modelled, not measured)\n";

static rpm_facts known()
{
    rpm_facts facts = rpm_facts_init();

    facts.medium = RPM_MEDIUM_DEVDAX;
    facts.domain = RPM_DOMAIN_ADR;
    facts.domain_declared = 1;
    facts.ddio = RPM_NO;
    facts.native_flush = RPM_YES;
    facts.atomic_write = RPM_NO;
    facts.memory_window = RPM_YES;
    facts.granularity_bytes = 64;
    facts.line_bytes = 256;
    facts.methods = 1 << RPM_METHOD_WRITE | 1 << RPM_METHOD_READ | 1 << RPM_METHOD_STORE;
    facts.memory_node = 1;
    facts.port_node = 0;
    facts.modelled = 1;
    facts.pool_starts = 7;
    return facts;
}

TEST_CASE("facts: text says what is unknown, declared and modelled", "[unit]")
{
    rpm_facts facts = rpm_facts_init();
    char text[1024];

    CHECK(rpm_facts_text(&facts, text, sizeof(text)) == sizeof(UNKNOWN) - 1);
    CHECK(std::string(text) == UNKNOWN);
    facts = known();
    CHECK(rpm_facts_text(&facts, text, sizeof(text)) == sizeof(KNOWN) - 1);
    CHECK(std::string(text) == KNOWN);
}

TEST_CASE("facts: text is truncated to any buffer, and the full length is returned", "[unit]")
{
    rpm_facts facts = known();

    CHECK(rpm_facts_text(&facts, nullptr, 0) == sizeof(KNOWN) - 1);
    for (size_t room = 1; room <= sizeof(KNOWN); room++) {
        std::string text(room + 1, '#');

        REQUIRE(rpm_facts_text(&facts, text.data(), room) == sizeof(KNOWN) - 1);
        REQUIRE(std::string(text.c_str()) == std::string(KNOWN).substr(0, room - 1));
        REQUIRE(text[room] == '#');
    }
}

TEST_CASE("facts: a struct without its size is refused", "[unit]")
{
    rpm_facts facts = known();
    char text[8];

    facts.size = 0;
    CHECK(rpm_facts_text(&facts, text, sizeof(text)) == RPM_E_INVAL);
}
