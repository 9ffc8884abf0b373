// SPDX-License-Identifier: BSD-3-Clause
// Volumes are made, opened, and refused.
#include "core/client/volume.h"

#include "unit/fs/volume.h"
#include <dtx/error.h>
#include <dtx/session.h>

namespace
{

int code_of_opening(const std::string &name, const dtx::Options &options)
{
    try {
        (void)rfs::open_volume(name, options);
    } catch (const dtx::Error &error) {
        UNSCOPED_INFO(error.what());
        return error.code();
    }
    return 0;
}

} // namespace

TEST_CASE("fs: a volume is opened with the copies and sizes that it was made with", "[unit]")
{
    TestVolume volume(3, 2);
    dtx::Options options = volume.options;

    options.replicas = 1;

    rfs::OpenVolume open = rfs::open_volume("home", options);

    CHECK(open.cluster->options().replicas == 2);
    CHECK(open.volume.shards == 3);
    CHECK(open.volume.tables.sizes.inodes == 400);
    CHECK(open.volume.name_seed == volume.open->volume.name_seed);
    CHECK(open.volume.name_seed != 0);
}

TEST_CASE("fs: what is no volume, or not this one, is refused", "[unit]")
{
    TestVolume volume(2);
    dtx::Options fewer = volume.options;
    dtx::Schema schema("plain", 1);
    rfs::Tables tables("empty", { 60, 1 });

    (void)schema.hash_table<uint64_t>("t", 10, [](uint64_t) { return 0u; });
    dtx::Cluster(schema, volume.options).create();
    dtx::Cluster(tables.schema, volume.options).create();
    fewer.urls.pop_back();
    CHECK(code_of_opening("away", volume.options) == RPM_E_NOENT);
    CHECK(code_of_opening("plain", volume.options) == RPM_E_FOREIGN);
    CHECK(code_of_opening("empty", volume.options) == RPM_E_CORRUPT); // mkfs was interrupted
    CHECK(code_of_opening("home", fewer) == RPM_E_INVAL);
    CHECK(code_of_opening("home", volume.options) == 0);
    CHECK_THROWS_AS(rfs::make_volume({ "home", { 60, 1 } }, volume.options), dtx::Error);
    CHECK(code_of_opening("home", volume.options) == 0); // it is as it was
}
