// SPDX-License-Identifier: BSD-3-Clause
// volume.h: small volumes on servers in this process.
#ifndef TESTS_UNIT_FS_VOLUME_H
#define TESTS_UNIT_FS_VOLUME_H

#include "core/client/client.h"
#include "core/tree/create.h"
#include "core/tree/names.h"
#include "core/tree/path.h"
#include "support/catch.h"
#include "support/servers.h"
#include <dtx/checks.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <vector>

// Servers, a volume on them, and a client.
class TestVolume
{
  public:
    static constexpr uint32_t kCoordinators = 16;

    // @mode: as of the tests of dtx: "", ",mode=ring" or "tcp".
    explicit TestVolume(uint32_t servers = 1, uint32_t replicas = 1, const std::string &mode = "",
                        rfs::Sizes sizes = { 400, 2 }, uint64_t log_bytes = 256 << 10)
    {
        rfs::NewVolume wanted{ "home", sizes };

        // A server fills the page tables of its whole pool when it starts.
        uint64_t shard = sizes.blocks() * rfs::kBlockBytes + sizes.inodes * 4096 + (2 << 20);

        servers_ = support::Servers(servers,
                                    replicas * shard + kCoordinators * log_bytes + (8 << 20), mode);
        options.urls = servers_.urls;
        options.replicas = replicas;
        options.log_bytes = log_bytes;
        options.guesses = 4000;
        options.coordinators = kCoordinators;
        options.conflicts_max = 100;
        rfs::make_volume(wanted, options);
        open.emplace(rfs::open_volume("home", options));
        client.emplace(*open);
        reading_.emplace(*open->cluster);
    }

    // Runs a call as user 0. Throws rfs::Failure.
    template <class Body> auto as_root(Body body)
    {
        return client->call_now(root, body);
    }

    dtx::Options options;
    std::optional<rfs::OpenVolume> open;
    rfs::Credentials root;

  private:
    support::Servers servers_;
    std::optional<dtx::Cluster::Reading> reading_; // connections of all checks and counts

  public:
    std::optional<rfs::Client> client;
};

// The error number that @act fails with; 0: it does not.
inline int error_of(const std::function<void()> &act)
{
    try {
        act();
    } catch (const rfs::Failure &failure) {
        return failure.error;
    }
    return 0;
}

// Creates a file in a directory. Returns its number.
inline uint32_t make(TestVolume &volume, const rfs::Credentials &who, uint32_t directory,
                     const std::string &name, uint32_t mode)
{
    return volume.client
        ->call_now(who,
                   [&](rfs::Call &call) { return rfs::create(call, directory, name, { mode }); })
        .ino;
}

inline uint32_t make_file(TestVolume &volume, uint32_t directory, const std::string &name)
{
    return make(volume, volume.root, directory, name, S_IFREG | 0644);
}

inline uint32_t make_directory(TestVolume &volume, uint32_t directory, const std::string &name)
{
    return make(volume, volume.root, directory, name, S_IFDIR | 0755);
}

inline rfs::InodeRow inode_of(TestVolume &volume, uint32_t ino)
{
    return volume.as_root([&](rfs::Call &call) { return rfs::held_inode(call, ino); }).row;
}

inline rfs::Place place_of(TestVolume &volume, uint32_t directory, const std::string &name)
{
    return volume.as_root([&](rfs::Call &call) { return rfs::find_name(call, directory, name); });
}

inline std::vector<rfs::Listed> names_in(TestVolume &volume, uint32_t directory)
{
    return volume.as_root(
        [&](rfs::Call &call) { return rfs::list_names(call, directory, 0, UINT32_MAX); });
}

// What is wrong with the database below a volume; "": nothing. Ends the volume's client.
inline std::string faults_below(TestVolume &volume)
{
    dtx::Cluster &cluster = *volume.open->cluster;
    std::string text;

    volume.client.reset();
    (void)cluster.recover();
    for (const dtx::Findings &of_copy : dtx::checks::check_copies(cluster))
        for (const std::string &what : of_copy.texts())
            text += what + "\n";
    for (const std::string &what : dtx::checks::check_indexes(cluster, 0).texts())
        text += what + "\n";
    return text;
}

#endif
