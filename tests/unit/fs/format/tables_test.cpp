// SPDX-License-Identifier: BSD-3-Clause
// The schema of a volume, and its sizes as text.
#include "core/format/tables.h"

#include "support/catch.h"
#include <dtx/error.h>
#include <dtx/layout.h>

#include <string>

TEST_CASE("fs: sizes can be read back from the comment of the schema", "[unit]")
{
    rfs::Tables tables("home", { 1000, 7 });
    rfs::Sizes sizes = rfs::Sizes::of_text("home", tables.schema.comment());

    CHECK(sizes.inodes == 1000);
    CHECK(sizes.slabs == 7);
    CHECK(sizes.blocks() == 7 * 512);
}

TEST_CASE("fs: the comment of another database is refused", "[unit]")
{
    for (const char *text :
         { "", "tpcc warehouses=1", "rpmfs inodes=1 slabs=", "rpmfs inodes=1",
           "rpmfs inodes=1 slabs=2 ", "rpmfs  inodes=1 slabs=2", "rpmfs inodes=-1 slabs=2",
           "rpmfs inodes=+1 slabs=2", "rpmfs inodes=0 slabs=2", "rpmfs inodes=1 slabs=0",
           "rpmfs inodes=4294967297 slabs=1", "rpmfs inodes=1 slabs=2147483649",
           "rpmfs inodes=1 slabs=99999999999999999999" }) {
        CAPTURE(text);
        CHECK_THROWS_AS(rfs::Sizes::of_text("home", text), dtx::Error);
    }
}

TEST_CASE("fs: inodes fill four cache lines, names two and locks one", "[unit]")
{
    rfs::Tables tables("home", { 1000, 7 });
    dtx::Layout layout(tables.schema);

    CHECK(layout.table(tables.inodes.number).slot_bytes == 256);
    CHECK(layout.table(tables.names.number).slot_bytes == 128);
    CHECK(layout.table(tables.locks.number).slot_bytes == 64);
    CHECK(layout.table(tables.blobs.number).slot_bytes == 512);
    CHECK(tables.blocks.bytes() == 7ull * 512 * 4096);
}
