/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call.h: one call of the file system, such as mkdir(), in one attempt of its transaction.
 *
 * Each call is one transaction: what it reads was so at one time, and what it writes is in the
 * volume as a whole or not at all. A call that fails throws Failure; its reads are validated before
 * the caller gets the error (dtx::Session::transact), so the error was right at one time.
 *
 * Tests: tests/unit/fs/tree/tree_test.cpp
 */
#ifndef FS_CORE_CALL_CALL_H
#define FS_CORE_CALL_CALL_H

#include "core/base/assert.h"
#include "core/call/need.h"
#include "core/format/tables.h"
#include <dtx/error.h>
#include <dtx/scheduler.h>
#include <dtx/txn.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <librpm.h>
#include <unordered_map>
#include <vector>

namespace rfs
{

/* Ends a call with an error number of errno(3), above 0. */
struct Failure {
    int error;
};

inline void expect(bool holds, int error)
{
    if (!holds)
        throw Failure{ error };
}

/* Further groups of a caller that take long to find: asked only where they decide. */
class GroupSource
{
  public:
    virtual bool has(uint32_t group) const = 0;

  protected:
    ~GroupSource() = default;
};

/* On whose behalf a call is made. */
struct Credentials {
    uint32_t uid = 0;
    uint32_t gid = 0;
    std::vector<uint32_t> groups{};       /* beside gid */
    const GroupSource *further = nullptr; /* beside these. Borrowed */
    const bool *lost = nullptr; /* of an open file: true: its locks are gone, so its calls fail with
                                   EIO. Borrowed */

    bool is_in(uint32_t group) const
    {
        return gid == group || std::find(groups.begin(), groups.end(), group) != groups.end() ||
               (further != nullptr && further->has(group));
    }
};

/* Files that a client has open, or is opening, by number: how often. */
class OpenFiles
{
  public:
    bool has(uint32_t ino) const
    {
        return count_.count(ino) != 0;
    }
    void add(uint32_t ino)
    {
        count_[ino]++;
    }
    /* Returns whether that was the last time. */
    bool remove(uint32_t ino)
    {
        auto found = count_.find(ino);

        RFS_ASSERT(found != count_.end() && found->second > 0);
        if (--found->second > 0)
            return false;
        count_.erase(found);
        return true;
    }

    size_t size() const
    {
        return count_.size();
    }

  private:
    std::unordered_map<uint32_t, uint32_t> count_;
};

/* A file that stays open as long as this lives, or for longer: keep(). A call that opens a file
 * sets it within its attempt, so that no other call of the client lets the file go meanwhile. */
class Hold
{
  public:
    explicit Hold(OpenFiles &open) : open_(open) {}
    Hold(const Hold &) = delete;
    Hold &operator=(const Hold &) = delete;
    ~Hold()
    {
        if (ino_ != 0)
            open_.remove(ino_);
    }

    void set(uint32_t ino)
    {
        open_.add(ino);
        if (ino_ != 0)
            open_.remove(ino_);
        ino_ = ino;
    }
    /* The file stays open: the caller ends that by OpenFiles::remove(). */
    void keep()
    {
        ino_ = 0;
    }

  private:
    OpenFiles &open_;
    uint32_t ino_ = 0;
};

/* A volume, as its users open it. */
struct Volume {
    Tables tables;
    uint64_t name_seed = 0;
    uint32_t shards = 1;
};

struct Call {
    dtx::Txn &txn;
    const Volume &volume;
    const Credentials &who;
    const OpenFiles &open;
    uint32_t coordinator;    /* of the client's session */
    uint64_t owner;          /* SlabRow::owner of slabs that it has taken since it joined */
    dtx::SplitMix64 &random; /* for numbers of new files */
    int64_t now_ns;          /* since 1970 began: of the files that the call changes */
    uint64_t taken = 0;      /* blocks, by this attempt */
    uint64_t freed = 0;

    const Tables &tables() const
    {
        return volume.tables;
    }
};

/* Awaited: add a row. False: its key has one. Failure: ENOSPC, the table is full. */
template <class Row>
dtx::Task<bool> add_row(Call &call, dtx::Table<Row> table, uint64_t key, const Row &row)
{
    try {
        co_return co_await call.txn.insert(table, key, row);
    } catch (const dtx::Error &error) {
        if (error.code() != RPM_E_NOSPACE)
            throw;
        throw Failure{ ENOSPC };
    }
}

} // namespace rfs
#endif
