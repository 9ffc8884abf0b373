/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mend.h: the repairs, one for each kind of Wrong.
 *
 * Tests: tests/unit/fs/check/repair_test.cpp
 */
#ifndef FS_CORE_CHECK_MEND_H
#define FS_CORE_CHECK_MEND_H

#include "core/check/wrong.h"
#include "core/client/client.h"

#include <string>
#include <utility>
#include <vector>

namespace rfs
{

/* In which order kinds are repaired: each step needs what those before it have put right. */
enum class Step : uint8_t { rows, pointers, links, counts, bits, never };
Step step_of(Kind kind);

class Mender
{
  public:
    /* @alone: a client that has the volume alone. */
    Mender(const OpenVolume &open, Client &alone) : open_(open), client_(alone) {}

    /* @lost: blocks in use and of no file, as shard and block. @frees: they may be freed. */
    void set_lost(std::vector<std::pair<uint32_t, uint64_t>> lost, bool frees)
    {
        lost_ = std::move(lost);
        frees_ = frees;
    }
    /* Repairs one thing. Returns what it did; "": nothing. Throws Failure, dtx::Error. */
    std::string mend(const Wrong &wrong);

  private:
    std::string mend_row(const Wrong &wrong);
    std::string mend_pointer(const Wrong &wrong);
    std::string mend_links(const Wrong &wrong);
    std::string mend_count(const Wrong &wrong);
    std::string mend_bit(const Wrong &wrong);

    template <class Row> bool erase(dtx::Table<Row> table, uint64_t key)
    {
        return client_.call_now(kSelf, [&](Call &call) -> dtx::Task<bool> {
            co_return co_await call.txn.erase(table, key);
        });
    }
    /* Calls @change(row). False: there is no such row. */
    template <class Row, class Change>
    bool change(dtx::Table<Row> table, uint64_t key, Change change)
    {
        return client_.call_now(kSelf, [&](Call &call) -> dtx::Task<bool> {
            auto row = co_await call.txn.read(table, key);

            if (!row)
                co_return false;
            change(*row);
            (void)co_await call.txn.write(table, key, *row);
            co_return true;
        });
    }
    template <class Row> std::vector<uint64_t> keys_of(dtx::Table<Row> table) const
    {
        std::vector<uint64_t> keys;

        open_.cluster->each_row(table.number, 0,
                                [&](uint64_t key, const void *, size_t) { keys.push_back(key); });
        return keys;
    }
    std::string mend_name(uint64_t key);
    std::string move_name(uint64_t key);
    std::string remove_name_row(uint64_t key);
    std::string mend_target(const Wrong &wrong);
    std::string mend_xattrs(const Wrong &wrong);
    std::string drop_locks();
    std::string find_block(uint32_t ino, uint64_t number);
    std::string lengthen(uint32_t ino, uint64_t number);
    std::string part_block(const Wrong &wrong);
    std::string mend_parent(const Wrong &wrong);
    std::string reconnect(uint32_t ino);
    std::string add_orphan_row(uint32_t ino);
    Pointer pointer_at(uint32_t ino, uint64_t number);
    bool set_pointer(uint32_t ino, uint64_t number, const Pointer &pointer);
    std::string block_bytes(uint32_t shard, uint64_t block);
    std::vector<std::pair<uint32_t, uint64_t>> places_of(uint64_t place) const;

    const OpenVolume &open_;
    Client &client_;
    std::vector<std::pair<uint32_t, uint64_t>> lost_;
    bool frees_ = false;
};

} // namespace rfs
#endif
