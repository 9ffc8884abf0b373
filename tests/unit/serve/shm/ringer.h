// SPDX-License-Identifier: BSD-3-Clause
// ringer.h: a ring client that posts whatever slots a test gives it.
#ifndef TESTS_UNIT_SERVE_SHM_RINGER_H
#define TESTS_UNIT_SERVE_SHM_RINGER_H

#include "support/catch.h"
#include "unit/serve/client.h"

struct Ringer : RawClient {
    uint32_t key = 0; // of a region of 4096 bytes
    uint32_t dram = 0;

    explicit Ringer(const support::Server &server, const std::string &name = "region")
        : RawClient(server)
    {
        REQUIRE(hello(RPMI_MODE_RING) == 0);
        rpmi_reply reply = open(name, RPM_KIND_REGION, 4096);
        REQUIRE(reply.status == 0);
        key = reply.key;
        reply = open(name + ".dram", RPM_KIND_DRAM, 128);
        REQUIRE(reply.status == 0);
        dram = reply.key;
        map_ring();
    }
    rpmi_slot write(uint64_t offset, uint64_t len) const
    {
        rpmi_slot slot = {};

        slot.kind = RPMI_OP_COPY;
        slot.flags = RPMI_OP_DURABLE;
        slot.key = key;
        slot.offset = offset;
        slot.len = len;
        slot.body_bytes = static_cast<uint32_t>(len);
        return slot;
    }
    rpmi_slot read(uint64_t offset, uint64_t len, uint32_t into) const
    {
        rpmi_slot slot = {};

        slot.kind = RPMI_OP_READ;
        slot.key = key;
        slot.offset = offset;
        slot.len = len;
        slot.body = into;
        return slot;
    }
    int run(const rpmi_slot &slot)
    {
        post(slot);
        return outcome();
    }
};

inline support::ServerOpts without_threads(uint32_t clients_max)
{
    support::ServerOpts opts;

    opts.bytes = 1 << 20;
    opts.clients_max = clients_max;
    opts.threads = support::ServerOpts::kNone;
    return opts;
}

#endif
