// SPDX-License-Identifier: BSD-3-Clause
// context.h: a world with a real pool service, and links into it, for the tests of the sim:
// provider.
#ifndef TESTS_UNIT_TRANSPORT_SIM_CONTEXT_H
#define TESTS_UNIT_TRANSPORT_SIM_CONTEXT_H

extern "C" {
#include "base/mem.h"
#include "transport/sim/sim.h"
}
#include "support/catch.h"

#include <cstring>
#include <string>
#include <vector>

const uint64_t SECOND = 1000000000;

class Context
{
  public:
    explicit Context(const char *preset = "adr", uint64_t seed = 1, uint32_t servers = 1)
    {
        rpm_sim_opts opts = rpm_sim_opts_init();

        opts.preset = preset;
        opts.seed = seed;
        opts.servers = servers;
        opts.pool_bytes = 128 << 10;
        opts.dram_bytes = 4096;
        REQUIRE(rpm_sim_open(&opts, &sim) == 0);
    }

    ~Context()
    {
        for (rpmi_link *link : links)
            link->ops->close(link);
        rpm_sim_close(&sim);
    }

    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

    static rpmi_link_opts link_opts()
    {
        rpmi_link_opts opts = {};

        opts.timeout_us = 1000000;
        opts.depth = 16;
        opts.staging_bytes = 64 << 10;
        return opts;
    }

    rpmi_link *connect(uint32_t server = 0)
    {
        rpmi_link_opts opts = link_opts();
        rpmi_link *link = nullptr;

        REQUIRE(rpmi_sim_link_open(sim, server, &opts, &link) == 0);
        links.push_back(link);
        return link;
    }

    static uint64_t deadline(rpmi_link *link)
    {
        return link->ops->now_ns(link) + SECOND;
    }

    static rpmi_call opening(const char *name, uint32_t kind, uint64_t bytes, uint32_t flags)
    {
        rpmi_call call = {};

        call.kind = RPMI_CALL_OPEN;
        call.object = kind;
        call.bytes = bytes;
        call.flags = flags;
        snprintf(call.name, sizeof(call.name), "%s", name);
        return call;
    }

    // A region's key; creates the region if it does not exist.
    static uint32_t region(rpmi_link *link, const char *name = "r", uint64_t bytes = 8192)
    {
        rpmi_call call = opening(name, RPM_KIND_REGION, bytes, RPMI_CALL_CREATE);
        rpmi_reply reply = {};

        REQUIRE(link->ops->call(link, &call, &reply, deadline(link)) == 0);
        REQUIRE(reply.status == 0);
        return reply.key;
    }

    rpm_sim *sim = nullptr;
    std::vector<rpmi_link *> links;
};

#endif
