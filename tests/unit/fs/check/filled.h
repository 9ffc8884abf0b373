// SPDX-License-Identifier: BSD-3-Clause
// filled.h: a volume with a file of each kind, and how to damage its rows.
#ifndef TESTS_UNIT_FS_CHECK_FILLED_H
#define TESTS_UNIT_FS_CHECK_FILLED_H

#include "core/client/locks.h"
#include "core/client/mount.h"
#include "core/format/keys.h"
#include "core/tree/xattrs.h"
#include "unit/fs/file/files.h"

#include <map>
#include <string>
#include <utility>

// A volume with a file of each kind.
struct Filled : TestVolume {
    explicit Filled(rfs::Sizes sizes = { 400, 2 }) : TestVolume(2, 2, "", sizes)
    {
        std::string target(1000, 't');
        std::string value = text_of(1500, 3);

        client->finish(rfs::mount(*client));
        directory = make_directory(*this, rfs::kRootIno, "directory");
        inner = make_directory(*this, directory, "inner");
        file = make_file(*this, directory, "file");
        other = make_file(*this, rfs::kRootIno, std::string(200, 'n'));
        link = as_root([&](rfs::Call &call) {
                   return rfs::create(call, rfs::kRootIno, "link", { S_IFLNK | 0777, 0, target });
               }).ino;
        orphan = make_file(*this, rfs::kRootIno, "orphan");
        client->open_files().add(orphan);
        as_root([&](rfs::Call &call) { return rfs::remove_file(call, rfs::kRootIno, "orphan"); });
        (void)write_at(*this, file, 0, text_of(40 * rfs::kBlockBytes, 1));
        (void)write_at(*this, other, 0, text_of(100, 2));
        for (uint32_t ino : { file, other, orphan })
            as_root(
                [&](rfs::Call &call) { return rfs::set_xattr(call, ino, "user.name", value, 0); });
        own = rfs::client_number(client->session().coordinator());
        lock(file, range(0, 9, 1, rfs::LockType::read));
        lock(file, range(5, 14, 2, rfs::LockType::read));
        lock(file, range(10, 14, 1, rfs::LockType::none));
        lock(other, range(0, 9, 1, rfs::LockType::write));
        inode = inode_of(*this, file);
        for (uint32_t in : { rfs::kRootIno, directory })
            for (const char *name : { "directory", "inner", "file", "link" })
                keys[{ in, name }] = place_of(*this, in, name).key;
        keys[{ rfs::kRootIno, std::string(200, 'n') }] =
            place_of(*this, rfs::kRootIno, std::string(200, 'n')).key;
    }
    void lock(uint32_t ino, const rfs::LockRow &wanted)
    {
        client->finish(rfs::lock_file(*client, ino, wanted, false, nullptr));
    }
    rfs::LockRow range(uint64_t start, uint64_t end, uint64_t owner, rfs::LockType type) const
    {
        return { start, end, owner, 77, own, rfs::LockKind::posix, type };
    }
    // Keys and rows that a damage needs: it runs within a call, and makes none itself.
    uint64_t place_key(uint32_t in, const std::string &name) const
    {
        return keys.at({ in, name });
    }
    uint64_t slab_key(const rfs::Pointer &pointer) const
    {
        return rfs::key_of(pointer.shard(),
                           static_cast<uint32_t>(pointer.block() / rfs::kSlabBlocks));
    }

    uint32_t directory, inner, file, other, link, orphan;
    uint16_t own = 0;    // number of the client
    rfs::InodeRow inode; // of file
    std::map<std::pair<uint32_t, std::string>, uint64_t> keys;
};

// Changes an inode.
template <class Change> dtx::Task<> alter(rfs::Call &call, uint32_t ino, Change change)
{
    rfs::Node node = co_await rfs::held_inode(call, ino);

    change(node.row);
    co_await rfs::put(call, node);
}

// Changes a row of a table.
template <class Row, class Change>
dtx::Task<> alter_row(rfs::Call &call, dtx::Table<Row> table, uint64_t key, Change change)
{
    auto row = co_await call.txn.read(table, key);

    change(row.value());
    (void)co_await call.txn.write(table, key, *row);
}

template <class Row> dtx::Task<> add_empty(rfs::Call &call, dtx::Table<Row> table, uint64_t key)
{
    Row row{};

    (void)co_await call.txn.insert(table, key, row);
}

template <class Row> dtx::Task<> erase_row(rfs::Call &call, dtx::Table<Row> table, uint64_t key)
{
    (void)co_await call.txn.erase(table, key);
}

#endif
