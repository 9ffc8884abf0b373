// SPDX-License-Identifier: BSD-3-Clause
// What permission bits let a caller do.
#include "core/tree/permission.h"

#include "support/catch.h"

#include <sys/stat.h>

using rfs::Credentials;
using rfs::InodeRow;

static InodeRow file_of(uint32_t mode, uint32_t uid, uint32_t gid)
{
    InodeRow row{};

    row.mode = mode;
    row.uid = uid;
    row.gid = gid;
    return row;
}

TEST_CASE("fs: the first class that the caller is in decides", "[unit]")
{
    InodeRow file = file_of(S_IFREG | 0426, 10, 20);

    CHECK(may(Credentials{ 10, 20 }, file, rfs::kMayRead));
    CHECK_FALSE(may(Credentials{ 10, 20 }, file, rfs::kMayWrite)); // the owner, though in the group
    CHECK(may(Credentials{ 11, 20 }, file, rfs::kMayWrite));
    CHECK_FALSE(may(Credentials{ 11, 20 }, file, rfs::kMayRead));
    CHECK(may(Credentials{ 11, 5, { 6, 20 } }, file, rfs::kMayWrite));
    CHECK(may(Credentials{ 11, 5 }, file, rfs::kMayRead | rfs::kMayWrite));
    CHECK_FALSE(may(Credentials{ 11, 5 }, file, rfs::kMayExecute));
}

namespace
{

/* One further group; counts how often it is asked for. */
struct OneGroup : rfs::GroupSource {
    bool has(uint32_t group) const override
    {
        asked++;
        return group == 20;
    }
    mutable int asked = 0;
};

} // namespace

TEST_CASE("fs: further groups are asked for only where they decide", "[unit]")
{
    OneGroup groups;
    InodeRow file = file_of(S_IFREG | 0464, 10, 20);
    InodeRow other = file_of(S_IFREG | 0464, 10, 21);

    CHECK(may(Credentials{ 11, 5, {}, &groups }, file, rfs::kMayRead));
    CHECK_FALSE(may(Credentials{ 11, 5, {}, &groups }, file, rfs::kMayExecute));
    CHECK(may(Credentials{ 10, 5, {}, &groups }, file, rfs::kMayRead));
    CHECK(may(Credentials{ 11, 20, {}, &groups }, file, rfs::kMayWrite));
    CHECK(groups.asked == 0);
    CHECK(may(Credentials{ 11, 5, {}, &groups }, file, rfs::kMayWrite));
    CHECK_FALSE(may(Credentials{ 11, 5, {}, &groups }, other, rfs::kMayWrite));
    CHECK(groups.asked == 2);
}

TEST_CASE("fs: user 0 may do all but execute a file without x bits", "[unit]")
{
    CHECK(may(Credentials{}, file_of(S_IFREG, 10, 20), rfs::kMayRead | rfs::kMayWrite));
    CHECK_FALSE(may(Credentials{}, file_of(S_IFREG, 10, 20), rfs::kMayExecute));
    CHECK(may(Credentials{}, file_of(S_IFREG | 0001, 10, 20), rfs::kMayExecute));
    CHECK(may(Credentials{}, file_of(S_IFDIR, 10, 20), rfs::kMayExecute));
}

TEST_CASE("fs: in a sticky directory only owners remove", "[unit]")
{
    InodeRow sticky = file_of(S_IFDIR | 01777, 1, 1);
    InodeRow file = file_of(S_IFREG | 0666, 10, 20);

    CHECK(may_remove(Credentials{ 1, 1 }, sticky, file));
    CHECK(may_remove(Credentials{ 10, 1 }, sticky, file));
    CHECK_FALSE(may_remove(Credentials{ 11, 20 }, sticky, file));
    CHECK(may_remove(Credentials{}, sticky, file));
    CHECK(may_remove(Credentials{ 11, 20 }, file_of(S_IFDIR | 0777, 1, 1), file));
}
