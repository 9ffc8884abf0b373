// SPDX-License-Identifier: BSD-3-Clause
// claimed.h: a pool with one log, which two clients have open.
#ifndef TESTS_UNIT_POOL_CLAIMED_H
#define TESTS_UNIT_POOL_CLAIMED_H

#include "unit/pool/server.h"

constexpr uint64_t HEADER = 36864;

struct ClaimServer : PoolServer {
    uint32_t me = client();
    uint32_t you = client();
    uint32_t mine;
    uint32_t yours;

    ClaimServer()
    {
        mine = open(me, "log", RPM_KIND_LOG, 8192).key;
        yours = open(you, "log", RPM_KIND_LOG).key;
    }
    rpmi_reply claim(uint32_t client, uint32_t key, uint32_t flags = 0)
    {
        return with_key(client, RPMI_CALL_CLAIM, key, 0, flags);
    }
    // With an epoch, and with its token.
    rpmi_reply claim_epoch(uint32_t client, uint32_t key, uint32_t epoch, uint64_t token = 0,
                           uint32_t flags = 0)
    {
        rpmi_call request = {};

        request.kind = RPMI_CALL_CLAIM;
        request.key = key;
        request.flags = flags;
        request.epoch = epoch;
        request.token = token;
        return call(client, request);
    }
    // Both clients again, after a restart.
    void attach()
    {
        me = client();
        you = client();
        mine = open(me, "log", RPM_KIND_LOG).key;
        yours = open(you, "log", RPM_KIND_LOG).key;
    }
    uint64_t guard() const
    {
        return rpmi_load64(&pool.bytes[HEADER + RPMI_GUARD_OFFSET]);
    }
};

#endif
