/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree.cc: create, link, remove and rename by path.
 *
 * Tests: tests/fs/model_test.cpp, tests/unit/fs/lib/async_test.cpp
 */
#include "lib/handle.h"

#include "core/file/resize.h"
#include "core/tree/attributes.h"
#include "core/tree/create.h"
#include "core/tree/names.h"
#include "core/tree/path.h"
#include "core/tree/remove.h"
#include "core/tree/rename.h"

namespace rfs
{

static bool is_directory(const Place &place)
{
    return place.type == S_IFDIR >> 12;
}

/* Awaited: where the last name of a path that ends with a slash is. ino 0: there is no such name,
 * or the path has no slash. */
static dtx::Task<Place> place_of_slash(Call &call, const Last &last)
{
    Place place;

    if (last.wants_directory && !is_fixed(last))
        place = co_await find_name(call, last.directory, last.name);
    co_return place;
}

/* The calls, as coroutines. */
static dtx::Task<int64_t> create_call(rfs_client *client, Credentials who, std::string path,
                                      Wanted wanted)
{
    auto body = [&](Call &call) -> dtx::Task<Node> {
        Last last = co_await walk(call, kRootIno, path, Follow::never);
        Place place = co_await place_of_slash(call, last);

        expect(!last.name.empty() && !place.is_taken(), EEXIST);
        expect(!last.wants_directory || is_fixed(last) || S_ISDIR(wanted.mode), ENOENT);
        co_return co_await create(call, last.directory, last.name, wanted);
    };

    (void)co_await client->client.call(who, body);
    co_return 0;
}

static int create_at(rfs_client *client, const rfs_cred *who, const char *path,
                     const Wanted &wanted)
{
    return run(client, [&](Job &) {
        return create_call(client, credentials_of(who), path_of(path), wanted);
    });
}

static dtx::Task<Node> remove_path(Call &call, const std::string &path, bool directory)
{
    Last last = co_await walk(call, kRootIno, path, Follow::never);

    expect(!last.name.empty(), directory ? EBUSY : EISDIR);
    if (last.wants_directory && !directory && !is_fixed(last)) {
        Place place = co_await place_of_slash(call, last);

        expect(place.is_taken(), ENOENT);
        throw Failure{ is_directory(place) ? EISDIR : ENOTDIR };
    }
    if (directory)
        co_return co_await remove_directory(call, last.directory, last.name);
    co_return co_await remove_file(call, last.directory, last.name);
}

/* Awaited: frees a file that has lost its last name in this call, if it is small and no client has
 * it open. Returns its number if it is left for further calls; else 0. */
static dtx::Task<uint32_t> begin_to_free(Call &call, Node node)
{
    bool small = node.row.blocks <= kInodePointers && node.row.xattr_bytes == 0;
    bool done = node.row.links != 0;

    if (!done && small)
        done = co_await free_orphan(call, node.ino);
    co_return done ? 0 : node.ino;
}

/* Awaited: @remove, a callable Task<std::optional<Node>>(Call &), returns a file that may have lost
 * its last name. This frees that file in the same transaction; if its rows are damaged, in
 * others, so that the name is removed although the file cannot be freed. */
template <class Remove>
static dtx::Task<> remove_and_free(rfs_client *client, const Credentials &who, Remove remove)
{
    bool together = true;
    bool removed = false;
    uint32_t rest = 0;
    auto body = [&](Call &call) -> dtx::Task<uint32_t> {
        std::optional<Node> node = co_await remove(call);

        if (!node || node->row.links != 0)
            co_return 0;
        if (!together)
            co_return node->ino;
        co_return co_await begin_to_free(call, *node);
    };

    while (!removed) {
        try {
            rest = co_await client->client.call(who, body);
            removed = true;
        } catch (const dtx::Error &error) {
            if (error.code() != RPM_E_CORRUPT || !together)
                throw;
            together = false;
        }
    }
    if (rest != 0)
        co_await free_file(client->client, rest);
}

static dtx::Task<int64_t> remove_call(rfs_client *client, Credentials who, std::string path,
                                      bool directory)
{
    auto remove = [&](Call &call) -> dtx::Task<std::optional<Node>> {
        co_return co_await remove_path(call, path, directory);
    };

    co_await remove_and_free(client, who, remove);
    co_return 0;
}

/* Awaited: as rename() in core/tree, which does not know of slashes behind names. The errors come
 * in the order of Linux. */
static dtx::Task<std::optional<Node>> rename_paths(Call &call, const std::string &from,
                                                   const std::string &to, uint32_t flags)
{
    Last source = co_await walk(call, kRootIno, from, Follow::never);
    Last target = co_await walk(call, kRootIno, to, Follow::never);

    expect(!is_fixed(source), EBUSY);
    expect(!is_fixed(target), flags == RFS_RENAME_NOREPLACE ? EEXIST : EBUSY);

    Place old = co_await find_name(call, source.directory, source.name);
    Place place = co_await find_name(call, target.directory, target.name);
    bool exchanges = flags == RFS_RENAME_EXCHANGE;

    expect(old.is_taken(), ENOENT);
    expect(!place.is_taken() || flags != RFS_RENAME_NOREPLACE, EEXIST);
    expect(place.is_taken() || !exchanges, ENOENT);
    expect(!exchanges || !target.wants_directory || is_directory(place), ENOTDIR);
    expect(is_directory(old) || !source.wants_directory, ENOTDIR);
    expect(is_directory(old) || exchanges || !target.wants_directory, ENOTDIR);

    Spot from_spot{ source.directory, source.name, &source.parent, &old };
    Spot to_spot{ target.directory, target.name, &target.parent, &place };

    co_return co_await rename(call, from_spot, to_spot, flags);
}

static dtx::Task<int64_t> rename_call(rfs_client *client, Credentials who, std::string from,
                                      std::string to, uint32_t flags)
{
    auto remove = [&](Call &call) { return rename_paths(call, from, to, flags); };

    expect(flags <= RFS_RENAME_EXCHANGE, EINVAL);
    co_await remove_and_free(client, who, remove);
    co_return 0;
}

} // namespace rfs

