// SPDX-License-Identifier: BSD-3-Clause
// fs_test.cpp: calls of the file system in a world of the device model whose servers lose power, or
// die, at any event. The client detects that, recovers the database and continues: after each call,
// and at the end, the tree is as without a cut, and the volume is whole on both copies.
#include "core/check/check.h"
#include "core/client/files.h"
#include "core/client/mount.h"
#include "core/file/contents.h"
#include "core/tree/create.h"
#include "core/tree/names.h"
#include "core/tree/path.h"
#include "core/tree/remove.h"
#include "core/tree/rename.h"
#include "crash/dtx_world.h"
#include <dtx/checks.h>
#include <dtx/error.h>

#include <functional>
#include <linux/fs.h>
#include <map>
#include <optional>
#include <sys/stat.h>
#include <vector>

using rfs::Call;
using rfs::Client;
using rfs::kRootIno;

namespace
{

constexpr uint32_t kServers = 2;
const rfs::Credentials kRoot{};

uint32_t at(Client &client, const std::string &path)
{
    return client
        .call_now(kRoot, [&](Call &call) { return rfs::resolve(call, kRootIno, path, false); })
        .ino;
}

void make(Client &client, const std::string &in, const std::string &name, uint32_t mode,
          const std::string &target = "")
{
    uint32_t directory = at(client, in);

    client.call_now(kRoot, [&](Call &call) {
        return rfs::create(call, directory, name, { mode, 0, target });
    });
}

// @offset: UINT64_MAX: behind the end.
void write_to(Client &client, const std::string &path, uint64_t offset, size_t size)
{
    std::string text;
    bool append = offset == UINT64_MAX;

    while (text.size() < size)
        text += path + std::to_string(text.size()) + std::to_string(offset);
    (void)client.finish(rfs::write_file(client, kRoot, at(client, path),
                                        { append ? 0 : offset, text.data(), size, append }));
}

void cut_to(Client &client, const std::string &path, uint64_t size)
{
    (void)client.finish(rfs::resize_file(client, kRoot, at(client, path), size));
}

void move(Client &client, const std::string &from_in, const std::string &from,
          const std::string &to_in, const std::string &to, uint32_t flags = 0)
{
    rfs::Spot source{ at(client, from_in), from };
    rfs::Spot target{ at(client, to_in), to };
    auto replaced = client.call_now(
        kRoot, [&](Call &call) { return rfs::rename(call, source, target, flags); });

    if (replaced && replaced->row.links == 0)
        client.finish(rfs::free_file(client, replaced->ino));
}

void remove(Client &client, const std::string &in, const std::string &name, bool directory = false)
{
    uint32_t parent = at(client, in);
    rfs::Node node = client.call_now(kRoot, [&](Call &call) {
        return directory ? rfs::remove_directory(call, parent, name)
                         : rfs::remove_file(call, parent, name);
    });

    if (node.row.links == 0)
        client.finish(rfs::free_file(client, node.ino));
}

void add_name(Client &client, const std::string &path, const std::string &in,
              const std::string &name)
{
    uint32_t ino = at(client, path);
    uint32_t directory = at(client, in);

    client.call_now(kRoot, [&](Call &call) { return rfs::link(call, ino, directory, name); });
}

using Step = std::function<void(Client &)>;

const std::vector<Step> &script()
{
    constexpr uint32_t kFile = S_IFREG | 0644, kDirectory = S_IFDIR | 0755;
    static const std::vector<Step> steps = {
        [](Client &c) { make(c, "/", "a", kDirectory); },
        [](Client &c) { make(c, "/a", "f", kFile); },
        [](Client &c) { write_to(c, "/a/f", 0, 5000); },
        [](Client &c) { write_to(c, "/a/f", 100, 50); },
        [](Client &c) { write_to(c, "/a/f", 60000, 10); },   // behind a hole
        [](Client &c) { write_to(c, "/a/f", 20000, 9000); }, // into the hole
        [](Client &c) { write_to(c, "/a/f", UINT64_MAX, 100); },
        [](Client &c) { cut_to(c, "/a/f", 21000); },
        [](Client &c) { make(c, "/", std::string(200, 'n'), kFile); },
        [](Client &c) { move(c, "/", std::string(200, 'n'), "/a", "g"); },
        [](Client &c) { write_to(c, "/a/g", 0, 8192); },
        [](Client &c) { move(c, "/a", "g", "/a", "f"); }, // over a file with contents
        [](Client &c) { make(c, "/a", "l", S_IFLNK | 0777, std::string(600, 't')); },
        [](Client &c) { add_name(c, "/a/f", "/", "h"); },
        [](Client &c) { make(c, "/a", "b", kDirectory); },
        [](Client &c) { move(c, "/a", "b", "/", "b"); },
        [](Client &c) { move(c, "/", "h", "/", "b", RENAME_EXCHANGE); },
        [](Client &c) { remove(c, "/a", "f"); }, // it has another name
        [](Client &c) { remove(c, "/", "b"); },  // its last one
        [](Client &c) { remove(c, "/a", "l"); },
        [](Client &c) { remove(c, "/", "h", true); },
        [](Client &c) { make(c, "/a", "last", kFile); },
        [](Client &c) { write_to(c, "/a/last", 0, 4096); },
    };

    return steps;
}

// The tree below a directory: names, types, links, sizes, contents.
std::string tree(Client &client, uint32_t ino, const std::string &path)
{
    std::string text;
    std::map<std::string, uint32_t> names;
    auto listed = client.call_now(
        kRoot, [&](Call &call) { return rfs::list_names(call, ino, 0, UINT32_MAX); });

    for (const rfs::Listed &one : listed)
        names[one.name] = one.ino;
    for (const auto &[name, child] : names) {
        rfs::Node node =
            client.call_now(kRoot, [&](Call &call) { return rfs::held_inode(call, child); });
        std::string bytes(node.row.size, '?');

        text += path + name + " mode " + std::to_string(node.row.mode) + " links " +
                std::to_string(node.row.links) + " size " + std::to_string(node.row.size);
        if (S_ISREG(node.row.mode))
            (void)client.call_now(kRoot, [&](Call &call) {
                return rfs::read(call, child, 0, bytes.data(), bytes.size());
            });
        else if (S_ISLNK(node.row.mode))
            bytes = client.call_now(kRoot, [&](Call &call) { return rfs::read_link(call, child); });
        text += " hash " + std::to_string(std::hash<std::string>()(bytes)) + "\n";
        if (S_ISDIR(node.row.mode))
            text += tree(client, child, path + name + "/");
    }
    return text;
}

struct Result {
    uint64_t events = 0; // of all steps
    bool happened = false;
    std::vector<std::string> trees; // after each step; of a run with a cut, after the cut alone
    std::string faults;
};

std::string faults_of(const rfs::OpenVolume &open)
{
    std::string text;
    auto add = [&](const dtx::Findings &found) {
        for (const std::string &what : found.texts())
            text += what + "\n";
    };

    for (const dtx::Findings &found : dtx::checks::check_copies(*open.cluster))
        add(found);
    add(dtx::checks::check_indexes(*open.cluster, 0));
    add(rfs::check_tables(open, 0));
    add(rfs::check_tables(open, 1));
    add(rfs::check_data(open));
    return text;
}

// A run during which @server fails at @event; 0: never. @looks: at the tree after each step.
Result live_through(uint64_t event, uint32_t server, rpm_cut cut, uint32_t canary,
                    bool looks = false)
{
    DtxWorld world(event, kServers, 16 << 20, 2 << 20);
    dtx::Options options = world.options(canary);
    Result result;

    options.log_bytes = 64 << 10;
    options.guesses = 1000;
    options.coordinators = 4;
    rfs::make_volume({ "home", { 80, 1 } }, options);

    rfs::OpenVolume open = rfs::open_volume("home", options);

    {
        Client client(open);

        client.finish(rfs::mount(client));
        uint64_t begin = rpm_sim_events(world.sim);

        rpm_sim_cut_at(world.sim, server, event, cut);
        for (const Step &step : script()) {
            int before = world.restarts;

            step(client);
            if (looks || world.restarts != before || &step == &script().back())
                result.trees.push_back(tree(client, kRootIno, "/"));
            else
                result.trees.emplace_back();
        }
        result.events = rpm_sim_events(world.sim) - begin;
    }
    rpm_sim_cut_at(world.sim, server, 0, RPM_CUT_NONE);
    (void)open.cluster->recover();
    result.happened = world.restarts > 0;
    result.faults = faults_of(open);
    return result;
}

} // namespace

