// SPDX-License-Identifier: BSD-3-Clause
// chmod, chown and utimensat.
#include "core/tree/attributes.h"

#include "unit/fs/volume.h"

#include <cerrno>

using rfs::Call;
using rfs::Changes;
using rfs::Credentials;
using rfs::kRootIno;
using rfs::NewTime;

namespace
{

int error_of_change(TestVolume &volume, const Credentials &who, uint32_t ino,
                    const Changes &changes)
{
    return error_of([&] {
        (void)volume.client->call_now(who,
                                      [&](Call &call) { return rfs::change(call, ino, changes); });
    });
}

Changes new_mode(uint32_t mode)
{
    Changes changes;

    changes.mode = mode;
    return changes;
}

Changes new_owner(std::optional<uint32_t> uid, std::optional<uint32_t> gid)
{
    Changes changes;

    changes.uid = uid;
    changes.gid = gid;
    return changes;
}

const Credentials kOwner{ 10, 20, { 21 } };
const Credentials kOther{ 11, 20, {} };

} // namespace

TEST_CASE("fs: only the owner sets the mode", "[unit]")
{
    TestVolume volume;
    uint32_t open = make(volume, volume.root, kRootIno, "open", S_IFDIR | 0777);
    uint32_t file = make(volume, kOwner, open, "f", S_IFREG | 0600);
    rfs::InodeRow before = inode_of(volume, file);

    CHECK(error_of_change(volume, kOwner, file, new_mode(04711)) == 0);
    CHECK(inode_of(volume, file).mode == (S_IFREG | 04711));
    CHECK(inode_of(volume, file).ctime_ns > before.ctime_ns);
    CHECK(inode_of(volume, file).mtime_ns == before.mtime_ns);
    CHECK(error_of_change(volume, kOther, file, new_mode(0600)) == EPERM);
    CHECK(error_of_change(volume, volume.root, file, new_mode(0170600)) == 0);
    CHECK(inode_of(volume, file).mode == (S_IFREG | 0600)); // the type stays
    CHECK(error_of_change(volume, volume.root, 999, new_mode(0600)) == ESTALE);
}

TEST_CASE("fs: the set-group-ID bit needs a caller who is in the group", "[unit]")
{
    TestVolume volume;
    uint32_t file = make_file(volume, kRootIno, "f");

    REQUIRE(error_of_change(volume, volume.root, file, new_owner(10, 99)) == 0);
    CHECK(error_of_change(volume, kOwner, file, new_mode(02755)) == 0);
    CHECK(inode_of(volume, file).mode == (S_IFREG | 0755));
    REQUIRE(error_of_change(volume, kOwner, file, new_owner({}, 21)) == 0);
    CHECK(error_of_change(volume, kOwner, file, new_mode(02755)) == 0);
    CHECK(inode_of(volume, file).mode == (S_IFREG | 02755));
}

TEST_CASE("fs: user 0 gives files away, owners only to their groups", "[unit]")
{
    TestVolume volume;
    uint32_t file = make(volume, volume.root, kRootIno, "f", S_IFREG | 06755);

    CHECK(error_of_change(volume, kOwner, file, new_owner(10, {})) == EPERM);
    CHECK(error_of_change(volume, volume.root, file, new_owner(10, 20)) == 0);
    CHECK((inode_of(volume, file).uid == 10 && inode_of(volume, file).gid == 20));
    CHECK(inode_of(volume, file).mode == (S_IFREG | 0755));
    CHECK(error_of_change(volume, kOwner, file, new_owner({}, 21)) == 0);
    CHECK(error_of_change(volume, kOwner, file, new_owner({}, 22)) == EPERM);
    CHECK(error_of_change(volume, kOwner, file, new_owner(11, {})) == EPERM);
    CHECK(error_of_change(volume, kOther, file, new_owner({}, 20)) == EPERM);
    CHECK(inode_of(volume, file).gid == 21);
}

TEST_CASE("fs: who may write sets the times to now, only the owner to others", "[unit]")
{
    TestVolume volume;
    uint32_t open = make(volume, volume.root, kRootIno, "open", S_IFDIR | 0777);
    uint32_t file = make(volume, kOwner, open, "f", S_IFREG | 0620);
    uint32_t own = make(volume, kOwner, open, "g", S_IFREG | 0600);
    Changes past;
    Changes now;

    past.atime = NewTime{ false, -5 };
    past.mtime = NewTime{ false, 1700000000123456789 };
    now.mtime = NewTime{ true };
    CHECK(error_of_change(volume, kOwner, file, past) == 0);
    CHECK(inode_of(volume, file).atime_ns == -5);
    CHECK(inode_of(volume, file).mtime_ns == 1700000000123456789);
    CHECK(error_of_change(volume, kOther, file, past) == EPERM);
    CHECK(error_of_change(volume, kOther, file, now) == 0);
    CHECK(inode_of(volume, file).mtime_ns > 1700000000123456789);
    CHECK(error_of_change(volume, kOther, own, now) == EACCES);
}
