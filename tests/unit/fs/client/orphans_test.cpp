// SPDX-License-Identifier: BSD-3-Clause
// Files without names are freed when no client has them open.
#include "core/client/mount.h"

#include "core/tree/mounts.h"
#include "core/tree/orphans.h"
#include "unit/fs/file/files.h"

#include <cerrno>

using rfs::Call;
using rfs::Client;
using rfs::kRootIno;

namespace
{

// Unlinks a file as a client does.
void unlink_by(Client &client, const std::string &name)
{
    rfs::Credentials root;
    rfs::Node node =
        client.call_now(root, [&](Call &call) { return rfs::remove_file(call, kRootIno, name); });

    client.finish(rfs::free_file(client, node.ino));
}

bool exists(Client &client, uint32_t ino)
{
    rfs::Credentials root;

    return error_of([&] {
               (void)client.call_now(root, [&](Call &call) { return rfs::held_inode(call, ino); });
           }) == 0;
}

} // namespace

TEST_CASE("fs: a file that no client has open is freed when it loses its last name", "[unit]")
{
    TestVolume volume;
    Client &client = *volume.client;

    client.finish(rfs::mount(client));

    uint32_t ino = make_file(volume, kRootIno, "f");

    unlink_by(client, "f");
    CHECK_FALSE(exists(client, ino));
}

TEST_CASE("fs: a file that is open when it loses its last name is freed when it is closed",
          "[unit]")
{
    TestVolume volume;
    Client &client = *volume.client;

    client.finish(rfs::mount(client));

    uint32_t ino = make_file(volume, kRootIno, "f");

    (void)write_at(volume, ino, 0, "text");
    client.open_files().add(ino);
    client.open_files().add(ino);
    unlink_by(client, "f");
    client.finish(rfs::look_at_orphans(client, true));
    CHECK(read_at(volume, ino, 0, 10) == "text");
    CHECK_FALSE(client.open_files().remove(ino));
    client.finish(rfs::close_file(client, ino));
    CHECK(read_at(volume, ino, 0, 10) == "text");
    CHECK(client.open_files().remove(ino));
    client.finish(rfs::close_file(client, ino));
    CHECK_FALSE(exists(client, ino));
    CHECK(used_blocks(*volume.open) == 0);
}

TEST_CASE("fs: a file that another client has open stays until that one closes it", "[unit]")
{
    TestVolume volume(2, 2);
    Client &client = *volume.client;
    Client other(*volume.open);

    client.finish(rfs::mount(client));
    other.finish(rfs::mount(other));

    uint32_t open = make_file(volume, kRootIno, "open");
    uint32_t closed = make_file(volume, kRootIno, "closed");

    (void)write_at(volume, open, 0, "text");
    other.open_files().add(open);
    unlink_by(client, "open");
    unlink_by(client, "closed");
    client.finish(rfs::look_at_orphans(client, true)); // the other one lives
    CHECK(exists(client, open));
    CHECK(exists(client, closed)); // until the other client has said that it has it not open
    other.finish(rfs::look_at_orphans(other, false));
    CHECK(exists(client, open));
    CHECK_FALSE(exists(client, closed));
    CHECK(other.open_files().remove(open));
    other.finish(rfs::close_file(other, open));
    CHECK_FALSE(exists(client, open));
    CHECK(used_blocks(*volume.open) == 0);
}

TEST_CASE("fs: a file that is open stays while its client may join again after a restart", "[unit]")
{
    TestVolume volume(2, 2);
    Client &client = *volume.client;
    Client other(*volume.open);

    client.finish(rfs::mount(client));
    other.finish(rfs::mount(other));

    uint32_t ino = make_file(volume, kRootIno, "open");

    (void)write_at(volume, ino, 0, "text");
    other.open_files().add(ino);
    unlink_by(client, "open");
    (void)
        volume.open->cluster->recover(); // fences all sessions, as when a server was started again
    client.finish(rfs::take_turn(client, true));
    client.finish(rfs::take_turn(client, true)); // of several dead, each takes one off
    CHECK(exists(client, ino));
    CHECK(client.call_now(rfs::kSelf, [](Call &call) { return rfs::mounts(call); })
              .clients.has(other.session().coordinator()));

    volume.options.return_us = 0; // its time is over at once

    rfs::OpenVolume impatient = rfs::open_volume("home", volume.options);
    Client third(impatient);

    third.finish(rfs::look_at_orphans(third, true));
    CHECK_FALSE(exists(client, ino));
}

