// SPDX-License-Identifier: BSD-3-Clause
// servers.h: servers in the test's process, with anonymous pools, for tests with several of them.
#ifndef TESTS_SUPPORT_SERVERS_H
#define TESTS_SUPPORT_SERVERS_H

#include "server.h"

#include <memory>
#include <string>
#include <vector>

namespace support
{

class Servers
{
  public:
    Servers() = default;
    // @pool_bytes: of each server. @mode: "": shm: URLs, the servers' memory is mapped;
    // ",mode=ring": shm: URLs, the servers serve rings; "tcp": tcp: URLs.
    Servers(uint32_t count, uint64_t pool_bytes, const std::string &mode = "")
    {
        ServerOpts opts;

        opts.anonymous = true;
        opts.bytes = pool_bytes;
        opts.clients_max = 64;
        opts.flags = RPM_SERVER_NO_SPIN;
        opts.listen = mode == "tcp" ? "tcp://127.0.0.1:0/pool" : "";
        for (uint32_t i = 0; i < count; i++) {
            servers_.push_back(std::make_unique<Server>(opts));
            urls.push_back(mode == "tcp" ? servers_.back()->listener_url()
                                         : servers_.back()->url() + mode);
        }
    }

    // All servers are lost for good.
    void stop()
    {
        servers_.clear();
    }

    std::vector<std::string> urls;

  private:
    std::vector<std::unique_ptr<Server>> servers_;
};

} // namespace support

#endif
