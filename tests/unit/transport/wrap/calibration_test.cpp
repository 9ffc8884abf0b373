// SPDX-License-Identifier: BSD-3-Clause
// Files of estimates for a link with an agent.
#include "support/catch.h"
#include "support/dir.h"

extern "C" {
#include "transport/wrap/calibration.h"
#include <librpm.h>
}
#include <fstream>

namespace
{

struct File {
    support::Dir dir;
    std::string path = dir / "times";

    int read(const std::string &text, rpmi_calibration *calibration)
    {
        std::ofstream(path) << text;
        return rpmi_calibration_read(path.c_str(), calibration);
    }
    // What is said of a file that is refused: it gives no estimate.
    std::string refused(const std::string &text)
    {
        rpmi_calibration calibration;

        memset(&calibration, 1, sizeof(calibration));
        CHECK(read(text, &calibration) == RPM_E_INVAL);
        for (uint32_t i = 0; i < RPMI_SELECT_CLASSES; i++)
            CHECK((calibration.agent_ns[i] == 0 && calibration.server_ns[i] == 0));
        return rpm_last_error();
    }
};

const std::string FIRST = "rpm-calibration 1\n";

} // namespace

TEST_CASE("calibration: each line is an estimate for a size class", "[unit]")
{
    rpmi_calibration calibration;
    File file;

    REQUIRE(file.read(FIRST + "# 16 writers\n\n64 agent 23500\n64 server 31200\n"
                              "1000 server 10000000000\n2000000 agent 1\n",
                      &calibration) == 0);
    CHECK(calibration.agent_ns[0] == 23500);
    CHECK(calibration.server_ns[0] == 31200);
    CHECK(calibration.agent_ns[1] == 0);
    CHECK(calibration.server_ns[2] == 10000000000);
    CHECK(calibration.agent_ns[6] == 1);
}

TEST_CASE("calibration: an invalid line is refused, with file and line", "[unit]")
{
    File file;
    const std::string line = FIRST + "64 agent 100\n";

    CHECK(file.refused("") == file.path + " is empty");
    CHECK(file.refused("rpm-calibration 2\n") ==
          file.path + ": the first line is not \"rpm-calibration 1\"; make the file by "
                      "rpm-pathbench --calibrate");
    for (const char *wrong :
         { "64 agent\n", "agent 64 100\n", "64 agent 100 us\n", "64 agent x\n", "-64 agent 5\n" })
        CHECK(file.refused(line + wrong).find(file.path + ":3: expected is a line like") == 0);
    CHECK(file.refused(line + "64 agents 100\n").find(":3: \"agents\", expected is agent") > 0);
    CHECK(file.refused(line + "64 switch 100\n").find(":3: \"switch\", expected is agent") !=
          std::string::npos);
    CHECK(file.refused(line + "64 server 0\n").find(":3: 0 ns, expected are 1 to") !=
          std::string::npos);
    CHECK(file.refused(line + "64 server 10000000001\n").find("expected are 1 to 10000000000") !=
          std::string::npos);
    CHECK(file.refused(line + "64 server -1\n").find("expected are 1 to") != std::string::npos);
    CHECK(file.refused(line + "1 agent 100\n").find("has a time for the agent already") !=
          std::string::npos);
    CHECK(file.refused(line + "64 server 1").find(":3: a line without end") != std::string::npos);
    CHECK(file.refused(line + std::string(300, '#') + "\n").find(":3: a line without end, or of") !=
          std::string::npos);
}

TEST_CASE("calibration: a file that cannot be read is refused", "[unit]")
{
    rpmi_calibration calibration;
    File file;

    CHECK(rpmi_calibration_read(file.path.c_str(), &calibration) == RPM_E_NOENT);
    CHECK(rpmi_calibration_read((file.dir / "").c_str(), &calibration) == RPM_E_IO);
}
