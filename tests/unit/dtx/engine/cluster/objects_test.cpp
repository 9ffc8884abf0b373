// SPDX-License-Identifier: BSD-3-Clause
#include "engine/cluster/objects.h"

#include "engine/cluster/server_connection.h"
#include "unit/dtx/engine/database.h"

#include <string>

TEST_CASE("dtx: the objects of one database are listed, and of no other", "[unit]")
{
    Database db;
    dtx::RawConnection connection(*db.cluster, 0);
    auto names = [&](const std::string &prefix) {
        std::string all;

        for (const rpm_entry &entry : dtx::objects_under(connection.get(), prefix))
            all += entry.name + std::string(" ");
        return all;
    };

    for (const char *name : { "dtx/tes/a", "dtx/test", "dtx/testing/a", "z" }) {
        rpm_region_opts opts = rpm_region_opts_init();
        rpm_region *region = nullptr;

        opts.flags = RPM_REGION_CREATE;
        opts.bytes = 64;
        REQUIRE(rpm_region_open(connection.get(), name, &opts, &region) == 0);
        rpm_region_close(&region);
    }
    CHECK(names("dtx/test/") == "dtx/test/locks0 dtx/test/shard0 ");
    CHECK(names("dtx/testing/") == "dtx/testing/a ");
    CHECK(names("dtx/none/").empty());
}
