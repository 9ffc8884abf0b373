// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"

#include <librpm/version.h>
#include <string>

TEST_CASE("version: the running library says what it was compiled as", "[unit]")
{
    REQUIRE(std::string(rpm_version()) == std::to_string(LIBRPM_VERSION_MAJOR) + "." +
                                              std::to_string(LIBRPM_VERSION_MINOR) + "." +
                                              std::to_string(LIBRPM_VERSION_PATCH));
}
