// SPDX-License-Identifier: BSD-3-Clause
#include <dtx/phases.h>

#include "unit/dtx/engine/database.h"
#include <dtx/error.h>

using dtx::Phases;
using dtx::Via;

TEST_CASE("dtx: phases are parsed from their names", "[unit]")
{
    Phases none{ Via::one_sided, Via::one_sided, Via::one_sided, Via::one_sided, Via::one_sided };
    Phases some = none;
    Phases all{ Via::call, Via::call, Via::call, Via::call, Via::call };

    some.lock = Via::call;
    some.commit = Via::call;
    CHECK(Phases::parse("fewest") == Phases{});
    CHECK(Phases::parse("one-sided") == none);
    CHECK(Phases::parse("") == none);
    CHECK(Phases::parse("call") == all);
    CHECK(Phases::parse("hybrid") == some);
    CHECK(Phases::parse("commit,lock") == some);
    CHECK(Phases::parse("execute,lock,validate,log,commit") == all);
    for (const char *wrong : { "locks", ",", ",lock", "lock hybrid", "call,lock", "LOCK" }) {
        CAPTURE(wrong);
        CHECK_THROWS_AS(Phases::parse(wrong), dtx::Error);
    }
}
