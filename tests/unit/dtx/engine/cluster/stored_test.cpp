// SPDX-License-Identifier: BSD-3-Clause
// What servers hold of a database is read without its schema.
#include <dtx/stored.h>

#include "unit/dtx/engine/database.h"

namespace
{

dtx::StoredDatabase stored_at(const Database &db, std::vector<std::string> urls)
{
    dtx::Options options = db.cluster->options();

    options.urls = std::move(urls);
    return dtx::stored_database("test", options);
}

} // namespace

TEST_CASE("stored: each server tells what the database is", "[unit]")
{
    std::string mode = GENERATE("", "tcp");
    Tables tables;

    tables.schema.set_comment("size=5");

    Database db(3, replicated(2), tables, mode);

    for (const std::string &url : db.cluster->options().urls) {
        dtx::StoredDatabase found = stored_at(db, { url });

        CHECK(found.schema_version == 1);
        CHECK(found.servers == 3);
        CHECK(found.replicas == 2);
        CHECK(found.durable);
        CHECK(found.comment == "size=5");
    }
}

TEST_CASE("stored: servers without the database, and servers that do not answer", "[unit]")
{
    Database db(1);
    support::ServerOpts opts;

    opts.anonymous = true;
    opts.bytes = 4 << 20;

    support::Server empty(opts);
    std::string full = db.cluster->options().urls[0];
    std::string away = "shm:/tmp/librpm-no-such-server";

    CHECK(stored_at(db, { empty.url(), full }).servers == 1);
    CHECK(stored_at(db, { away, full }).servers == 1);
    CHECK(code_of([&] { (void)stored_at(db, { empty.url() }); }) == RPM_E_NOENT);
    CHECK(code_of([&] { (void)stored_at(db, { away, empty.url() }); }) == RPM_E_REFUSED);
    CHECK(code_of([&] { (void)stored_at(db, { away }); }) == RPM_E_REFUSED);
}
