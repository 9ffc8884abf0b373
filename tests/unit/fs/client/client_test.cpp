// SPDX-License-Identifier: BSD-3-Clause
// Calls run as transactions.
#include "core/client/client.h"

#include "core/client/clock.h"
#include "unit/fs/volume.h"

#include <cerrno>

using rfs::Call;
using rfs::kRootIno;

TEST_CASE("fs: a call that fails leaves nothing, and the client goes on", "[unit]")
{
    std::string mode = GENERATE("", ",mode=ring", "tcp");
    TestVolume volume(2, 2, mode);

    CAPTURE(mode);
    CHECK(error_of([&] {
              volume.as_root([&](Call &call) -> dtx::Task<> {
                  (void)co_await rfs::create(call, kRootIno, "a", { S_IFREG | 0644 });
                  throw rfs::Failure{ EINTR };
              });
          }) == EINTR);
    CHECK(names_in(volume, kRootIno).empty());
    CHECK(make_file(volume, kRootIno, "a") > kRootIno);
    CHECK(names_in(volume, kRootIno).size() == 1);
}

TEST_CASE("fs: calls of coroutines run beside each other", "[unit]")
{
    std::string mode = GENERATE("", "tcp");
    TestVolume volume(2, 2, mode);
    std::vector<dtx::Task<>> tasks;
    auto makes = [&](int number) -> dtx::Task<> {
        for (int i = 0; i < 5; i++) {
            std::string name = std::to_string(number) + "." + std::to_string(i);

            (void)co_await volume.client->call(volume.root, [&](Call &call) {
                return rfs::create(call, kRootIno, name, { S_IFREG | 0644 });
            });
        }
    };

    CAPTURE(mode);
    for (int number = 0; number < 4; number++)
        tasks.push_back(makes(number));
    volume.client->session().run(std::move(tasks));
    CHECK(names_in(volume, kRootIno).size() == 20);
    CHECK(inode_of(volume, kRootIno).size == 20);
    CHECK(faults_below(volume) == "");
}

TEST_CASE("fs: times of changes grow, though the clock may not", "[unit]")
{
    TestVolume volume;
    int64_t later = rfs::wall_ns() + 3600 * 1000000000ll;

    volume.as_root([&](Call &call) -> dtx::Task<> {
        rfs::Node node = co_await rfs::held_inode(call, kRootIno);

        node.row.mtime_ns = node.row.ctime_ns = later; // the clock jumps back an hour afterwards
        co_await rfs::put(call, node);
    });
    (void)make_file(volume, kRootIno, "a");
    CHECK(inode_of(volume, kRootIno).mtime_ns == later + 1);
    CHECK(inode_of(volume, kRootIno).ctime_ns == later + 1);
}
