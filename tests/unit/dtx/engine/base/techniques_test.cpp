// SPDX-License-Identifier: BSD-3-Clause
#include <dtx/techniques.h>

#include "unit/dtx/engine/database.h"
#include <dtx/error.h>

using dtx::Techniques;

TEST_CASE("dtx: techniques are parsed from their names", "[unit]")
{
    CHECK(Techniques::parse("all") == Techniques{});
    CHECK(Techniques::parse("none") == Techniques{ false, false, false, false });
    CHECK(Techniques::parse("backoff,guesses") == Techniques{ false, true, false, true });
    CHECK(Techniques::parse("throttle,depth") == Techniques{ true, false, true, false });
    CHECK(Techniques::parse("-depth") == Techniques{ true, true, false, true });
    CHECK(Techniques::parse("-throttle,-backoff,-depth,-guesses") == Techniques::parse("none"));
    for (const char *wrong : { "", ",", "-", "depths", "-depth,backoff", "backoff,-depth", "DEPTH",
                               "all,backoff", "-all", ",depth" }) {
        CAPTURE(wrong);
        CHECK_THROWS_AS(Techniques::parse(wrong), dtx::Error);
    }
}
