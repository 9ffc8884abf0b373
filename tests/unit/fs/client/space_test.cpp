// SPDX-License-Identifier: BSD-3-Clause
// Clients own slabs.
#include "core/client/space.h"

#include "core/format/keys.h"
#include "unit/fs/file/files.h"

#include <cerrno>
#include <chrono>
#include <future>
#include <set>
#include <thread>

using rfs::kBlockBytes;
using rfs::kRootIno;
using rfs::Space;

namespace
{

std::map<uint64_t, uint64_t> owners_of(const rfs::OpenVolume &open)
{
    std::map<uint64_t, uint64_t> owners;

    open.cluster->each_row(open.volume.tables.slabs.number, 0,
                           [&](uint64_t key, const void *row, size_t) {
                               rfs::SlabRow slab;

                               std::memcpy(&slab, row, sizeof(slab));
                               owners[key] = slab.owner;
                           });
    return owners;
}

constexpr size_t kUsable = rfs::kSlabBlocks - rfs::kReserveBlocks;

Space::Lease lease_of(rfs::Client &client, uint32_t shard, size_t blocks)
{
    return client.finish(client.space().lease(shard, blocks));
}

// Of a client that leases all its slabs: a call that needs one more block waits
// until a lease ends.
void check_that_calls_wait(rfs::Client &client, std::vector<Space::Lease> &leases)
{
    bool ended = false;
    bool leased = false;
    auto waits = [&]() -> dtx::Task<> {
        Space::Lease lease = co_await client.space().lease(0, 1);

        CHECK(ended);
        leased = true;
    };
    auto ends = [&]() -> dtx::Task<> {
        co_await client.session().sleep_until(dtx::now_ns() + 1000000);
        ended = true;
        leases.pop_back();
    };
    std::vector<dtx::Task<>> tasks;

    tasks.push_back(waits());
    tasks.push_back(ends());
    client.session().run(std::move(tasks));
    CHECK(leased);
    leases.push_back(lease_of(client, 0, kUsable));
}

} // namespace

TEST_CASE("fs: calls that run beside each other lease different slabs", "[unit]")
{
    TestVolume volume(2);
    std::optional<Space::Lease> first(lease_of(*volume.client, 1, 100));
    Space::Lease second = lease_of(*volume.client, 1, 100);
    Space::Lease large = lease_of(*volume.client, 0, 600);
    rfs::Slab slab = first->room().slabs.at(0);

    CHECK(slab.shard == 1);
    CHECK_FALSE(slab == second.room().slabs.at(0));
    CHECK(large.room().slabs.size() == 2);
    first.reset();
    CHECK(lease_of(*volume.client, 1, 100).room().slabs.at(0) == slab);
    CHECK(owners_of(*volume.open).size() == 4);
}

TEST_CASE("fs: a client gives its slabs back when it ends", "[unit]")
{
    TestVolume volume(1, 1, "", { 400, 4 });
    rfs::Client second(*volume.open);

    (void)lease_of(*volume.client, 0, 10);
    for (const auto &[key, owner] : owners_of(*volume.open))
        CHECK(owner == volume.client->owner());
    volume.client.reset();
    for (const auto &[key, owner] : owners_of(*volume.open))
        CHECK(owner == 0);

    // All slabs have rows then, one by one, and the one that was given back is found again.
    std::vector<Space::Lease> leases;

    for (int i = 0; i < 4; i++)
        leases.push_back(lease_of(second, 0, kUsable));
    CHECK(owners_of(*volume.open).size() == 4);
    check_that_calls_wait(second, leases);

    // The reserve of each slab is leased if there is no other room.
    leases.clear();
    CHECK_FALSE(lease_of(second, 0, 4 * kUsable).room().reserve);
    CHECK(lease_of(second, 0, 4 * kUsable + 1).room().reserve);
    CHECK(error_of([&] { (void)lease_of(second, 0, 4 * rfs::kSlabBlocks + 1); }) == ENOSPC);
}

