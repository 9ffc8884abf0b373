/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rename.cc: all of renameat2() in one transaction.
 *
 * Tests: tests/unit/fs/tree/rename_test.cpp
 */
#include "core/tree/rename.h"

#include "core/base/assert.h"
#include "core/base/canary.h"
#include "core/tree/names.h"
#include "core/tree/permission.h"
#include <dtx/error.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <linux/fs.h> /* RENAME_NOREPLACE, RENAME_EXCHANGE */
#include <sys/stat.h>

namespace rfs
{

namespace
{

/* One of the two names, with its directory and the file to which it leads. */
struct Side {
    Spot spot;
    Node parent;
    Place place;
    Node node; /* ino 0: the name is absent */

    bool is_directory() const
    {
        return node.ino != 0 && S_ISDIR(node.row.mode);
    }
};

} // namespace

static dtx::Task<Side> side_of(Call &call, Spot spot)
{
    Side side{ spot, {}, {}, {} };

    if (spot.parent != nullptr)
        side.parent = *spot.parent;
    else
        side.parent = co_await held_directory(call, spot.directory, kMayExecute);
    if (spot.place != nullptr)
        side.place = *spot.place;
    else
        side.place = co_await find_name(call, spot.directory, spot.name);
    if (side.place.is_taken())
        side.node = co_await named_inode(call, side.place.ino);
    co_return side;
}

/* Awaited: is @directory, or one above it, the directory @ino? Damaged parents may form a loop:
 * this finds it by Brent's algorithm, with a mark that moves at each power of two. */
static dtx::Task<bool> is_below(Call &call, Node directory, uint32_t ino)
{
    if (canary(Canary::loop_unchecked))
        co_return false;

    uint32_t marked = 0;

    for (uint64_t depth = 1; directory.ino != ino && directory.ino != kRootIno; depth++) {
        need(directory.ino != marked, file_row(marked), "the directories above it form a loop");
        if (std::has_single_bit(depth))
            marked = directory.ino;
        directory = co_await named_inode(call, directory.row.parent);
        need(S_ISDIR(directory.row.mode), file_row(directory.ino),
             "a directory has it as its parent, but it is no directory");
    }
    co_return directory.ino == ino;
}

/* May the caller take the file of a name away, or add the name? */
static void expect_may_change(const Call &call, const Side &side)
{
    expect(may(call.who, side.parent.row, kMayWrite), EACCES);
    if (side.node.ino != 0)
        expect(may_remove(call.who, side.parent.row, side.node.row), EPERM);
}

/* A directory that moves to another one gets another "..". */
static void expect_may_move(const Call &call, const Side &side)
{
    if (side.is_directory())
        expect(may(call.who, side.node.row, kMayWrite), EACCES);
}

/* Two directories, or one that stands for both: each is read and written once. */
namespace
{

class Parents
{
  public:
    Parents(const Node &from, const Node &to) : from_(from), to_(to) {}

    Node &from()
    {
        return from_;
    }
    Node &to()
    {
        return is_one() ? from_ : to_;
    }
    bool is_one() const
    {
        return from_.ino == to_.ino;
    }
    dtx::Task<> put_back(Call &call)
    {
        touch_contents(call, from_.row);
        co_await put(call, from_);
        if (is_one())
            co_return;
        touch_contents(call, to_.row);
        co_await put(call, to_);
    }

  private:
    Node from_;
    Node to_;
};

} // namespace

/* Awaited: the inode of a file that is in another directory now, or has another name. */
static dtx::Task<> move(Call &call, Node node, uint32_t directory)
{
    if (S_ISDIR(node.row.mode))
        node.row.parent = directory;
    touch_inode(call, node.row);
    co_await put(call, node);
}

static dtx::Task<> exchange(Call &call, const Side &from, const Side &to)
{
    Parents parents(from.parent, to.parent);

    co_await change_name(call, from.place, to.node.ino, to.node.row.mode);
    co_await change_name(call, to.place, from.node.ino, from.node.row.mode);
    co_await move(call, from.node, to.spot.directory);
    co_await move(call, to.node, from.spot.directory);
    if (from.is_directory() && !parents.is_one()) {
        uncount(parents.from(), 0, 1);
        parents.to().row.links++;
    }
    if (to.is_directory() && !parents.is_one()) {
        uncount(parents.to(), 0, 1);
        parents.from().row.links++;
    }
    co_await parents.put_back(call);
}

/* Awaited: returns the file that was replaced. */
static dtx::Task<std::optional<Node>> replace(Call &call, const Side &from, const Side &to)
{
    Parents parents(from.parent, to.parent);
    std::optional<Node> replaced;

    co_await remove_name(call, from.place);
    uncount(parents.from(), 1, from.is_directory() ? 1 : 0);
    if (to.node.ino == 0) {
        Place place = to.place;

        /* Removing a name may have freed a lower key of the same hash; this one is free as well. */
        co_await add_name(call, place, to.spot.name, from.node.ino, from.node.row.mode);
        parents.to().row.size++;
    } else {
        Node loser = to.node;

        co_await change_name(call, to.place, from.node.ino, from.node.row.mode);
        co_await drop_name(call, loser);
        if (to.is_directory())
            uncount(parents.to(), 0, 1);
        replaced = loser;
    }
    if (from.is_directory())
        parents.to().row.links++;
    co_await move(call, from.node, to.spot.directory);
    co_await parents.put_back(call);
    co_return replaced;
}

static bool is_dot(std::string_view name)
{
    return name == "." || name == "..";
}

dtx::Task<std::optional<Node>> rename(Call &call, Spot from_spot, Spot to_spot, uint32_t flags)
{
    bool exchanges = flags == RENAME_EXCHANGE;

    expect(flags == 0 || flags == RENAME_NOREPLACE || exchanges, EINVAL);
    check_name(from_spot.name);
    check_name(to_spot.name);
    expect(!is_dot(from_spot.name) && !is_dot(to_spot.name), EBUSY);

    Side from = co_await side_of(call, from_spot);

    expect(from.node.ino != 0, ENOENT);

    Side to = co_await side_of(call, to_spot);
    bool moves = from.parent.ino != to.parent.ino;

    expect(to.node.ino == 0 || flags != RENAME_NOREPLACE, EEXIST);
    expect(to.node.ino != 0 || !exchanges, ENOENT);
    if (from.is_directory() && moves) {
        bool loop = co_await is_below(call, to.parent, from.node.ino);

        expect(!loop, EINVAL);
    }
    if (to.is_directory() && moves) {
        bool loop = co_await is_below(call, from.parent, to.node.ino);

        expect(!loop, exchanges ? EINVAL : ENOTEMPTY);
    }
    if (from.node.ino == to.node.ino) /* two names of one file: POSIX has both stay */
        co_return std::nullopt;
    expect_may_change(call, from);
    expect_may_change(call, to);
    expect(exchanges || from.is_directory() || !to.is_directory(), EISDIR);
    expect(exchanges || !from.is_directory() || to.node.ino == 0 || to.is_directory(), ENOTDIR);
    if (moves)
        expect_may_move(call, from);
    if (moves && exchanges)
        expect_may_move(call, to);
    if (exchanges) {
        co_await exchange(call, from, to);
        co_return std::nullopt;
    }
    expect(!from.is_directory() || to.is_directory() || !moves || to.parent.row.links < kLinksMax,
           EMLINK);
    expect(!to.is_directory() || to.node.row.size == 0, ENOTEMPTY);
    co_return co_await replace(call, from, to);
}

} // namespace rfs
