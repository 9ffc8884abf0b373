// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "support/dir.h"

extern "C" {
#include "pmem/probe.h"
}
#include <fstream>

TEST_CASE("probe: memory, a file in memory and a directory", "[unit]")
{
    support::Dir dir;
    rpm_facts facts = rpm_facts_init();

    REQUIRE(rpm_probe(nullptr, &facts) == 0);
    CHECK(facts.medium == RPM_MEDIUM_DRAM);
    CHECK(facts.domain == RPM_DOMAIN_NONE);
    std::ofstream(dir / "f") << std::string(8192, 'x');
    REQUIRE(rpm_probe((dir / "f").c_str(), &facts) == 0);
    CHECK(facts.medium == RPM_MEDIUM_TMPFS);
    CHECK(facts.granularity_bytes == 4096);
    REQUIRE(rpm_probe((dir / ".").c_str(), &facts) == 0);
    CHECK(facts.medium == RPM_MEDIUM_TMPFS);
    CHECK(facts.granularity_bytes == 0);
}

TEST_CASE("probe: a file on a disk needs msync", "[unit]")
{
    support::Dir dir(support::Dir::kDisk);
    rpm_facts facts = rpm_facts_init();

    std::ofstream(dir / "f") << std::string(8192, 'x');
    REQUIRE(rpm_probe((dir / "f").c_str(), &facts) == 0);
    if (facts.medium == RPM_MEDIUM_TMPFS)
        SKIP("/var/tmp lies in memory here");
    CHECK(facts.domain == RPM_DOMAIN_MSYNC);
    CHECK(facts.domain_declared == 0);
}

TEST_CASE("probe: a missing path, or facts without a size, is refused", "[unit]")
{
    rpm_facts facts = rpm_facts_init();

    CHECK(rpm_probe("/dev/shm/no/such/file", &facts) == RPM_E_NOENT);
    facts.size = 0;
    CHECK(rpm_probe(nullptr, &facts) == RPM_E_INVAL);
    CHECK(rpm_probe(nullptr, nullptr) == RPM_E_INVAL);
}

TEST_CASE("probe: the domain follows medium and granularity", "[unit]")
{
    CHECK(rpmi_probe_domain(RPM_MEDIUM_DEVDAX, 64) == RPM_DOMAIN_ADR);
    CHECK(rpmi_probe_domain(RPM_MEDIUM_DEVDAX, 1) == RPM_DOMAIN_EADR);
    CHECK(rpmi_probe_domain(RPM_MEDIUM_FSDAX, 64) == RPM_DOMAIN_ADR);
    CHECK(rpmi_probe_domain(RPM_MEDIUM_FILE, 1) == RPM_DOMAIN_MSYNC);
    CHECK(rpmi_probe_domain(RPM_MEDIUM_TMPFS, 64) == RPM_DOMAIN_NONE);
    CHECK(rpmi_probe_domain(RPM_MEDIUM_UNKNOWN, 1) == RPM_DOMAIN_NONE);
}

TEST_CASE("probe: forcing libpmem2's granularity does not make a disk file durable by flushes",
          "[unit]")
{
    support::Dir dir(support::Dir::kDisk);
    rpm_facts facts = rpm_facts_init();

    std::ofstream(dir / "f") << std::string(8192, 'x');
    setenv("PMEM2_FORCE_GRANULARITY", "CACHE_LINE", 1);
    REQUIRE(rpm_probe((dir / "f").c_str(), &facts) == 0);
    unsetenv("PMEM2_FORCE_GRANULARITY");
    CHECK((facts.medium == RPM_MEDIUM_FILE || facts.medium == RPM_MEDIUM_TMPFS));
    CHECK((facts.domain == RPM_DOMAIN_MSYNC || facts.domain == RPM_DOMAIN_NONE));
}
