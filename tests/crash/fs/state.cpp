// SPDX-License-Identifier: BSD-3-Clause
#include "crash/fs/state.h"

#include "core/check/check.h"
#include "core/client/files.h"
#include "core/client/locks.h"
#include "core/file/slabs.h"
#include "core/tree/create.h"
#include "core/tree/inodes.h"
#include "core/tree/names.h"
#include "core/tree/xattrs.h"
#include "crash/fs/acts.h"
#include <dtx/checks.h>

#include <cstring>
#include <functional>
#include <map>
#include <sys/stat.h>

using rfs::Call;
using rfs::Client;
using rfs::kSelf;

namespace crash
{

using Each = std::function<void(const std::string &path, const rfs::Node &node)>;

static void walk(Client &client, uint32_t directory, const std::string &above, const Each &each)
{
    std::map<std::string, uint32_t> names;
    auto listed = client.call_now(
        kSelf, [&](Call &call) { return rfs::list_names(call, directory, 0, UINT32_MAX); });

    for (const rfs::Listed &one : listed)
        names[one.name] = one.ino;
    for (const auto &[name, ino] : names) {
        uint32_t number = ino;
        rfs::Node node =
            client.call_now(kSelf, [&](Call &call) { return rfs::held_inode(call, number); });

        each(above + name, node);
        if (S_ISDIR(node.row.mode))
            walk(client, ino, above + name + "/", each);
    }
}

static std::string hash(const std::string &bytes)
{
    return std::to_string(std::hash<std::string>()(bytes) % 1000000007);
}

static std::string attributes(Client &client, uint32_t ino)
{
    std::string names =
        client.call_now(kSelf, [&](Call &call) { return rfs::list_xattrs(call, ino); });
    std::string text;

    for (size_t at = 0; at < names.size(); at = names.find('\0', at) + 1) {
        std::string name = names.c_str() + at;

        text += " " + name + " " + hash(client.call_now(kSelf, [&](Call &call) {
                    return rfs::get_xattr(call, ino, name);
                }));
    }
    return text;
}

std::string tree(Client &client)
{
    std::string text;

    walk(client, rfs::kRootIno, "/", [&](const std::string &path, const rfs::Node &node) {
        rfs::InodeRow row = node.row;

        if (row.cut != rfs::kNoCut) { // its client has died meanwhile: the next one goes on
            client.finish(rfs::finish_cut(client, node.ino));
            row = node_at(client, path).row;
        }

        text += path + " mode " + std::to_string(row.mode) + " owner " + std::to_string(row.uid) +
                ":" + std::to_string(row.gid) + " links " + std::to_string(row.links) + " size " +
                std::to_string(row.size) + " blocks " + std::to_string(row.blocks);
        if (S_ISREG(row.mode))
            text += " bytes " + hash(read_from(client, node.ino));
        else if (S_ISLNK(row.mode))
            text += " to " + hash(client.call_now(kSelf, [&](Call &call) {
                        return rfs::read_link(call, node.ino);
                    }));
        text += attributes(client, node.ino) + "\n";
    });
    return text;
}

std::vector<std::string> files(Client &client)
{
    std::vector<std::string> paths;

    walk(client, rfs::kRootIno, "/", [&](const std::string &path, const rfs::Node &node) {
        if (S_ISREG(node.row.mode))
            paths.push_back(path);
    });
    return paths;
}

std::string locks(Client &client)
{
    std::string text;

    for (const std::string &path : files(client))
        for (rfs::LockKind kind : { rfs::LockKind::posix, rfs::LockKind::flock }) {
            uint32_t ino = at(client, path);
            rfs::LockRow all{};

            all.end = rfs::kLockEnd;
            all.owner = UINT64_MAX; // no script's
            all.kind = kind;
            all.type = rfs::LockType::write;
            for (const rfs::LockRow &lock : client.call_now(
                     kSelf, [&](Call &call) { return rfs::list_conflicts(call, ino, all); }))
                text += path + " lock " + std::to_string(int(lock.kind)) +
                        std::to_string(int(lock.type)) + " of " + std::to_string(lock.owner) +
                        " from " + std::to_string(lock.start) + " to " + std::to_string(lock.end) +
                        "\n";
        }
    return text;
}

std::string faults_of(const rfs::OpenVolume &open)
{
    dtx::Cluster::Reading reading(*open.cluster);
    std::string text;
    auto add = [&](const dtx::Findings &found) {
        for (const std::string &what : found.texts())
            text += what + "\n";
    };

    for (const dtx::Findings &found : dtx::checks::check_copies(*open.cluster))
        add(found);
    add(dtx::checks::check_indexes(*open.cluster, 0));
    add(rfs::check_tables(open, 0));
    add(rfs::check_tables(open, 1));
    add(rfs::check_data(open));
    return text;
}

// Calls @take with each row of a table.
template <class Row, class Take>
static void each_row(const rfs::OpenVolume &open, dtx::Table<Row> table, Take take)
{
    open.cluster->each_row(table.number, 0, [&](uint64_t, const void *bytes, size_t) {
        Row row;

        std::memcpy(&row, bytes, sizeof(row));
        take(row);
    });
}

std::string remains_in(const rfs::OpenVolume &open)
{
    const rfs::Tables &tables = open.volume.tables;
    uint32_t orphans = 0, locks = 0, locked = 0;
    bool clients = false;
    std::string text;

    each_row(open, tables.orphans, [&](const rfs::OrphanRow &) { orphans++; });
    each_row(open, tables.locks, [&](const rfs::LockRow &) { locks++; });
    each_row(open, tables.locked_files, [&](const rfs::LockedFileRow &) { locked++; });
    each_row(open, tables.mounts,
             [&](const rfs::MountsRow &row) { clients = !row.clients.empty(); });
    if (orphans != 0)
        text += "leaked: " + std::to_string(orphans) + " files without names\n";
    if (locks != 0 || locked != 0)
        text += "stuck: " + std::to_string(locks) + " locks of " + std::to_string(locked) +
                " files and clients\n";
    if (clients)
        text += "leaked: clients in the table mounts\n";
    return text;
}

uint64_t used_blocks(const rfs::OpenVolume &open)
{
    uint64_t used = 0;

    each_row(open, open.volume.tables.slabs,
             [&](const rfs::SlabRow &slab) { used += rfs::kSlabBlocks - rfs::free_in(slab); });
    return used;
}

} // namespace crash
