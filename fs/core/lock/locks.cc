/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * locks.cc: rows of the tables locks and locked_files.
 *
 * Tests: tests/unit/fs/lock/locks_test.cpp
 */
#include "core/lock/locks.h"

#include "core/base/assert.h"
#include "core/format/keys.h"
#include "core/tree/inodes.h"
#include <dtx/cluster.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

namespace rfs
{

namespace
{

/* A lock with the number of its row. */
struct Numbered {
    uint32_t number;
    LockRow row;
};

/* What becomes of an owner's locks. */
struct Replacement {
    std::vector<Numbered> old; /* locks that change */
    std::vector<LockRow> now;  /* what takes their place */
};

using Which = std::function<bool(const LockRow &lock)>;
using ClientNumbers = std::set<uint16_t>;

} // namespace

bool same_owner(const LockRow &one, const LockRow &other)
{
    return std::tie(one.client, one.owner, one.kind) ==
           std::tie(other.client, other.owner, other.kind);
}

static bool overlap(const LockRow &one, const LockRow &other)
{
    return one.start <= other.end && other.start <= one.end;
}

bool conflict(const LockRow &one, const LockRow &other)
{
    bool both_read = one.type == LockType::read && other.type == LockType::read;
    bool unlocks = one.type == LockType::none || other.type == LockType::none;

    return one.kind == other.kind && !unlocks && !both_read && overlap(one, other) &&
           !same_owner(one, other);
}

static bool touch(const LockRow &one, const LockRow &other)
{
    return one.start <= other.end + 1 && other.start <= one.end + 1;
}

bool fit_together(const LockRow &one, const LockRow &other)
{
    if (same_owner(one, other))
        return one.type == other.type ? !touch(one, other) : !overlap(one, other);
    return !conflict(one, other);
}

bool is_sound(const LockRow &lock)
{
    return lock.start <= lock.end && lock.end <= kLockEnd && lock.client != 0 &&
           lock.client <= client_number(kClientsMax - 1) &&
           (lock.kind == LockKind::posix || lock.kind == LockKind::flock) &&
           (lock.type == LockType::read || lock.type == LockType::write);
}

/* Awaited: the rows of a file's locks, by number, sound or not: to drop some. */
static dtx::Task<std::vector<Numbered>> read_rows(Call &call, uint32_t ino)
{
    auto rows = co_await call.txn.scan(call.tables().locks, key_of(ino, 0), key_of(ino, UINT32_MAX),
                                       kLocksMax + 1);
    std::vector<Numbered> all;

    need(rows.size() <= kLocksMax, file_row(ino), "it has more locks than a file can have");
    for (const auto &[key, row] : rows)
        all.push_back({ lower_half(key), row });
    co_return all;
}

/* Awaited: the locks of a file, by number. */
static dtx::Task<std::vector<Numbered>> read_locks(Call &call, uint32_t ino)
{
    std::vector<Numbered> all = co_await read_rows(call, ino);

    for (const Numbered &lock : all)
        need(is_sound(lock.row), { "locks", key_of(ino, lock.number) },
             "its range, client, kind or type is out of bounds");
    co_return all;
}

static std::optional<LockRow> first_conflict(const std::vector<Numbered> &all,
                                             const LockRow &wanted)
{
    std::optional<LockRow> first;

    for (const Numbered &lock : all)
        if (conflict(lock.row, wanted) && (!first || lock.row.start < first->start))
            first = lock.row;
    return first;
}

static LockRow part_of(LockRow lock, uint64_t start, uint64_t end)
{
    RFS_ASSERT(start <= end);
    lock.start = start;
    lock.end = end;
    return lock;
}

/* A lock of the same type that overlaps or touches the wanted one becomes a part of it; of other
 * ones, what lies outside is left. */
static Replacement replacement(const std::vector<Numbered> &all, const LockRow &wanted)
{
    Replacement change;
    LockRow whole = wanted;

    for (const Numbered &lock : all) {
        const LockRow &row = lock.row;
        bool merges = row.type == wanted.type && touch(row, wanted);

        if (!same_owner(row, wanted) || !(merges || overlap(row, wanted)))
            continue;
        change.old.push_back(lock);
        if (merges) {
            whole.start = std::min(whole.start, row.start);
            whole.end = std::max(whole.end, row.end);
            continue;
        }
        if (row.start < wanted.start)
            change.now.push_back(part_of(row, row.start, wanted.start - 1));
        if (row.end > wanted.end)
            change.now.push_back(part_of(row, wanted.end + 1, row.end));
    }
    if (wanted.type != LockType::none)
        change.now.push_back(whole);
    return change;
}

/* Awaited: add_row(), where a full table means that there are too many locks. */
template <class Row>
static dtx::Task<bool> add(Call &call, dtx::Table<Row> table, uint64_t key, Row row)
{
    try {
        co_return co_await add_row(call, table, key, row);
    } catch (const Failure &failure) {
        throw Failure{ failure.error == ENOSPC ? ENOLCK : failure.error };
    }
}

/* Awaited: makes sure that the client's locks of the file are found when it has died, and that the
 * file exists. */
static dtx::Task<> note_locked(Call &call, uint32_t ino, uint16_t client)
{
    dtx::Table<LockedFileRow> table = call.tables().locked_files;
    auto noted = co_await call.txn.read(table, key_of(client, ino));

    (void)co_await held_inode(call, ino);
    if (!noted)
        (void)co_await add(call, table, key_of(client, ino), LockedFileRow{});
}

/* Awaited. @all: by number. New locks get the lowest numbers that are free. */
static dtx::Task<> replace(Call &call, uint32_t ino, const std::vector<Numbered> &all,
                           const Replacement &change)
{
    dtx::Table<LockRow> table = call.tables().locks;
    uint32_t free = 0;
    size_t seen = 0;

    expect(all.size() - change.old.size() + change.now.size() <= kLocksMax, ENOLCK);
    for (size_t i = 0; i < std::max(change.old.size(), change.now.size()); i++) {
        bool done = true;

        if (i >= change.old.size()) {
            for (; seen < all.size() && all[seen].number == free; seen++)
                free++;
            done = co_await add(call, table, key_of(ino, free++), change.now[i]);
        } else if (i >= change.now.size()) {
            done = co_await call.txn.erase(table, key_of(ino, change.old[i].number));
        } else {
            done = co_await call.txn.write(table, key_of(ino, change.old[i].number), change.now[i]);
        }
        need(done, file_row(ino), "its locks differ from those that the call read");
    }
}

dtx::Task<std::optional<LockRow>> set_lock(Call &call, uint32_t ino, LockRow wanted)
{
    expect(wanted.start <= wanted.end && wanted.end <= kLockEnd, EINVAL);

    std::vector<Numbered> all = co_await read_locks(call, ino);
    std::optional<LockRow> first = first_conflict(all, wanted);
    bool has_locks = std::any_of(all.begin(), all.end(), [&](const Numbered &lock) {
        return lock.row.client == wanted.client;
    });

    if (first)
        co_return first;
    if (wanted.type != LockType::none && !has_locks)
        co_await note_locked(call, ino, wanted.client);
    co_await replace(call, ino, all, replacement(all, wanted));
    co_return std::nullopt;
}

dtx::Task<std::optional<LockRow>> test_lock(Call &call, uint32_t ino, LockRow wanted)
{
    std::vector<Numbered> all = co_await read_locks(call, ino);

    co_return first_conflict(all, wanted);
}

dtx::Task<std::vector<LockRow>> list_conflicts(Call &call, uint32_t ino, LockRow wanted)
{
    std::vector<Numbered> all = co_await read_locks(call, ino);
    std::vector<LockRow> conflicts;

    for (const Numbered &lock : all)
        if (conflict(lock.row, wanted))
            conflicts.push_back(lock.row);
    co_return conflicts;
}

dtx::Task<bool> has_locks(Call &call, uint32_t ino, LockRow of)
{
    std::vector<Numbered> all = co_await read_locks(call, ino);

    co_return std::any_of(all.begin(), all.end(),
                          [&](const Numbered &lock) { return same_owner(lock.row, of); });
}

/* Awaited: drops the locks that @which selects. Then erases the file's row in locked_files of each
 * client that has no lock on it left, among @clients and the clients whose locks it dropped. */
static dtx::Task<> drop(Call &call, uint32_t ino, const Which &which, ClientNumbers clients)
{
    std::vector<Numbered> all = co_await read_rows(call, ino);
    ClientNumbers left;

    for (const Numbered &lock : all) {
        if (!which(lock.row)) {
            left.insert(lock.row.client);
            continue;
        }
        clients.insert(lock.row.client);

        bool erased = co_await call.txn.erase(call.tables().locks, key_of(ino, lock.number));

        need(erased, { "locks", key_of(ino, lock.number) }, "it was read, but is missing now");
    }
    for (uint16_t client : clients)
        if (left.count(client) == 0)
            (void)co_await call.txn.erase(call.tables().locked_files, key_of(client, ino));
}

dtx::Task<> drop_locks(Call &call, uint32_t ino, uint16_t client, uint64_t owner)
{
    Which which = [&](const LockRow &lock) { return lock.client == client && lock.owner == owner; };
    ClientNumbers clients{ client };

    co_await drop(call, ino, which, clients);
}

dtx::Task<> drop_seen(Call &call, uint32_t ino, std::vector<LockRow> seen)
{
    std::set<std::pair<uint16_t, uint64_t>> owners;
    Which which = [&](const LockRow &lock) {
        return owners.count({ lock.client, lock.owner }) != 0;
    };

    for (const LockRow &lock : seen)
        owners.insert({ lock.client, lock.owner });
    co_await drop(call, ino, which, ClientNumbers());
}

dtx::Task<> drop_locks_of_client(Call &call, uint32_t ino, uint16_t client)
{
    Which which = [client](const LockRow &lock) { return lock.client == client; };
    ClientNumbers clients{ client };

    co_await drop(call, ino, which, clients);
}

dtx::Task<> drop_all_locks(Call &call, uint32_t ino)
{
    Which which = [](const LockRow &) { return true; };

    co_await drop(call, ino, which, ClientNumbers());
}

dtx::Task<> put_beat(Call &call, uint16_t client, bool beats)
{
    dtx::Table<LockedFileRow> table = call.tables().locked_files;
    uint64_t key = key_of(client, kBeatFile);
    auto row = co_await call.txn.read(table, key);

    if (!row) {
        (void)co_await add(call, table, key, LockedFileRow{ beats });
        co_return;
    }
    row->beat += beats;
    (void)co_await call.txn.write(table, key, *row);
}

dtx::Task<uint64_t> beat_of(Call &call, uint16_t client)
{
    auto row = co_await call.txn.read(call.tables().locked_files, key_of(client, kBeatFile));

    co_return row ? row->beat : 0;
}

dtx::Task<std::vector<uint32_t>> list_locked_files(Call &call, uint16_t client, uint32_t limit)
{
    auto rows = co_await call.txn.scan(call.tables().locked_files, key_of(client, 0),
                                       key_of(client, UINT32_MAX), limit);
    std::vector<uint32_t> files;

    for (const auto &[key, row] : rows)
        files.push_back(lower_half(key));
    co_return files;
}

} // namespace rfs
