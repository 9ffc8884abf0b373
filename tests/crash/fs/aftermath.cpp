// SPDX-License-Identifier: BSD-3-Clause
#include "crash/fs/aftermath.h"

#include "core/client/mount.h"
#include "core/client/space.h"
#include "core/tree/mounts.h"
#include "crash/fs/acts.h"
#include "crash/fs/state.h"

#include <cerrno>
#include <sstream>

using rfs::Client;

namespace crash
{

void take_turns(Client &client)
{
    static constexpr int kTurns = 50; // a server may not have found out yet who is dead
    bool alone = false;

    for (int i = 0; i < kTurns && !alone; i++) {
        client.finish(rfs::take_turn(client, true));

        auto body = [](rfs::Call &call) { return rfs::mounts(call); };
        rfs::ClientSet others = client.call_now(rfs::kSelf, body).clients;

        others.remove(client.session().coordinator());
        alone = others.empty();
    }
}

void leave(Client &client, uint32_t kept)
{
    if (kept != 0 && client.open_files().has(kept)) {
        (void)client.open_files().remove(kept);
        client.finish(rfs::close_file(client, kept));
    }
    client.finish(rfs::unmount(client));
}

// All files can be locked: no lock of a dead client is left.
static std::string lock_all(Client &client)
{
    std::string text;

    for (const std::string &path : files(client)) {
        try {
            for (rfs::LockKind kind : { rfs::LockKind::posix, rfs::LockKind::flock })
                lock(client, path, { 99, rfs::LockType::write, 0, rfs::kLockEnd, kind });
        } catch (const rfs::Failure &failure) {
            text += "stuck: " + path + " cannot be locked, error " + std::to_string(failure.error) +
                    "\n";
        }
        unlock_all(client, path, 99);
    }
    return text;
}

// All free blocks can be had, which takes the slabs of dead clients, and be written.
static std::string use_all(const Machine &machine, Client &client)
{
    size_t free = kServers * kSlabs * rfs::kSlabBlocks - used_blocks(machine.open());

    try {
        auto lease = client.finish(client.space().lease(0, free));
    } catch (const rfs::Failure &failure) {
        return "leaked: " + std::to_string(free) + " blocks are free, and cannot be had, error " +
               std::to_string(failure.error) + "\n";
    }
    make_file(client, "/after");
    write_to(client, "/after", 0, 9000);
    if (read_from(client, at(client, "/after")) != text_for("/after", 0, 9000))
        return "half: a file that was written is read differently\n";
    remove(client, "/after");
    return "";
}

// Each fault by its kind.
static std::string sorted(const std::string &faults)
{
    std::istringstream lines(faults);
    std::string text;

    for (std::string line; std::getline(lines, line);) {
        bool leaks = line.find("in use, and no file has it") != line.npos;

        text += (leaks ? "leaked: " : "half: ") + line + "\n";
    }
    return text;
}

std::string aftermath(Machine &machine, uint32_t kept)
{
    Client &client = machine.client();
    std::string text;

    try {
        take_turns(client);
        text = lock_all(client) + use_all(machine, client);
        leave(client, kept);
        machine.close();
        (void)machine.open().cluster->recover();
    } catch (const rfs::Failure &failure) {
        return text + "stuck: going on failed with error " + std::to_string(failure.error) + "\n";
    }
    return text + sorted(faults_of(machine.open())) + remains_in(machine.open());
}

} // namespace crash
