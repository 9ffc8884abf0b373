// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "support/dir.h"

extern "C" {
#include "base/err.h"
#include "transport/verbs/device.h"
}
#include <fstream>
#include <iterator>

TEST_CASE("probe: it maps a part, checks the whole size, and changes nothing", "[verbs]")
{
    support::Dir dir;
    std::string content(5 << 20, 'x');
    std::string found;
    rpmi_mr_probe probe;

    std::ofstream(dir / "pool") << content;
    REQUIRE(rpmi_mr_probe_open((dir / "pool").c_str(), &probe) == 0);
    CHECK(probe.medium == RPM_MEDIUM_TMPFS);
    CHECK(probe.bytes == 2 << 20);
    CHECK(probe.whole == 5 << 20);
    CHECK(*static_cast<char *>(probe.base) == 'x');
    rpmi_mr_probe_close(&probe);
    std::ifstream file(dir / "pool");
    found.assign(std::istreambuf_iterator<char>(file), {});
    CHECK(found == content);

    REQUIRE(rpmi_mr_probe_open((dir / ".").c_str(), &probe) == 0);
    CHECK(probe.medium == RPM_MEDIUM_TMPFS);
    CHECK(probe.whole == 2 << 20);
    rpmi_mr_probe_close(&probe);
    REQUIRE(rpmi_mr_probe_open(nullptr, &probe) == 0);
    CHECK(probe.medium == RPM_MEDIUM_DRAM);
    rpmi_mr_probe_close(&probe);
}

TEST_CASE("probe: memory that cannot be registered is refused, with the reason", "[verbs]")
{
    support::Dir dir;
    rpmi_mr_probe probe;

    std::ofstream(dir / "empty") << "";
    CHECK(rpmi_mr_probe_open((dir / "nothing").c_str(), &probe) == RPM_E_NOENT);
    rpmi_mr_probe_close(&probe);
    CHECK(rpmi_mr_probe_open((dir / "empty").c_str(), &probe) == RPM_E_INVAL);
    CHECK(std::string(rpm_last_error()).find("name its directory") != std::string::npos);
    rpmi_mr_probe_close(&probe);
    CHECK(rpmi_mr_probe_open("/dev/null", &probe) == RPM_E_INVAL);
    rpmi_mr_probe_close(&probe);
}
