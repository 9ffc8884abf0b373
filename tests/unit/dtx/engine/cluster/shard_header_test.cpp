// SPDX-License-Identifier: BSD-3-Clause
#include "engine/cluster/server_connection.h"
#include "engine/cluster/shard_header.h"
#include "unit/dtx/engine/database.h"
#include <dtx/error.h>

using dtx::RawConnection;
using dtx::ShardHeader;

namespace
{

Tables with_comment(const std::string &comment)
{
    Tables tables;

    tables.schema.set_comment(comment);
    return tables;
}

// Writes @bytes to the first page of shard 0.
void scribble(const dtx::Cluster &cluster, uint64_t offset, const std::string &bytes)
{
    RawConnection connection(cluster, 0);
    rpm_region_opts opts = rpm_region_opts_init();
    rpm_region *region = nullptr;

    opts.level = RPM_VISIBLE;
    REQUIRE(rpm_region_open(connection.get(), "dtx/test/shard0", &opts, &region) == 0);
    REQUIRE(rpm_region_write(region, offset, bytes.data(), bytes.size()) == 0);
    rpm_region_close(&region);
}

// The code of the Error that reading the header of shard 0 throws; 0: none.
int code_of_reading(const dtx::Cluster &cluster)
{
    try {
        RawConnection connection(cluster, 0);

        (void)dtx::read_shard_header(connection.get(), "test", cluster, { 0, 0 });
    } catch (const dtx::Error &error) {
        return error.code();
    }
    return 0;
}

} // namespace

TEST_CASE("shard header: the header has what a program needs to open the database")
{
    Database db(3, replicated(2), with_comment("rows=17"));
    RawConnection connection(*db.cluster, 1);
    ShardHeader header = dtx::read_shard_header(connection.get(), "test", *db.cluster, { 0, 1 });
    auto there = dtx::shards_on(connection.get());

    CHECK(header.schema_version == 1);
    CHECK(header.shards == 3);
    CHECK(header.shard == 0);
    CHECK(header.replicas == 2);
    CHECK(header.comment == "rows=17");
    CHECK(there == decltype(there){ { "test", { 0, 1 } } });
}

TEST_CASE("shard header: a comment may be empty, and one that is too long is refused")
{
    Database db(1, {}, with_comment(""));
    RawConnection connection(*db.cluster, 0);

    CHECK(dtx::read_shard_header(connection.get(), "test", *db.cluster, { 0, 0 }).comment == "");
    CHECK_NOTHROW(with_comment(std::string(dtx::Schema::kCommentMax, 'x')));
    CHECK_THROWS_AS(with_comment(std::string(dtx::Schema::kCommentMax + 1, 'x')), dtx::Error);
}

TEST_CASE("shard header: damage to any part is refused")
{
    Database db(1, {}, with_comment("rows=17"));

    CHECK(code_of_reading(*db.cluster) == 0);
    scribble(*db.cluster, 4100, "X");
    CHECK(code_of_reading(*db.cluster) == RPM_E_CORRUPT);
    scribble(*db.cluster, 4100, "\n");
    CHECK(code_of_reading(*db.cluster) == 0);
    scribble(*db.cluster, 82, "X");
    CHECK(code_of_reading(*db.cluster) == RPM_E_CORRUPT);
    scribble(*db.cluster, 64, std::string(8, '\xff'));
    CHECK(code_of_reading(*db.cluster) == RPM_E_CORRUPT);
    scribble(*db.cluster, 64, std::string(64, '\0'));
    CHECK(code_of_reading(*db.cluster) == RPM_E_CORRUPT);
    scribble(*db.cluster, 24, "X");
    CHECK(code_of_reading(*db.cluster) == RPM_E_CORRUPT);
    scribble(*db.cluster, 0, "X");
    CHECK(code_of_reading(*db.cluster) == RPM_E_FOREIGN);
}
