/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * servers.h: the servers that dtx-bench starts: child processes with pools in memory.
 */
#ifndef DTX_BENCH_SERVERS_H
#define DTX_BENCH_SERVERS_H

#include "bench/options.h"

#include <string>
#include <sys/types.h>
#include <vector>

namespace dtx::bench
{

class Servers
{
  public:
    /* Start them. Only while this process has one thread. Throws cli::Failure; a database that does
     * not fit into memory is refused before. */
    Servers(const Options &options, const Schema &schema);
    Servers(const Servers &) = delete;
    Servers &operator=(const Servers &) = delete;
    /* Stop the servers, and remove their pools unless the user keeps them. */
    ~Servers();

    const std::vector<std::string> &urls() const
    {
        return urls_;
    }
    const std::string &folder() const
    {
        return folder_;
    }

  private:
    void start(const Options &options, uint64_t pool_bytes, uint64_t dram_bytes);
    void stop();

    std::string folder_;
    bool keep_;
    std::vector<std::string> urls_;
    std::vector<pid_t> pids_;
};

} // namespace dtx::bench
#endif
