// SPDX-License-Identifier: BSD-3-Clause
// mounted.h: volumes on servers in this process, as users of librpmfs have them.
#ifndef TESTS_UNIT_FS_LIB_MOUNTED_H
#define TESTS_UNIT_FS_LIB_MOUNTED_H

#include "core/client/volume.h"
#include "support/catch.h"
#include "support/servers.h"
#include <librpmfs.h>

#include <cstdint>
#include <string>
#include <vector>

inline const rfs_cred kRoot{ 0, 0, nullptr, 0 };
constexpr uint64_t kForEver = UINT64_MAX;

// Servers, and a volume on them.
class Mounted
{
  public:
    // @mode: "": the servers' memory is mapped; ",mode=ring", "tcp".
    explicit Mounted(uint32_t servers = 2, uint64_t bytes = 8 << 20, const std::string &mode = "")
        : servers_(servers, 48 << 20, mode)
    {
        for (const std::string &url : servers_.urls)
            urls_.push_back(url.c_str());
        opts.name = "library";
        opts.urls = urls_.data();
        opts.url_count = servers;
        make.bytes = bytes;
        make.replicas = servers > 1 ? 2 : 1;
    }
    ~Mounted()
    {
        rfs_unmount(&client);
    }
    Mounted(const Mounted &) = delete;
    Mounted &operator=(const Mounted &) = delete;
    Mounted &mount()
    {
        REQUIRE(rfs_make(&opts, &make) == 0);
        REQUIRE(rfs_mount(&opts, &client) == 0);
        return *this;
    }
    const std::vector<std::string> &urls() const
    {
        return servers_.urls;
    }

    rfs_opts opts = rfs_opts_init();
    rfs_make_opts make = rfs_make_opts_init();
    rfs_client *client = nullptr;

  private:
    support::Servers servers_;
    std::vector<const char *> urls_;
};

// The volume as the core has it, below the library.
inline rfs::OpenVolume core_of(const Mounted &volume)
{
    dtx::Options options;

    options.urls = volume.urls();
    options.replicas = volume.make.replicas;
    return rfs::open_volume(volume.opts.name, options);
}

// A further client of a volume.
struct Another {
    explicit Another(const Mounted &volume)
    {
        REQUIRE(rfs_mount(&volume.opts, &client) == 0);
    }
    ~Another()
    {
        rfs_unmount(&client);
    }
    Another(const Another &) = delete;
    Another &operator=(const Another &) = delete;

    rfs_client *client = nullptr;
};

inline rfs_file *opened(rfs_client *client, const char *path, int flags)
{
    rfs_file *file = nullptr;

    REQUIRE(rfs_open(client, &kRoot, path, flags, 0644, &file) == 0);
    return file;
}

inline std::string contents(rfs_file *file)
{
    std::string text(1000, '?');
    ssize_t got = rfs_pread(file, text.data(), text.size(), 0);

    REQUIRE(got >= 0);
    text.resize(static_cast<size_t>(got));
    return text;
}

// Waits for the next completion.
inline rfs_completion next(rfs_client *client)
{
    rfs_completion done{};

    REQUIRE(rfs_wait(client, &done, 1, 1, kForEver) == 1);
    return done;
}

inline int64_t result(rfs_client *client)
{
    return next(client).result;
}

#endif