int rfs_mkdir(rfs_client *client, const rfs_cred *who, const char *path, mode_t mode)
{
    return rfs::create_at(client, who, path, { S_IFDIR | (mode & 01777), 0, {} });
}

int rfs_mknod(rfs_client *client, const rfs_cred *who, const char *path, mode_t mode, dev_t device)
{
    uint32_t number = rfs::device_number(device);

    if (S_ISDIR(mode) || S_ISLNK(mode))
        return rfs::failed(EINVAL);
    return rfs::create_at(client, who, path, { mode & (S_IFMT | 07777), number, {} });
}

int rfs_symlink(rfs_client *client, const rfs_cred *who, const char *target, const char *path)
{
    if (target == nullptr)
        return rfs::failed(EINVAL);
    if (target[0] == '\0')
        return rfs::failed(ENOENT);
    return rfs::create_at(client, who, path, { S_IFLNK | 0777, 0, target });
}

int rfs_link(rfs_client *client, const rfs_cred *who, const char *from, const char *to)
{
    return rfs::guarded(client, [=] {
        rfs::Credentials self = rfs::credentials_of(who);

        rfs::expect(from != nullptr && to != nullptr, EINVAL);
        (void)client->client.call_now(self, [&](rfs::Call &call) -> dtx::Task<rfs::Node> {
            rfs::Node node = co_await rfs::resolve(call, rfs::kRootIno, from, false);
            rfs::Last last = co_await rfs::walk(call, rfs::kRootIno, to, rfs::Follow::never);
            rfs::Place place = co_await rfs::place_of_slash(call, last);

            rfs::expect(!last.name.empty() && !place.is_taken(), EEXIST);
            rfs::expect(!last.wants_directory || rfs::is_fixed(last), ENOENT);
            co_return co_await rfs::link(call, node.ino, last.directory, last.name);
        });
        return 0;
    });
}

int rfs_unlink(rfs_client *client, const rfs_cred *who, const char *path)
{
    return rfs::run(client, [=](rfs::Job &) {
        return rfs::remove_call(client, rfs::credentials_of(who), rfs::path_of(path), false);
    });
}

int rfs_rmdir(rfs_client *client, const rfs_cred *who, const char *path)
{
    return rfs::run(client, [=](rfs::Job &) {
        return rfs::remove_call(client, rfs::credentials_of(who), rfs::path_of(path), true);
    });
}

int rfs_rename(rfs_client *client, const rfs_cred *who, const char *from, const char *to,
               unsigned int flags)
{
    return rfs::run(client, [=](rfs::Job &) {
        return rfs::rename_call(client, rfs::credentials_of(who), rfs::path_of(from),
                                rfs::path_of(to), flags);
    });
}

int rfs_mkdir_async(rfs_client *client, const rfs_cred *who, const char *path, mode_t mode,
                    void *context)
{
    return rfs::submit(client, context, [=](rfs::Job &) {
        rfs::Wanted wanted{ S_IFDIR | (mode & 01777), 0, {} };

        return rfs::create_call(client, rfs::credentials_of(who), rfs::path_of(path), wanted);
    });
}

int rfs_unlink_async(rfs_client *client, const rfs_cred *who, const char *path, void *context)
{
    return rfs::submit(client, context, [=](rfs::Job &) {
        return rfs::remove_call(client, rfs::credentials_of(who), rfs::path_of(path), false);
    });
}

int rfs_rmdir_async(rfs_client *client, const rfs_cred *who, const char *path, void *context)
{
    return rfs::submit(client, context, [=](rfs::Job &) {
        return rfs::remove_call(client, rfs::credentials_of(who), rfs::path_of(path), true);
    });
}

int rfs_rename_async(rfs_client *client, const rfs_cred *who, const char *from, const char *to,
                     unsigned int flags, void *context)
{
    return rfs::submit(client, context, [=](rfs::Job &) {
        return rfs::rename_call(client, rfs::credentials_of(who), rfs::path_of(from),
                                rfs::path_of(to), flags);
    });
}
