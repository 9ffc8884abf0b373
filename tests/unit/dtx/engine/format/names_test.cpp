// SPDX-License-Identifier: BSD-3-Clause
#include "engine/format/names.h"

#include "support/catch.h"

TEST_CASE("dtx: the regions and logs of a database have the names of FORMAT.md", "[unit]")
{
    CHECK(dtx::shard_name("bank", 12) == "dtx/bank/shard12");
    CHECK(dtx::locks_name("bank", 12) == "dtx/bank/locks12");
    CHECK(dtx::log_name("bank", 99) == "dtx/bank/log99");
    CHECK(dtx::log_name("bank", dtx::kRecoverer) == "dtx/bank/log-recovery");
}

TEST_CASE("dtx: the name of a shard is split, and any other name is refused", "[unit]")
{
    std::string database;
    uint32_t shard = 0;

    REQUIRE(dtx::split_shard_name("dtx/bank/shard255", database, shard));
    CHECK(database == "bank");
    CHECK(shard == 255);
    for (const char *name : { "", "bank/shard1", "dtx/bank/locks1", "dtx/bank/log1",
                              "dtx/bank/shard", "dtx/bank/shard256", "dtx/bank/shard1000",
                              "dtx/bank/shard1x", "dtx/bank/shard-1", "dtx/shard1" }) {
        CAPTURE(name);
        CHECK_FALSE(dtx::split_shard_name(name, database, shard));
    }
}

TEST_CASE("dtx: the number is read from the name of a coordinator's log, and any other is refused",
          "[unit]")
{
    CHECK(dtx::coordinator_in("dtx/bank/log0", "bank") == 0);
    CHECK(dtx::coordinator_in("dtx/bank/log999", "bank") == 999);
    for (const char *name :
         { "", "log1", "dtx/bank/log", "dtx/bank/log-recovery", "dtx/bank/log1000",
           "dtx/bank/log1x", "dtx/bank/locks1", "dtx/banks/log1" }) {
        CAPTURE(name);
        CHECK_FALSE(dtx::coordinator_in(name, "bank").has_value());
    }
}
