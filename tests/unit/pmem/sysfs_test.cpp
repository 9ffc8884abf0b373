// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "support/dir.h"

extern "C" {
#include "pmem/sysfs.h"
}
#include <fstream>

TEST_CASE("sysfs: a line ends at its newline, and is cut where the caller's room ends", "[unit]")
{
    support::Dir dir;
    char line[8] = "unset";

    CHECK(rpmi_sysfs_line((dir / "none").c_str(), line, sizeof(line)) == -1);
    CHECK(rpmi_sysfs_line((dir / ".").c_str(), line, sizeof(line)) == -1);
    CHECK(std::string(line) == "unset");
    std::ofstream(dir / "empty");
    CHECK(rpmi_sysfs_line((dir / "empty").c_str(), line, sizeof(line)) == 0);
    CHECK(std::string(line).empty());
    std::ofstream(dir / "two") << "259:3\nmore\n";
    CHECK(rpmi_sysfs_line((dir / "two").c_str(), line, sizeof(line)) == 5);
    CHECK(std::string(line) == "259:3");
    std::ofstream(dir / "long") << "0123456789\n";
    CHECK(rpmi_sysfs_line((dir / "long").c_str(), line, sizeof(line)) == 7);
    CHECK(std::string(line) == "0123456");
}