TEST_CASE("fs: clients of a full volume share the slabs that have free blocks", "[unit]")
{
    TestVolume volume(1, 1, "", { 400, 4 });
    rfs::Client &first = *volume.client;
    rfs::Client second(*volume.open);
    auto owned = [&] {
        size_t count = 0;

        for (const auto &[key, owner] : owners_of(*volume.open))
            count += owner == first.owner() ? 1 : 0;
        return count;
    };

    // While there are unused slabs, it keeps those that it has.
    (void)lease_of(first, 0, 3 * kUsable);
    first.finish(first.space().share());
    CHECK(owned() == 3);

    // Then it keeps two, and those that calls lease.
    (void)lease_of(first, 0, 4 * kUsable);
    CHECK(owned() == 4);
    CHECK(error_of([&] { (void)lease_of(second, 0, 1); }) == ENOSPC);
    {
        Space::Lease lease = lease_of(first, 0, 3 * kUsable);

        first.finish(first.space().share());
        CHECK(owned() == 4);
    }
    first.finish(first.space().share());
    CHECK(owned() == 2);
    CHECK(lease_of(second, 0, 2 * kUsable).room().slabs.size() == 2);
    CHECK(lease_of(first, 0, 2 * kUsable).room().slabs.size() == 2);
    CHECK(error_of([&] { (void)lease_of(first, 0, 4 * rfs::kSlabBlocks); }) == ENOSPC);
}

TEST_CASE("fs: a call in a full volume fails while other clients keep their slabs", "[unit]")
{
    TestVolume volume(1, 1, "", { 400, 4 });
    rfs::Client second(*volume.open);
    uint32_t ino = make_file(volume, kRootIno, "f");

    (void)lease_of(*volume.client, 0, 4 * kUsable);
    CHECK(error_of([&] {
              (void)second.finish(rfs::write_file(second, rfs::kSelf, ino, { 0, "x", 1 }));
          }) == ENOSPC);
    volume.client->finish(volume.client->space().share());
    CHECK(error_of([&] {
              (void)second.finish(rfs::write_file(second, rfs::kSelf, ino, { 0, "x", 1 }));
          }) == 0);
}

TEST_CASE("fs: calls at once in a full volume fail, and do not wait for each other", "[unit]")
{
    TestVolume volume(2, 1, "", { 400, 4 });
    rfs::Client second(*volume.open);
    std::vector<dtx::Task<>> tasks;
    uint32_t failed = 0;
    auto leases = [&](uint32_t shard, size_t blocks) -> dtx::Task<> {
        try {
            (void)co_await second.space().lease(shard, blocks);
        } catch (const rfs::Failure &failure) {
            CHECK(failure.error == ENOSPC);
            failed++;
        }
    };
    auto watches = [&]() -> dtx::Task<> { // else a call that waits for ever would hang the test
        for (int i = 0; i < 300 && failed < 4; i++)
            co_await second.session().sleep_until(dtx::now_ns() + 10000000);
        CHECK(failed == 4);
        volume.client->finish(volume.client->space().share());
    };

    // The first client keeps all slabs but two of each shard, which have less than the calls need.
    for (uint32_t shard : { 0u, 1u })
        (void)lease_of(*volume.client, shard, 4 * kUsable);
    volume.client->finish(volume.client->space().share());
    for (uint32_t i = 0; i < 4; i++)
        tasks.push_back(leases(i % 2, i < 2 ? 5 * kUsable : 9 * kUsable));
    tasks.push_back(watches());
    second.session().run(std::move(tasks));
    CHECK(failed == 4);
}

TEST_CASE("fs: a call in a full volume waits until other clients give slabs back", "[unit]")
{
    TestVolume volume(1, 1, "", { 400, 4 });
    uint32_t ino = make_file(volume, kRootIno, "f");
    std::promise<void> full;
    std::thread other([&] {
        rfs::Client client(*volume.open);

        (void)lease_of(client, 0, 4 * kUsable);
        full.set_value();
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        client.finish(client.space().share());
    });

    full.get_future().wait();
    CHECK(error_of([&] { (void)write_at(volume, ino, 0, "x"); }) == 0);
    other.join();
}

