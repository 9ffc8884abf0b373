// SPDX-License-Identifier: BSD-3-Clause
// Volumes are made, opened, and refused.
#include "core/client/volume.h"

#include "unit/fs/volume.h"
#include <dtx/error.h>
#include <dtx/session.h>

namespace
{

// What opening a volume fails with; code 0: it does not.
struct Refusal {
    int code;
    std::string text;
};

Refusal refusal_of(const std::string &name, const dtx::Options &options)
{
    try {
        (void)rfs::open_volume(name, options);
    } catch (const dtx::Error &error) {
        UNSCOPED_INFO(error.what());
        return { error.code(), error.what() };
    }
    return { 0, "" };
}

int code_of_opening(const std::string &name, const dtx::Options &options)
{
    return refusal_of(name, options).code;
}

// Makes a database with one table.
void make_database(const std::string &name, uint32_t version, const std::string &comment,
                   const dtx::Options &options)
{
    dtx::Schema schema(name, version);

    (void)schema.hash_table<uint64_t>("t", 10, [](uint64_t) { return 0u; });
    schema.set_comment(comment);
    dtx::Cluster(schema, options).create();
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
    rfs::Tables tables("empty", { 60, 1 });

    make_database("plain", 1, "", volume.options);
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

TEST_CASE("fs: a volume of another version is refused with both versions and what to do", "[unit]")
{
    TestVolume volume;

    make_database("later", rfs::kFormatVersion + 1, "rpmfs inodes=60 slabs=1 more=1",
                  volume.options);
    make_database("other", rfs::kFormatVersion + 1, "rows=60", volume.options);

    Refusal later = refusal_of("later", volume.options);
    Refusal other = refusal_of("other", volume.options);

    CHECK(later.code == RPM_E_VERSION);
    CHECK(later.text == "the volume 'later' has format 2, expected 1: use the version of rpm-fs "
                        "that made it, or copy its files with that one into a volume that this "
                        "one makes");
    CHECK(other.code == RPM_E_FOREIGN);
    CHECK(other.text == "the database 'other' is not a volume: its comment is \"rows=60\", "
                        "expected \"rpmfs inodes=NUMBER slabs=NUMBER\"; name another one, or make "
                        "a volume with rpm-fs mkfs");
}

TEST_CASE("fs: a volume of another block size is refused", "[unit]")
{
    TestVolume volume;

    volume.as_root([](rfs::Call &call) -> dtx::Task<> {
        auto row = co_await call.txn.read(call.tables().volume, 0);

        row->block_bytes = 8192;
        (void)co_await call.txn.write(call.tables().volume, 0, *row);
    });

    Refusal refusal = refusal_of("home", volume.options);

    CHECK(refusal.code == RPM_E_VERSION);
    CHECK(refusal.text == "the volume 'home' has blocks of 8192 bytes, expected 4096: use the "
                          "version of rpm-fs that made it");
}