TEST_CASE("fs: a server that loses power or dies at any event loses no call", "[crash]")
{
    Result whole = live_through(0, 0, RPM_CUT_NONE, 0, true);
    uint64_t events = live_through(0, 0, RPM_CUT_NONE, 0).events;
    auto cut = GENERATE(RPM_CUT_DROP, RPM_CUT_TEAR, RPM_CUT_REORDER, RPM_CUT_KILL);

    REQUIRE(events > 1000);
    REQUIRE(whole.faults == "");
    for (uint64_t event = 1; event <= events * 95 / 100; event += events / 60) {
        Result result = live_through(event, static_cast<uint32_t>(event % kServers), cut, 0);

        CAPTURE(event, int(cut));
        CHECK(result.faults == "");
        CHECK(result.happened);
        for (size_t i = 0; i < result.trees.size(); i++)
            if (result.trees[i] != "")
                CHECK(result.trees[i] == whole.trees[i]);
    }
}

TEST_CASE("fs: a commit whose rows are written before its record is found", "[canary]")
{
    uint64_t events = live_through(0, 0, RPM_CUT_NONE, 0).events;
    bool found = false;

    for (uint64_t event = 1; event <= events && !found; event += events / 150)
        try {
            found = live_through(event, static_cast<uint32_t>(event % kServers), RPM_CUT_DROP,
                                 dtx::kCanaryLogLate)
                        .faults != "";
        } catch (const dtx::Error &error) {
            found = error.code() == RPM_E_CORRUPT; // the run itself read the damage
        } catch (const rfs::Failure &) {
            found = true; // a call that succeeds without a cut
        }
    CHECK(found);
}

TEST_CASE("fs: bytes of files that are on one copy alone are found", "[canary]")
{
    CHECK(live_through(0, 0, RPM_CUT_NONE, dtx::kCanarySpanPrimary).faults != "");
}