TEST_CASE("fs: the slabs of a dead client are taken, those of a live one are not", "[unit]")
{
    TestVolume volume(1, 1, "", { 400, 4 });
    rfs::Client second(*volume.open);
    uint64_t owner = volume.client->owner();
    std::vector<Space::Lease> leases;

    (void)lease_of(*volume.client, 0, 3 * kUsable);
    CHECK(owners_of(*volume.open).size() == 3);
    leases.push_back(lease_of(second, 0, kUsable));
    check_that_calls_wait(second, leases);

    // As if the client had been killed: its session is gone, and its slabs are still its own.
    volume.client.reset();
    for (uint32_t number : { 0, 1, 2 })
        second.call_now(volume.root, [&](rfs::Call &call) -> dtx::Task<> {
            rfs::SlabRow row{};

            row.owner = owner;
            (void)co_await call.txn.write(call.tables().slabs, rfs::key_of(0, number), row);
        });
    for (int i = 0; i < 3; i++)
        leases.push_back(lease_of(second, 0, kUsable));
    for (const auto &[key, found] : owners_of(*volume.open))
        CHECK(found == second.owner());
    check_that_calls_wait(second, leases);
}

TEST_CASE("fs: a client that was fenced and joins again is another owner of its slabs", "[unit]")
{
    TestVolume volume(1, 1, "", { 400, 1 });
    uint32_t ino = make_file(volume, kRootIno, "f");
    uint64_t before = volume.client->owner();

    (void)write_at(volume, ino, 0, "before");
    (void)volume.client->cluster().recover(volume.client->session().coordinator());
    (void)write_at(volume, ino, 0, "behind");

    uint64_t after = volume.client->owner();

    CHECK(after != before);
    CHECK(rfs::coordinator_of(after) == rfs::coordinator_of(before));
    for (const auto &[key, owner] : owners_of(*volume.open))
        CHECK(owner == after);
    CHECK(read_at(volume, ino, 0, 10) == "behind");
}

TEST_CASE("fs: a volume is full when all its blocks are in use", "[unit]")
{
    TestVolume volume(2, 1, "", { 400, 1 });
    uint32_t ino = make_file(volume, kRootIno, "f");
    uint64_t blocks = 0;

    while (error_of([&] {
               (void)write_at(volume, ino, blocks * kBlockBytes, text_of(kBlockBytes, 1));
           }) == 0)
        blocks++;
    CHECK(blocks == 2 * kUsable);
    CHECK(used_blocks(*volume.open) == blocks);
    CHECK(inode_of(volume, ino).blocks == blocks);

    // What is there can be overwritten, and cut within a block. A slab that has got more free
    // blocks by that than its reserve has room for new ones.
    for (uint64_t i = 0; i < 3 * 2 * rfs::kReserveBlocks; i++)
        CHECK(error_of([&] { (void)write_at(volume, ino, i * kBlockBytes, "x"); }) == 0);
    CHECK(error_of([&] { (void)resize_to(volume, ino, blocks * kBlockBytes - 1); }) == 0);
    uint64_t more = 0;

    while (error_of([&] { (void)write_at(volume, ino, (blocks + more) * kBlockBytes, "x"); }) == 0)
        more++;
    CHECK(more < rfs::kReserveBlocks);
    CHECK(used_blocks(*volume.open) == blocks + more);
    CHECK(error_of([&] { (void)write_at(volume, ino, 0, "x"); }) == 0);
    (void)resize_to(volume, ino, 10 * kBlockBytes);
    CHECK(used_blocks(*volume.open) == 10);
    CHECK(error_of([&] { (void)write_at(volume, ino, 0, "x"); }) == 0);
    CHECK((read_at(volume, ino, 1, 100) == text_of(kBlockBytes, 1).substr(1, 100)));
    CHECK(faults_of_blocks(volume) == "");
}
