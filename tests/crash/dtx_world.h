// SPDX-License-Identifier: BSD-3-Clause
// dtx_world.h: a world of the device model with the servers of a database. A server that is down
// restarts when a client connects to it, or stays down.
#ifndef TESTS_CRASH_DTX_WORLD_H
#define TESTS_CRASH_DTX_WORLD_H

#include "support/catch.h"
#include "support/rounds.h"
#include <dtx/cluster.h>

#include <cstdint>
#include <librpm/sim.h>
#include <string>

class DtxWorld
{
  public:
    DtxWorld(uint64_t seed, uint32_t servers, uint64_t pool_bytes, uint64_t dram_bytes)
        : servers_(servers)
    {
        rpm_sim_opts opts = rpm_sim_opts_init();

        opts.seed = first_seed(seed);
        opts.servers = servers;
        opts.pool_bytes = pool_bytes;
        opts.dram_bytes = dram_bytes;
        REQUIRE(rpm_sim_open(&opts, &sim) == 0);
    }
    DtxWorld(const DtxWorld &) = delete;
    DtxWorld &operator=(const DtxWorld &) = delete;
    ~DtxWorld()
    {
        rpm_sim_close(&sim);
    }
    // Two copies of everything.
    dtx::Options options(uint32_t canary)
    {
        dtx::Options options;

        for (uint32_t server = 0; server < servers_; server++)
            options.urls.push_back("sim:" + std::to_string(server));
        options.replicas = 2;
        options.canary = canary;
        options.dial = [this](uint32_t server, const rpm_conn_opts *opts, rpm_conn **conn) {
            if (rpm_sim_cut_happened(sim, server)) {
                if (server == gone)
                    return int(RPM_E_REFUSED);
                int err = rpm_sim_restart(sim, server);

                restarts++;
                if (err != 0)
                    return err;
            }
            return rpm_sim_connect(sim, server, opts, conn);
        };
        return options;
    }

    rpm_sim *sim = nullptr;
    uint32_t gone = UINT32_MAX; // server that does not start again after its power cut
    int restarts = 0;

  private:
    uint32_t servers_;
};

#endif
