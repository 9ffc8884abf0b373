// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

static rpm_facts facts_of(const char *spec, bool native_flush)
{
    rpmi_preset preset = preset_of(spec);
    rpm_facts facts;

    rpmi_preset_facts(&preset, native_flush, &facts);
    return facts;
}

static bool at_once(const char *spec, bool by_nic)
{
    rpmi_preset preset = preset_of(spec);

    return rpmi_preset_at_once(&preset, by_nic);
}

TEST_CASE("preset: the four platforms are there, others are not", "[unit]")
{
    rpmi_preset preset;

    for (const char *name : { "adr", "adr-noddio", "eadr", "msync" })
        REQUIRE(std::string(preset_of(name).name) == name);
    REQUIRE(rpmi_preset_read("", &preset) == RPM_E_INVAL);
    REQUIRE(rpmi_preset_read("ADR", &preset) == RPM_E_INVAL);
}

TEST_CASE("preset: facts follow from the platform and are marked as modelled", "[unit]")
{
    rpm_facts facts;

    facts = facts_of("adr", false);
    REQUIRE(facts.modelled == 1);
    REQUIRE(facts.domain == RPM_DOMAIN_ADR);
    REQUIRE(facts.medium == RPM_MEDIUM_DEVDAX);
    REQUIRE(facts.ddio == RPM_YES);
    REQUIRE(facts.native_flush == RPM_NO);
    REQUIRE(facts.methods == 0x7e); // write..copy
    REQUIRE(facts.line_bytes == 256);

    facts = facts_of("adr-noddio", true);
    REQUIRE(facts.ddio == RPM_NO);
    REQUIRE(facts.native_flush == RPM_YES);
    REQUIRE(facts.methods == 0xfe);

    facts = facts_of("eadr", false);
    REQUIRE(facts.domain == RPM_DOMAIN_EADR);
    REQUIRE(facts.granularity_bytes == 1);

    facts = facts_of("msync", true);
    REQUIRE(facts.domain == RPM_DOMAIN_MSYNC);
    REQUIRE(facts.medium == RPM_MEDIUM_FILE);
    REQUIRE(facts.native_flush == RPM_NO); // the NIC has it, this region cannot use it
    REQUIRE(facts.granularity_bytes == 4096);
}

TEST_CASE("preset: where the persistence boundary lies", "[unit]")
{
    REQUIRE_FALSE(at_once("adr", true));
    REQUIRE_FALSE(at_once("adr", false));
    REQUIRE(at_once("adr-noddio", true));
    REQUIRE_FALSE(at_once("adr-noddio", false));
    REQUIRE(at_once("eadr", true));
    REQUIRE(at_once("eadr", false));
    REQUIRE_FALSE(at_once("msync", true));
    REQUIRE_FALSE(at_once("msync", false));
}
