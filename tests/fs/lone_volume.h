// SPDX-License-Identifier: BSD-3-Clause
// lone_volume.h: a volume of any size on one server in this process, and a client of it.
#ifndef TESTS_FS_LONE_VOLUME_H
#define TESTS_FS_LONE_VOLUME_H

#include "core/client/files.h"
#include "core/tree/create.h"
#include "support/server.h"
#include <dtx/layout.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <sys/stat.h>

class LoneVolume
{
  public:
    explicit LoneVolume(rfs::Sizes sizes)
        : tables("lone", sizes), layout(tables.schema), server_(server_for(layout))
    {
        dtx::Options servers;

        servers.urls = { server_.url() };
        servers.coordinators = 4;
        rfs::make_volume({ "lone", sizes }, servers);
        open.emplace(rfs::open_volume("lone", servers));
        client.emplace(*open);
    }

    uint32_t make(uint32_t directory, uint32_t mode, const std::string &name)
    {
        return client
            ->call_now(
                rfs::kSelf,
                [&](rfs::Call &call) { return rfs::create(call, directory, name, { mode }); })
            .ino;
    }

    rfs::Tables tables;
    dtx::Layout layout;

  private:
    static support::ServerOpts server_for(const dtx::Layout &layout)
    {
        support::ServerOpts opts;

        opts.anonymous = true;
        opts.bytes = dtx::whole_pages(layout.region_bytes()) + (64 << 20);
        opts.dram_bytes = dtx::whole_pages(layout.lock_bytes()) + (1 << 20);
        return opts;
    }

    support::Server server_;

  public:
    std::optional<rfs::OpenVolume> open;
    std::optional<rfs::Client> client;
};

// A number of an option. False: @text is none, or it is too small.
inline bool number_option(const char *text, uint64_t least, uint64_t &into)
{
    char *end = nullptr;

    into = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && into >= least;
}

#endif
