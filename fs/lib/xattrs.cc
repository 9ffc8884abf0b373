/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xattrs.cc: setxattr, getxattr, listxattr, removexattr.
 *
 * Tests: tests/unit/fs/lib/library_test.cpp
 */
#include "lib/handle.h"

#include "core/tree/path.h"
#include "core/tree/xattrs.h"

#include <string_view>

namespace rfs
{

/* A path, and whether its last name is followed if it is a symbolic link. */
struct Way {
    const char *path;
    bool follows;
};

/* Runs @act, a callable Task<Result>(Call &, uint32_t ino), on the file of a path. */
template <class Act> static auto on_file(rfs_client *client, const rfs_cred *who, Way way, Act act)
{
    using Result = decltype(act(std::declval<Call &>(), 0u));
    Credentials self = credentials_of(who);

    expect(way.path != nullptr, EINVAL);
    return client->client.call_now(self, [&](Call &call) -> Result {
        Node node = co_await resolve(call, kRootIno, way.path, way.follows);

        co_return co_await act(call, node.ino);
    });
}

static int set_xattr_at(rfs_client *client, const rfs_cred *who, Way way, const char *name,
                        std::string_view value, int flags)
{
    return guarded(client, [=] {
        expect(name != nullptr && (value.data() != nullptr || value.empty()), EINVAL);
        (void)on_file(client, who, way, [&](Call &call, uint32_t ino) {
            return set_xattr(call, ino, name, value, flags);
        });
        return 0;
    });
}

/* Copies bytes into memory of @size bytes, of which 0 asks for their number alone. */
static ssize_t hand_out(const std::string &bytes, void *into, size_t size)
{
    expect(size == 0 || bytes.size() <= size, ERANGE);
    if (size != 0)
        (void)bytes.copy(static_cast<char *>(into), size);
    return static_cast<ssize_t>(bytes.size());
}

static ssize_t get_xattr_at(rfs_client *client, const rfs_cred *who, Way way, const char *name,
                            void *value, size_t size)
{
    return guarded(client, [=] {
        expect(name != nullptr && (value != nullptr || size == 0), EINVAL);
        return hand_out(
            on_file(client, who, way,
                    [&](Call &call, uint32_t ino) { return get_xattr(call, ino, name); }),
            value, size);
    });
}

static ssize_t list_xattrs_at(rfs_client *client, const rfs_cred *who, Way way, char *names,
                              size_t size)
{
    return guarded(client, [=] {
        expect(names != nullptr || size == 0, EINVAL);
        return hand_out(on_file(client, who, way, list_xattrs), names, size);
    });
}

static int remove_xattr_at(rfs_client *client, const rfs_cred *who, Way way, const char *name)
{
    return guarded(client, [=] {
        expect(name != nullptr, EINVAL);
        (void)on_file(client, who, way,
                      [&](Call &call, uint32_t ino) { return remove_xattr(call, ino, name); });
        return 0;
    });
}

} // namespace rfs

int rfs_setxattr(rfs_client *client, const rfs_cred *who, const char *path, const char *name,
                 const void *value, size_t size, int flags)
{
    return rfs::set_xattr_at(client, who, { path, true }, name,
                             { static_cast<const char *>(value), size }, flags);
}

int rfs_lsetxattr(rfs_client *client, const rfs_cred *who, const char *path, const char *name,
                  const void *value, size_t size, int flags)
{
    return rfs::set_xattr_at(client, who, { path, false }, name,
                             { static_cast<const char *>(value), size }, flags);
}

ssize_t rfs_getxattr(rfs_client *client, const rfs_cred *who, const char *path, const char *name,
                     void *value, size_t size)
{
    return rfs::get_xattr_at(client, who, { path, true }, name, value, size);
}

ssize_t rfs_lgetxattr(rfs_client *client, const rfs_cred *who, const char *path, const char *name,
                      void *value, size_t size)
{
    return rfs::get_xattr_at(client, who, { path, false }, name, value, size);
}

ssize_t rfs_listxattr(rfs_client *client, const rfs_cred *who, const char *path, char *names,
                      size_t size)
{
    return rfs::list_xattrs_at(client, who, { path, true }, names, size);
}

ssize_t rfs_llistxattr(rfs_client *client, const rfs_cred *who, const char *path, char *names,
                       size_t size)
{
    return rfs::list_xattrs_at(client, who, { path, false }, names, size);
}

int rfs_removexattr(rfs_client *client, const rfs_cred *who, const char *path, const char *name)
{
    return rfs::remove_xattr_at(client, who, { path, true }, name);
}

int rfs_lremovexattr(rfs_client *client, const rfs_cred *who, const char *path, const char *name)
{
    return rfs::remove_xattr_at(client, who, { path, false }, name);
}
