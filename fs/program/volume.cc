/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volume.cc: rpm-fs mkfs, mount, df, promote and restore.
 *
 * Tests: tests/tools/fs_test, tests/fs/mount_test
 */
#include "program/command.h"

#include "core/client/usage.h"
#include "core/client/volume.h"
#include "mount/mount.h"
#include "mount/remount.h"

#include "cli.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace rfs
{

static constexpr double kNoLimit = 300000000; /* seconds: nine years */

/* Removes the volume of that name, or what an interrupted call has left of it. */
static void remove_old(const std::string &name, const dtx::Options &servers)
{
    std::unique_ptr<dtx::Cluster> cluster;

    try {
        cluster = find_volume(name, servers).cluster;
    } catch (const dtx::Error &error) {
        if (error.code() == RPM_E_NOENT)
            return;
        throw;
    }
    try {
        expect_unused(open_volume(name, servers));
    } catch (const dtx::Error &error) { /* no client can have opened a part of a volume */
        if (error.code() != RPM_E_CORRUPT && error.code() != RPM_E_NOENT)
            throw;
    }
    cluster->remove();
}

/* The end of an error text: a --size, in MiB, for which the servers have room: the largest, less a
 * sixteenth and a MiB for each server, for the logs of clients. Empty: none is found, as when a
 * server does not answer. */
static std::string fitting_size(const rfs_make_opts &make, const std::string &name,
                                const dtx::Options &servers)
{
    uint64_t fits = 0;

    for (uint64_t step = std::bit_floor(make.bytes >> 20); step != 0; step /= 2)
        try {
            expect_room(
                new_volume(name, (fits + step) << 20, make.bytes_per_inode, servers.urls.size()),
                servers);
            fits += step;
        } catch (const dtx::Error &) { /* too large, or too small for a volume */
        }
    fits -= std::min(fits, fits / 16 + servers.urls.size());
    return fits == 0 ? "" : "; --size " + std::to_string(fits) + "M fits";
}

Body add_make(CLI::App &app)
{
    struct Options {
        PlaceOptions place;
        std::string name;
        uint64_t bytes = 0;
        uint64_t bytes_per_inode = 16u << 10;
        uint32_t replicas = 1;
        bool force = false;
    };
    auto options = std::make_shared<Options>();

    app.add_option("NAME", options->name, "of the new volume")->required();
    add_place(app, options->place);
    cli::size_option(&app, "--size", options->bytes,
                     "bytes for the contents of files, on all servers together; N copies take N "
                     "times as much")
        ->required();
    cli::size_option(&app, "--bytes-per-inode", options->bytes_per_inode,
                     "of --size for each file that there is room for (16K)");
    app.add_option("--replicas", options->replicas, "copies, each on another server (1)")
        ->check(CLI::Range(1u, 256u));
    app.add_flag("--force", options->force,
                 "first remove the volume of that name, with all files; fail if a client has it "
                 "open, or the servers have no room for the new one");
    app.footer("The root directory belongs to the user who calls this.");
    return [options] {
        dtx::Options servers = servers_of(options->place, options->name);
        std::vector<const char *> urls;
        rfs_opts opts = library_options(servers, options->name, urls);
        rfs_make_opts make = rfs_make_opts_init();

        if (options->bytes_per_inode == 0)
            throw cli::Failure("--bytes-per-inode is 0; expected is a size, such as 16K");
        make.bytes = options->bytes;
        make.bytes_per_inode = options->bytes_per_inode;
        make.replicas = options->replicas;
        make.uid = getuid();
        make.gid = getgid();
        if (options->force) {
            servers.replicas = options->replicas;
            expect_room(new_volume(options->name, options->bytes, options->bytes_per_inode,
                                   servers.urls.size()),
                        servers);
            remove_old(options->name, servers);
        }
        servers.replicas = options->replicas;

        int err = rfs_make(&opts, &make);
        std::string fits = err == -ENOSPC ? fitting_size(make, options->name, servers) : "";

        checked(options->name, err, fits);
        return cli::kDone;
    };
}

/* Options of fstab that are for other programs. */
static bool is_for_others(const std::string &word)
{
    static const std::set<std::string> others = { "auto",     "noauto",   "user",      "nouser",
                                                  "users",    "_netdev",  "nofail",    "defaults",
                                                  "rw",       "owner",    "group",     "relatime",
                                                  "diratime", "lazytime", "nolazytime" };

    return others.count(word) != 0 || word.compare(0, 2, "x-") == 0 ||
           word.compare(0, 8, "comment=") == 0;
}

/* Throws cli::Failure: a word that is no option of a mount. mount(8) also hands a remount the words
 * of fstab, and those that the kernel shows of the mount: they stay as they are. */
static void expect_remountable(const std::string &words)
{
    static const std::set<std::string> kept = {
        "remount",  "url",     "conf",        "secret-file", "patience",
        "xattr",    "user_id", "group_id",    "rootmode",    "fd",
        "max_read", "blksize", "allow_other", "allow_root",  "default_permissions"
    };
    std::istringstream each(words);

    for (std::string word; std::getline(each, word, ',');)
        if (!word.empty() && !changes_flag(word) && !is_for_others(word) &&
            kept.count(word.substr(0, word.find('='))) == 0)
            throw cli::Failure(word +
                               ": not an option that a remount changes; it changes ro, nosuid, "
                               "nodev, noexec, sync, noatime, nodiratime and relatime. For "
                               "others, unmount and mount again");
}

/* An option of libfuse or the kernel that a mount cannot have, and why. */
static void expect_possible(const std::string &key)
{
    if (key == "max_read")
        throw cli::Failure("max_read: the mount sets it to its largest read: leave it out");
    if (key == "nodiratime" || key == "strictatime")
        throw cli::Failure(key + ": " +
                           (key == "strictatime" ? "give relatime or noatime instead"
                                                 : "only a remount sets it: mount without it, "
                                                   "then rpm-fs mount NAME DIR -o "
                                                   "remount,nodiratime"));
}

/* Takes what is ours out of the words of -o, and leaves the kernel's. */
static void take_mount_options(const std::string &words, PlaceOptions &place, MountOptions &mount)
{
    std::istringstream each(words);
    std::string &kernel = mount.kernel;

    for (std::string word; std::getline(each, word, ',');) {
        size_t equals = word.find('=');
        std::string key = word.substr(0, equals);
        std::string value = equals == word.npos ? "" : word.substr(equals + 1);

        if (key == "url")
            place.urls.push_back(value);
        else if (key == "conf")
            place.conf = value;
        else if (key == "secret-file")
            cli::secret_file() = value;
        else if (key == "patience" && seconds_of(value) != 0)
            place.patience_s = seconds_of(value);
        else if (key == "patience")
            throw cli::Failure("patience: '" + value +
                               "' is not a number of seconds above 0 and below 10^9");
        else if (word == "xattr")
            mount.xattrs = true;
        else if (!word.empty() && !is_for_others(word)) {
            expect_possible(key);
            kernel += (kernel.empty() ? "" : ",") + word;
        }
    }
}

Body add_mount(CLI::App &app)
{
    struct Options {
        PlaceOptions place;
        std::string words;
        MountOptions mount;
    };
    auto options = std::make_shared<Options>();

    app.add_option("NAME", options->mount.volume, "of the volume")->required();
    app.add_option("DIR", options->mount.directory, "where")->required();
    add_place(app, options->place);
    app.add_option("-o", options->words,
                   "as of mount(8), separated by commas: url=URL, conf=FILE, secret-file=FILE, "
                   "patience=SECONDS, xattr, and those of the kernel, such as ro; remount changes "
                   "those")
        ->type_name("OPTIONS");
    app.add_flag("-f,--foreground", options->mount.foreground, "serve until it is unmounted");
    app.footer("End it with umount DIR, or fusermount3 -u DIR.");
    return [options] {
        if (has_word(options->words, "remount")) {
            expect_remountable(options->words);
            remount(options->mount.directory, options->words);
            return cli::kDone;
        }
        take_mount_options(options->words, options->place, options->mount);
        mount_volume(options->mount, servers_of(options->place, options->mount.volume, kNoLimit));
        return cli::kDone;
    };
}

Body add_usage(CLI::App &app)
{
    struct Options {
        PlaceOptions place;
        std::string name;
        bool json = false;
    };
    auto options = std::make_shared<Options>();

    app.add_option("NAME", options->name, "of the volume")->required();
    add_place(app, options->place);
    app.add_flag("--json", options->json, "as JSON");
    return [options] {
        OpenVolume open = open_volume(options->name, servers_of(options->place, options->name));
        Client client(open);
        Blocks blocks = client.finish(count_blocks(client));
        std::vector<uint32_t> away = open.cluster->dead();
        nlohmann::json facts;
        uint64_t files = 0;
        uint64_t files_max = open.volume.tables.sizes.inodes * open.volume.shards;

        open.cluster->each_row(open.volume.tables.inodes.number, 0,
                               [&](uint64_t, const void *, size_t) { files++; });
        facts = { { "bytes", blocks.all * kBlockBytes },
                  { "free_bytes", blocks.free * kBlockBytes },
                  { "files", files },
                  { "files_max", files_max },
                  { "servers", open.volume.shards },
                  { "promoted_away", away } };
        if (options->json) {
            cli::print(facts.dump() + "\n");
            return cli::kDone;
        }
        cli::print("bytes " + facts["bytes"].dump() + " free " + facts["free_bytes"].dump() +
                   " files " + facts["files"].dump() + " of " + facts["files_max"].dump() + "\n");
        for (uint32_t server : away)
            cli::print("server " + std::to_string(server) +
                       " was promoted away, so blocks have a "
                       "copy less: start it, with its pool or an empty one, then rpm-fs restore " +
                       options->name + " --server " + std::to_string(server) + "\n");
        return cli::kDone;
    };
}

namespace
{

struct ServerOptions {
    PlaceOptions place;
    std::string name;
    std::vector<uint32_t> servers;
    bool force = false; /* of promote */
};

} // namespace

static std::shared_ptr<ServerOptions> server_options(CLI::App &app, const char *about)
{
    auto options = std::make_shared<ServerOptions>();

    app.add_option("NAME", options->name, "of the volume")->required();
    add_place(app, options->place);
    app.add_option("--server", options->servers, about)
        ->required()
        ->check(CLI::Range(0u, 255u))
        ->allow_extra_args(false)
        ->type_name("N");
    return options;
}

static std::string server_words(const OpenVolume &open, uint32_t server)
{
    return "server " + std::to_string(server) + " (" + open.cluster->options().urls.at(server) +
           ")";
}

Body add_promote(CLI::App &app)
{
    auto options = server_options(app, "a lost server by its place in the volume's list, from 0");

    app.add_flag("--force", options->force,
                 "do not ask whether the servers still answer: they cannot be stopped, and no "
                 "client can reach them");
    app.footer("Stop the server first, and keep it stopped: mounts that can still reach it would "
               "go on\nusing it. A server that answers is refused. At a wrong URL no server "
               "answers, so check\nthe URLs. Name all lost servers in one command. May be "
               "interrupted and repeated.");
    return [options] {
        OpenVolume open = find_volume(options->name, servers_of(options->place, options->name));

        (void)open.cluster->promote(options->servers, options->force);
        for (uint32_t server : options->servers)
            cli::print(
                server_words(open, server) +
                " is out of the volume, whose blocks have a copy less until rpm-fs restore " +
                options->name + " --server " + std::to_string(server) + "\n");
        return cli::kDone;
    };
}

Body add_restore(CLI::App &app)
{
    auto options = server_options(app, "the server, which runs again, by its place from 0");

    app.footer("Start the server first, with its pool or an empty one. May be interrupted and "
               "repeated.");
    return [options] {
        OpenVolume open = find_volume(options->name, servers_of(options->place, options->name));

        for (uint32_t server : options->servers) {
            (void)open.cluster->restore(server);
            cli::print(server_words(open, server) + " is in the volume, with all its copies\n");
        }
        return cli::kDone;
    };
}

} // namespace rfs
