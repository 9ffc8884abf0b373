// SPDX-License-Identifier: BSD-3-Clause
// clients_scripts.cpp: what clients keep in a volume: open files, locks, themselves.
#include "core/client/files.h"
#include "core/client/mount.h"
#include "core/tree/mounts.h"
#include "crash/fs/acts.h"
#include "crash/fs/scripts.h"
#include <dtx/error.h>

using rfs::LockKind;
using rfs::LockType;

namespace crash
{

static void file_with_text(Cast &cast)
{
    make_file(cast.first, "/f");
    write_to(cast.first, "/f", 0, 9000);
}

// A file that a client has open.
static void keep(Cast &cast, rfs::Client &client)
{
    file_with_text(cast);
    cast.kept = at(cast.first, "/f");
    client.open_files().add(cast.kept);
}

static void close_kept(Cast &cast, rfs::Client &client)
{
    (void)client.open_files().remove(cast.kept);
    client.finish(rfs::close_file(client, cast.kept));
}

// As the daemon of a mount, which tries again in the next second what a lost server has ended.
static void turn(rfs::Client &client)
{
    for (int i = 0; i < 3; i++) {
        try {
            client.finish(rfs::take_turn(client, true));
            return;
        } catch (const dtx::Error &) {
        }
    }
}

static void end_solo(Cast &cast)
{
    // Of another client, which has that number and does nothing more.
    uint32_t number = (cast.first.session().coordinator() + 1) % 4;

    (void)cast.first.call_now(rfs::kSelf,
                              [=](rfs::Call &call) { return rfs::add_client(call, number); });
}

std::vector<Script> clients_scripts()
{
    return {
        { "unlink while open",
          [](Cast &c) { keep(c, c.first); },
          { { [](Cast &c) { remove(c.first, "/f"); } },
            { [](Cast &c) { write_to(c.first, c.kept, 5000, text_for("/f", 1, 9000)); } },
            { [](Cast &c) { close_kept(c, c.first); } } },
          true },
        { "unlink while open there",
          [](Cast &c) { keep(c, *c.second); },
          { { [](Cast &c) { remove(c.first, "/f"); } },
            { [](Cast &c) { c.first.finish(rfs::look_at_orphans(c.first, false)); } } } },
        { "lock",
          file_with_text,
          { { [](Cast &c) {
                lock(c.first, "/f", { 1, LockType::write, 0, 99 });
            } },
            { [](Cast &c) {
                lock(c.first, "/f", { 2, LockType::read, 200, rfs::kLockEnd });
            } },
            { [](Cast &c) {
                lock(c.first, "/f", { 3, LockType::write, 0, rfs::kLockEnd, LockKind::flock });
            } } } },
        { "unlock",
          [](Cast &c) {
              file_with_text(c);
              lock(c.first, "/f", { 1, LockType::write, 0, 999 });
              lock(c.first, "/f", { 2, LockType::read, 2000, 2999 });
          },
          { { [](Cast &c) {
                lock(c.first, "/f", { 1, LockType::none, 100, 199 });
            } },
            { [](Cast &c) {
                lock(c.first, "/f", { 1, LockType::read, 500, 2100 });
            } },
            { [](Cast &c) { unlock_all(c.first, "/f", 1); } },
            { [](Cast &c) { unlock_all(c.first, "/f", 2); } } } },
        { "mount alone",
          file_with_text,
          { { [](Cast &c) { turn(c.first); } },
            { [](Cast &c) { c.first.finish(rfs::unmount(c.first)); } },
            { [](Cast &c) { c.first.finish(rfs::mount(c.first)); } } },
          true },
        { "end the time alone",
          [](Cast &c) {
              file_with_text(c);
              turn(c.first);
          },
          { { end_solo }, { [](Cast &c) { write_to(c.first, "/f", 100, 100); } }, { [](Cast &c) {
                turn(c.first);
            } } },
          true },
    };
}

const std::vector<Script> &scripts()
{
    static const std::vector<Script> all = [] {
        std::vector<Script> list = contents_scripts();

        for (const Script &each : names_scripts())
            list.push_back(each);
        for (const Script &each : clients_scripts())
            list.push_back(each);
        return list;
    }();

    return all;
}

} // namespace crash
