// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "support/dir.h"

extern "C" {
#include "base/err.h"
#include "transport/verbs/device.h"
}
#include <fstream>
#include <iterator>

TEST_CASE("trial: it maps a part, checks the whole size, and changes nothing", "[verbs]")
{
    support::Dir dir;
    std::string content(5 << 20, 'x');
    std::string found;
    rpmi_trial trial;

    std::ofstream(dir / "pool") << content;
    REQUIRE(rpmi_trial_open((dir / "pool").c_str(), &trial) == 0);
    CHECK(trial.medium == RPM_MEDIUM_TMPFS);
    CHECK(trial.bytes == 2 << 20);
    CHECK(trial.whole == 5 << 20);
    CHECK(*static_cast<char *>(trial.base) == 'x');
    rpmi_trial_close(&trial);
    std::ifstream file(dir / "pool");
    found.assign(std::istreambuf_iterator<char>(file), {});
    CHECK(found == content);

    REQUIRE(rpmi_trial_open((dir / ".").c_str(), &trial) == 0);
    CHECK(trial.medium == RPM_MEDIUM_TMPFS);
    CHECK(trial.whole == 2 << 20);
    rpmi_trial_close(&trial);
    REQUIRE(rpmi_trial_open(nullptr, &trial) == 0);
    CHECK(trial.medium == RPM_MEDIUM_DRAM);
    rpmi_trial_close(&trial);
}

TEST_CASE("trial: memory that cannot be registered is refused with the reason", "[verbs]")
{
    support::Dir dir;
    rpmi_trial trial;

    std::ofstream(dir / "empty") << "";
    CHECK(rpmi_trial_open((dir / "nothing").c_str(), &trial) == RPM_E_NOENT);
    rpmi_trial_close(&trial);
    CHECK(rpmi_trial_open((dir / "empty").c_str(), &trial) == RPM_E_INVAL);
    CHECK(std::string(rpm_last_error()).find("name its directory") != std::string::npos);
    rpmi_trial_close(&trial);
    CHECK(rpmi_trial_open("/dev/null", &trial) == RPM_E_INVAL);
    rpmi_trial_close(&trial);
}
