// SPDX-License-Identifier: BSD-3-Clause
#include "crash/fs/races.h"

#include "core/client/clock.h"
#include "core/client/mount.h"
#include "core/file/contents.h"
#include "core/format/keys.h"
#include "core/tree/mounts.h"
#include "crash/fs/acts.h"
#include "crash/fs/world.h"
#include <dtx/error.h>

#include <cerrno>
#include <string_view>

using rfs::Call;
using rfs::Client;
using rfs::kSelf;

namespace crash
{

namespace
{

// A world with two clients that have the volume open, and a file /f of 20 blocks.
struct Two {
    Two(uint64_t seed, uint32_t canary) : world(seed, 0), first(world, canary), second(world, 0)
    {
        one().finish(rfs::mount(one()));
        two().finish(rfs::mount(two()));
        make_file(one(), "/f");
        write_to(one(), "/f", 0, kBytes);
    }
    Client &one()
    {
        return first.client();
    }
    Client &two()
    {
        return second.client();
    }

    static constexpr size_t kBytes = 20 * rfs::kBlockBytes;

    World world;
    Machine first;
    Machine second;
};

} // namespace

std::string read_against_write(uint64_t seed, uint32_t canary)
{
    Two all(seed, canary);
    uint32_t ino = at(all.one(), "/f");
    std::string old = text_for("/f", 0, Two::kBytes);
    std::string now = text_for("/g", 0, Two::kBytes);
    std::string got(Two::kBytes, '?');
    bool wrote = false;
    auto body = [&](Call &call) -> dtx::Task<size_t> {
        (void)co_await rfs::held_inode(call, ino);
        if (!std::exchange(wrote, true))
            write_to(all.two(), ino, 0, now);
        co_return co_await rfs::read(call, ino, 0, got.data(), got.size());
    };

    (void)all.one().call_now(kSelf, body);
    return got == old || got == now ? "" : "a read has parts of two writes";
}

std::string write_against_write(uint64_t seed, uint32_t canary)
{
    Two all(seed, canary);
    uint32_t ino = at(all.one(), "/f");
    uint32_t shard = rfs::shard_of(ino, kServers);
    std::string mine = text_for("mine", 0, 2 * rfs::kBlockBytes);
    std::string second_text = text_for("theirs", 0, 2 * rfs::kBlockBytes);
    auto lease = all.one().finish(all.one().space().lease(shard, 2));
    bool wrote = false;
    auto body = [&](Call &call) -> dtx::Task<rfs::Node> {
        for (rfs::Slab slab : lease.room().slabs)
            (void)co_await call.txn.read(call.tables().slabs, rfs::key_of(slab.shard, slab.number));
        if (!std::exchange(wrote, true)) {
            make_file(all.two(), "/g");
            write_to(all.two(), at(all.two(), "/g"), 0, second_text);
        }
        co_return co_await rfs::write(call, ino, { 0, mine.data(), mine.size() }, lease.room());
    };

    try {
        (void)all.one().call_now(kSelf, body);
    } catch (const rfs::Shortage &) { // the slab is another client's now
    }
    try {
        return read_from(all.two(), at(all.two(), "/g")) == second_text ? ""
                                                                        : "a write was overwritten";
    } catch (const dtx::Error &error) {
        return error.what();
    }
}

std::string lock_against_lock(uint64_t seed, uint32_t canary)
{
    Two all(seed, canary);

    lock(all.one(), "/f", { 1, rfs::LockType::write });
    try {
        lock(all.two(), "/f", { 2, rfs::LockType::write });
    } catch (const rfs::Failure &failure) {
        return failure.error == EAGAIN ? "" : "error " + std::to_string(failure.error);
    }
    return "two clients that live have locks that exclude each other";
}

std::string open_against_solo(uint64_t seed, uint32_t canary)
{
    World world(seed, 0, true);
    Machine first(world, canary);
    Machine second(world, canary);

    first.client().finish(rfs::mount(first.client()));
    first.client().finish(rfs::take_turn(first.client(), false));

    uint64_t begin = dtx::now_ns();

    second.client().finish(rfs::mount(second.client()));
    return dtx::now_ns() - begin > rfs::kKeepNs
               ? ""
               : "a client acts while the solo client's kernel may keep names";
}

std::string write_in_one_tick(uint64_t seed, uint32_t canary)
{
    Two all(seed, canary);

    rfs::set_clock(seed, 0);
    write_to(all.one(), "/f", 0, 100);

    int64_t before = node_at(all.one(), "/f").row.mtime_ns;

    write_to(all.two(), "/f", 0, 200);
    return node_at(all.one(), "/f").row.mtime_ns > before
               ? ""
               : "a write did not change the file's time";
}

std::string pointer_astray(uint64_t seed, uint32_t canary)
{
    Two all(seed, canary);
    Client &client = all.one();

    make_file(client, "/g");
    write_to(client, "/g", 0, rfs::kBlockBytes);

    uint32_t to = at(client, "/f");
    rfs::Pointer pointer = node_at(client, "/g").row.pointers[0];
    auto body = [&](Call &call) -> dtx::Task<> {
        rfs::Node node = co_await rfs::held_inode(call, to);

        node.row.pointers[0] = pointer;
        co_await rfs::put(call, node);
    };

    client.call_now(kSelf, body);
    try {
        (void)read_from(client, to);
    } catch (const dtx::Error &error) {
        return error.code() == RPM_E_CORRUPT ? "" : error.what();
    }
    return "the block of another file was read";
}

std::string move_below_itself(uint64_t seed, uint32_t canary)
{
    Two all(seed, canary);
    std::string_view made[] = { "/a", "/a/b", "/a/b/c" };

    for (std::string_view path : made)
        make_directory(all.one(), std::string(path));
    try {
        move(all.one(), "/a", "/a/b/c/a");
    } catch (const rfs::Failure &failure) {
        return failure.error == EINVAL ? "" : "error " + std::to_string(failure.error);
    }
    return "a directory is below itself";
}

} // namespace crash