TEST_CASE("fs: what a client held when it died is freed, by others or by the next of its number",
          "[unit]")
{
    bool by_next = GENERATE(false, true);
    TestVolume volume;
    Client &client = *volume.client;
    std::optional<Client> other(std::in_place, *volume.open);
    uint32_t number = other->session().coordinator();
    uint32_t ino = make_file(volume, kRootIno, "f");

    CAPTURE(by_next);
    client.finish(rfs::mount(client));
    other->finish(rfs::mount(*other));
    unlink_by(client, "f");
    CHECK(exists(client, ino));
    other.reset(); // without unmount(), as if it had been killed

    if (by_next) {
        for (int i = 0; i < 200 && (!other || other->session().coordinator() != number); i++)
            other.emplace(*volume.open);
        REQUIRE(other->session().coordinator() == number);
        other->finish(rfs::mount(*other));
    } else {
        client.finish(rfs::look_at_orphans(client, false));
        CHECK(exists(client, ino));
        client.finish(rfs::look_at_orphans(client, true));
    }
    CHECK_FALSE(exists(client, ino));
}

TEST_CASE("fs: a client that unmounts holds nothing afterwards", "[unit]")
{
    TestVolume volume;
    Client &client = *volume.client;
    Client other(*volume.open);
    uint32_t first = make_file(volume, kRootIno, "first");
    uint32_t second = make_file(volume, kRootIno, "second");

    client.finish(rfs::mount(client));
    other.finish(rfs::mount(other));
    unlink_by(client, "first");
    CHECK(exists(client, first));
    other.finish(rfs::unmount(other));
    CHECK_FALSE(exists(client, first));
    unlink_by(client, "second");
    CHECK_FALSE(exists(client, second));
}

TEST_CASE("fs: a full volume has room again when a client has died that held a removed file",
          "[unit]")
{
    TestVolume volume(1, 1, "", { 400, 1 });
    Client &client = *volume.client;
    std::optional<Client> other(std::in_place, *volume.open);

    client.finish(rfs::mount(client));
    other->finish(rfs::mount(*other));

    uint32_t ino = make_file(volume, kRootIno, "f");
    uint32_t kept = make_file(volume, kRootIno, "kept");
    auto error_of_write = [&] {
        return error_of([&] { (void)write_at(volume, kept, 0, text_of(200 * 4096, 2)); });
    };

    (void)write_at(volume, ino, 0, text_of(200 * 4096, 1));
    (void)write_at(volume, ino, 200 * 4096, text_of(200 * 4096, 1));
    other->open_files().add(ino);
    unlink_by(client, "f");
    CHECK(error_of_write() == ENOSPC);
    CHECK_FALSE(client.finish(client.reclaim()));
    other.reset();

    // Only what was not there then is waited for.
    CHECK(error_of_write() == ENOSPC);
    client.finish(rfs::look_at_orphans(client, true));
    CHECK(error_of_write() == 0);
}

TEST_CASE("fs: a full volume waits for removed files that are freed", "[unit]")
{
    TestVolume volume(1, 1, "", { 400, 1 });
    Client &client = *volume.client;
    std::optional<Client> other(std::in_place, *volume.open);

    client.finish(rfs::mount(client));
    other->finish(rfs::mount(*other));

    uint32_t ino = make_file(volume, kRootIno, "f");
    uint32_t kept = make_file(volume, kRootIno, "kept");

    (void)write_at(volume, ino, 0, text_of(200 * 4096, 1));
    (void)write_at(volume, ino, 200 * 4096, text_of(200 * 4096, 1));
    unlink_by(client, "f");
    CHECK(used_blocks(*volume.open) == 400);
    other.reset(); // as if it had been killed
    (void)write_at(volume, kept, 0, text_of(200 * 4096, 2));
    CHECK(used_blocks(*volume.open) == 200);
}
