/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attributes.cc: stat, access, chmod, chown, utimens, truncate, readlink.
 *
 * Tests: tests/fs/model_test.cpp, tests/unit/fs/lib/async_test.cpp
 */
#include "lib/handle.h"

#include "core/format/keys.h"
#include "core/tree/attributes.h"
#include "core/tree/create.h"
#include "core/tree/path.h"
#include "core/tree/permission.h"

#include <algorithm>
#include <cstring>

namespace rfs
{

static constexpr int64_t kSecond = 1000000000;

/* The file that a path leads to. */
static Node node_at(rfs_client *client, const Credentials &who, const char *path, bool follows)
{
    expect(path != nullptr, EINVAL);
    return client->client.call_now(
        who, [&](Call &call) { return resolve(call, kRootIno, path, follows); });
}

static dtx::Task<int64_t> stat_call(rfs_client *client, Credentials who, std::string path,
                                    bool follows, struct stat *into)
{
    auto body = [&](Call &call) { return resolve(call, kRootIno, path, follows); };

    expect(into != nullptr, EINVAL);

    Node node = co_await client->client.call(who, body);

    *into = stat_of(node);
    co_return 0;
}

static int get_stat(rfs_client *client, const rfs_cred *who, const char *path, bool follows,
                    struct stat *into)
{
    return run(client, [=](Job &) {
        return stat_call(client, credentials_of(who), path_of(path), follows, into);
    });
}

static int change_at(rfs_client *client, const rfs_cred *who, const char *path, bool follows,
                     const Changes &changes)
{
    return guarded(client, [&] {
        Credentials self = credentials_of(who);

        expect(path != nullptr, EINVAL);
        (void)client->client.call_now(self, [&](Call &call) -> dtx::Task<Node> {
            Node node = co_await resolve(call, kRootIno, path, follows);

            co_return co_await change(call, node.ino, changes);
        });
        return 0;
    });
}

static int change_owner_at(rfs_client *client, const rfs_cred *who, const char *path, bool follows,
                           uint32_t uid, uint32_t gid)
{
    Changes changes;

    if (uid != UINT32_MAX)
        changes.uid = uid;
    if (gid != UINT32_MAX)
        changes.gid = gid;
    changes.drops_ids = true;
    return change_at(client, who, path, follows, changes);
}

/* nullopt: unchanged. */
static std::optional<NewTime> new_time(const timespec &time)
{
    if (time.tv_nsec == UTIME_OMIT)
        return std::nullopt;
    if (time.tv_nsec == UTIME_NOW)
        return NewTime{ true };
    expect(time.tv_nsec >= 0 && time.tv_nsec < kSecond, EINVAL);
    expect(time.tv_sec < INT64_MAX / kSecond && time.tv_sec > INT64_MIN / kSecond, EINVAL);
    return NewTime{ false, time.tv_sec * kSecond + time.tv_nsec };
}

} // namespace rfs

int rfs_stat(rfs_client *client, const rfs_cred *who, const char *path, struct stat *stat)
{
    return rfs::get_stat(client, who, path, true, stat);
}

int rfs_lstat(rfs_client *client, const rfs_cred *who, const char *path, struct stat *stat)
{
    return rfs::get_stat(client, who, path, false, stat);
}

int rfs_stat_async(rfs_client *client, const rfs_cred *who, const char *path, struct stat *stat,
                   void *context)
{
    return rfs::submit(client, context, [=](rfs::Job &) {
        return rfs::stat_call(client, rfs::credentials_of(who), rfs::path_of(path), true, stat);
    });
}

int rfs_access(rfs_client *client, const rfs_cred *who, const char *path, int wanted)
{
    return rfs::guarded(client, [=] {
        rfs::Credentials self = rfs::credentials_of(who);
        rfs::Node node = rfs::node_at(client, self, path, true);

        rfs::expect((wanted & ~7) == 0, EINVAL);
        rfs::expect(may(self, node.row, static_cast<uint32_t>(wanted)), EACCES);
        return 0;
    });
}

int rfs_chmod(rfs_client *client, const rfs_cred *who, const char *path, mode_t mode)
{
    rfs::Changes changes;

    changes.mode = mode;
    return rfs::change_at(client, who, path, true, changes);
}

int rfs_chown(rfs_client *client, const rfs_cred *who, const char *path, uint32_t uid, uint32_t gid)
{
    return rfs::change_owner_at(client, who, path, true, uid, gid);
}

int rfs_lchown(rfs_client *client, const rfs_cred *who, const char *path, uint32_t uid,
               uint32_t gid)
{
    return rfs::change_owner_at(client, who, path, false, uid, gid);
}

int rfs_utimens(rfs_client *client, const rfs_cred *who, const char *path,
                const struct timespec times[2])
{
    rfs::Changes changes;
    int err = rfs::guarded([&] {
        changes.atime = times != nullptr ? rfs::new_time(times[0]) : rfs::NewTime{ true };
        changes.mtime = times != nullptr ? rfs::new_time(times[1]) : rfs::NewTime{ true };
        return 0;
    });

    if (err != 0 || (!changes.atime && !changes.mtime)) /* then Linux does not look at the path */
        return err;
    return rfs::change_at(client, who, path, true, changes);
}

int rfs_truncate(rfs_client *client, const rfs_cred *who, const char *path, uint64_t size)
{
    return rfs::guarded(client, [=] {
        rfs::Credentials self = rfs::credentials_of(who);
        rfs::Node node = rfs::node_at(client, self, path, true);

        rfs::expect_contents(node);
        rfs::expect(may(self, node.row, rfs::kMayWrite), EACCES);
        (void)client->client.finish(rfs::resize_file(client->client, self, node.ino, size));
        return 0;
    });
}

ssize_t rfs_readlink(rfs_client *client, const rfs_cred *who, const char *path, char *into,
                     size_t size)
{
    return rfs::guarded(client, [=]() -> ssize_t {
        rfs::Credentials self = rfs::credentials_of(who);

        rfs::expect(path != nullptr && into != nullptr && size > 0, EINVAL);

        std::string target =
            client->client.call_now(self, [&](rfs::Call &call) -> dtx::Task<std::string> {
                rfs::Node node = co_await rfs::resolve(call, rfs::kRootIno, path, false);

                co_return co_await rfs::read_link(call, node.ino);
            });

        return static_cast<ssize_t>(target.copy(into, size));
    });
}
