/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * block_map.h: the pointers of a file's blocks, in its inode and in rows of the table maps, read
 * and changed within a call.
 *
 * Tests: tests/unit/fs/file/contents_test.cpp, resize_test.cpp, allocate_test.cpp
 */
#ifndef FS_CORE_FILE_BLOCK_MAP_H
#define FS_CORE_FILE_BLOCK_MAP_H

#include "core/tree/inodes.h"

#include <coroutine>
#include <cstdint>
#include <optional>
#include <vector>

namespace rfs
{

/* The row that has the pointer of a block. */
RowName row_with(uint32_t ino, uint64_t block);

/* Keeps the row of maps that was used last: a call goes through a file in the order of its
 * blocks. */
class BlockMap
{
  public:
    /* @node: borrowed; its pointers and its count of blocks are changed, and put() is left to the
     * caller. */
    BlockMap(Call &call, Node &node) : call_(call), node_(node) {}
    BlockMap(const BlockMap &) = delete;
    BlockMap &operator=(const BlockMap &) = delete;

    /* What awaits nothing if the row is the one used last: most blocks of a call. */
    struct Turn {
        bool await_ready() const
        {
            return !task;
        }
        bool await_suspend(std::coroutine_handle<> awaiting)
        {
            return task->await_suspend(awaiting);
        }
        void await_resume()
        {
            if (task)
                task->await_resume();
        }
        std::optional<dtx::Task<>> task;
    };
    /* Awaited: turn to a block, whose pointer can then be read and changed. */
    Turn turn_to(uint64_t block);

    /* A sound one. */
    Pointer get(uint64_t block) const;

    /* Give a block another pointer. Returns the former one, whose block is to be freed. */
    Pointer set(uint64_t block, Pointer pointer);

    /* A row of maps, and the number of its first block. */
    struct Row {
        uint64_t first;
        MapRow map;
    };
    /* Awaited: the rows that have blocks @from to @end - 1, at most @limit, in their order. Without
     * what this map has set and not put yet. */
    dtx::Task<std::vector<Row>> rows(uint64_t from, uint64_t end, uint32_t limit);

    /* Awaited: make blocks @from to @end - 1 holes, of at most @limit rows of maps. Adds the former
     * pointers to @freed. Returns the first of the blocks that may still have a pointer; nullopt:
     * none. */
    dtx::Task<std::optional<uint64_t>> clear(uint64_t from, uint64_t end, uint32_t limit,
                                             std::vector<Pointer> &freed);

    /* Awaited: write the rows of maps that were changed. */
    dtx::Task<> put_rows();

  private:
    bool has(uint64_t block) const;
    dtx::Task<> take_row(uint64_t key);
    void expect_sound(uint64_t block, const Pointer &pointer) const;

    Call &call_;
    Node &node_;
    std::optional<uint64_t> key_; /* of row_, in the table maps */
    MapRow row_{};
    bool exists_ = false; /* the table has the row */
    bool changed_ = false;
};

} // namespace rfs
#endif
