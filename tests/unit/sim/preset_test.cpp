// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

TEST_CASE("preset: the four platforms are there, others are not", "[unit]")
{
    for (const char *name : { "adr", "adr-noddio", "eadr", "msync" }) {
        REQUIRE(rpmi_preset_find(name) != nullptr);
        REQUIRE(std::string(rpmi_preset_find(name)->name) == name);
    }
    REQUIRE(rpmi_preset_find("") == nullptr);
    REQUIRE(rpmi_preset_find("ADR") == nullptr);
}

TEST_CASE("preset: facts follow from the platform and are marked as modelled", "[unit]")
{
    rpm_facts facts;

    rpmi_preset_facts(rpmi_preset_find("adr"), false, &facts);
    REQUIRE(facts.modelled == 1);
    REQUIRE(facts.domain == RPM_DOMAIN_ADR);
    REQUIRE(facts.medium == RPM_MEDIUM_DEVDAX);
    REQUIRE(facts.ddio == RPM_YES);
    REQUIRE(facts.native_flush == RPM_NO);
    REQUIRE(facts.methods == 0x7e); // write..copy
    REQUIRE(facts.line_bytes == 256);

    rpmi_preset_facts(rpmi_preset_find("adr-noddio"), true, &facts);
    REQUIRE(facts.ddio == RPM_NO);
    REQUIRE(facts.native_flush == RPM_YES);
    REQUIRE(facts.methods == 0xfe);

    rpmi_preset_facts(rpmi_preset_find("eadr"), false, &facts);
    REQUIRE(facts.domain == RPM_DOMAIN_EADR);
    REQUIRE(facts.granularity_bytes == 1);

    rpmi_preset_facts(rpmi_preset_find("msync"), true, &facts);
    REQUIRE(facts.domain == RPM_DOMAIN_MSYNC);
    REQUIRE(facts.medium == RPM_MEDIUM_FILE);
    REQUIRE(facts.native_flush == RPM_NO); // the NIC has it, this region cannot use it
    REQUIRE(facts.granularity_bytes == 4096);
}

TEST_CASE("preset: where the persistence boundary lies", "[unit]")
{
    REQUIRE_FALSE(rpmi_preset_at_once(rpmi_preset_find("adr"), true));
    REQUIRE_FALSE(rpmi_preset_at_once(rpmi_preset_find("adr"), false));
    REQUIRE(rpmi_preset_at_once(rpmi_preset_find("adr-noddio"), true));
    REQUIRE_FALSE(rpmi_preset_at_once(rpmi_preset_find("adr-noddio"), false));
    REQUIRE(rpmi_preset_at_once(rpmi_preset_find("eadr"), true));
    REQUIRE(rpmi_preset_at_once(rpmi_preset_find("eadr"), false));
    REQUIRE_FALSE(rpmi_preset_at_once(rpmi_preset_find("msync"), true));
    REQUIRE_FALSE(rpmi_preset_at_once(rpmi_preset_find("msync"), false));
}
