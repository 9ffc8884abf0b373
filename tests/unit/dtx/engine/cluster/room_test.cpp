// SPDX-License-Identifier: BSD-3-Clause
// Before a database is removed for a new one, its servers tell whether that will have room.
#include <dtx/stored.h>

#include "unit/dtx/engine/database.h"

#include <string>

namespace
{

// A server with the database "test", and one of that name with other rows.
struct World {
    explicit World(uint64_t dram_bytes)
    {
        opts.anonymous = true;
        opts.bytes = 8 << 20;
        opts.dram_bytes = dram_bytes;
        server = std::make_unique<support::Server>(opts);
        options.urls = { server->url() };
        options.log_bytes = 256 << 10;
    }

    dtx::Cluster cluster(uint64_t rows) const
    {
        return dtx::Cluster(Tables(rows).schema, options);
    }

    support::ServerOpts opts;
    std::unique_ptr<support::Server> server;
    dtx::Options options;
};

// How many rows a database has room for on an empty server: the most that create() accepts.
uint64_t most_rows(const World &world)
{
    uint64_t fits = 1;
    uint64_t too_many = 1 << 20;

    while (too_many - fits > 1) {
        uint64_t rows = (fits + too_many) / 2;

        if (code_of([&] { world.cluster(rows).create(); }) == 0) {
            world.cluster(rows).remove();
            fits = rows;
        } else {
            too_many = rows;
        }
    }
    return fits;
}

} // namespace

TEST_CASE("room: what a database takes now is room for the one in its place", "[unit]")
{
    bool dram = GENERATE(false, true); // the server lacks room in DRAM, or in its pool
    World world(dram ? 64 << 10 : 4 << 20);
    uint64_t most = most_rows(world);
    uint64_t rows = most * 3 / 4;
    dtx::Cluster old = world.cluster(rows);

    old.create();
    CHECK(code_of([&] { dtx::expect_room(old); }) == 0);
    CHECK(code_of([&] { dtx::expect_room(world.cluster(rows / 2)); }) == 0);
    CHECK(code_of([&] { dtx::expect_room(world.cluster(most + most / 8)); }) == RPM_E_NOSPACE);
    CHECK(code_of([&] { old.verify(); }) == 0);
    old.remove();
    CHECK(code_of([&] { dtx::expect_room(old); }) == 0);
    CHECK(code_of([&] { dtx::expect_room(world.cluster(most + most / 8)); }) == RPM_E_NOSPACE);
}

TEST_CASE("room: what a database of another name takes is no room", "[unit]")
{
    World world(4 << 20);
    uint64_t rows = most_rows(world) * 3 / 4;
    dtx::Schema schema("tests", 1); // begins with the other one's name

    (void)schema.hash_table<Account>("accounts", rows, partition_of);
    (void)schema.ordered_table<Account>("sorted", rows, partition_of);
    dtx::Cluster(schema, world.options).create();
    CHECK(code_of([&] { dtx::expect_room(world.cluster(rows)); }) == RPM_E_NOSPACE);
}
