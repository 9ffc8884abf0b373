/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * directory.cc: open directories, whose names are read some at a time.
 *
 * Tests: tests/unit/fs/lib/library_test.cpp, tests/fs/model_test.cpp
 */
#include "lib/handle.h"

#include "core/tree/names.h"
#include "core/tree/path.h"
#include "core/tree/permission.h"

static constexpr uint32_t kNamesAtOnce = 64; /* read in one transaction */

struct rfs_dir {
    rfs_client *client;
    uint32_t ino;
    uint64_t cookie = 0; /* behind which rfs_readdir() goes on */
    std::vector<rfs::Listed> names;
    size_t next = 0; /* of names */
};

int rfs_opendir(rfs_client *client, const rfs_cred *who, const char *path, rfs_dir **dir)
{
    return rfs::guarded(client, [=] {
        rfs::Credentials self = rfs::credentials_of(who);

        rfs::Hold hold(client->client.open_files());

        rfs::expect(path != nullptr && dir != nullptr, EINVAL);

        rfs::Node node =
            client->client.call_now(self, [&](rfs::Call &call) -> dtx::Task<rfs::Node> {
                rfs::Node found = co_await rfs::resolve(call, rfs::kRootIno, path, true);

                hold.set(found.ino);
                co_return found;
            });

        rfs::expect(S_ISDIR(node.row.mode), ENOTDIR);
        rfs::expect(may(self, node.row, rfs::kMayRead), EACCES);
        *dir = new rfs_dir{ client, node.ino, 0, {}, 0 };
        hold.keep();
        return 0;
    });
}

int rfs_readdir(rfs_dir *dir, rfs_dirent *entry)
{
    return rfs::guarded(dir->client, [=] {
        rfs::expect(entry != nullptr, EINVAL);
        if (dir->next == dir->names.size()) {
            dir->names = dir->client->client.call_now(rfs::kSelf, [&](rfs::Call &call) {
                return rfs::list_directory(call, dir->ino, dir->cookie, kNamesAtOnce);
            });
            dir->next = 0;
        }
        if (dir->names.empty())
            return 0;

        const rfs::Listed &name = dir->names[dir->next++];

        entry->ino = name.ino;
        entry->cookie = dir->cookie = name.cookie;
        entry->type = name.type;
        entry->name[name.name.copy(entry->name, sizeof(entry->name) - 1)] = '\0';
        return 1;
    });
}

void rfs_seekdir(rfs_dir *dir, uint64_t cookie)
{
    dir->names.clear();
    dir->next = 0;
    dir->cookie = cookie;
}

void rfs_closedir(rfs_dir **dir)
{
    if (dir == nullptr || *dir == nullptr)
        return;

    rfs_dir *taken = std::exchange(*dir, nullptr);

    (void)rfs::guarded(taken->client, [taken] {
        taken->client->client.finish(rfs::close_handle(taken->client, taken->ino));
        return 0;
    });
    delete taken;
}
