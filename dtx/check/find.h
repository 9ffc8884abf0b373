/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * find.h: find the database that some servers hold and open it, from the descriptors of its shards
 * alone.
 *
 * Tests: tests/tools/dtx_check_test
 */
#ifndef DTX_CHECK_FIND_H
#define DTX_CHECK_FIND_H

#include "engine/cluster/shard_header.h"
#include "workload/workload.h"
#include <dtx/cluster.h>

#include <memory>
#include <string>

namespace dtx::checks
{

/* What the user says of it. */
struct Wanted {
    std::string name;      /* empty: whichever is there, but only one */
    bool workload = false; /* it is that of a workload, whose rules are wanted */
    std::vector<std::string> urls;
    uint32_t replicas = 0; /* 0: as it is */
    std::string secret;
    uint32_t canary = 0;
    uint64_t retry_us = 0;        /* as dtx::Options has it */
    bool settled = true;          /* is it to be known which servers live? */
    std::vector<uint32_t> absent; /* servers that are not asked: a command is about to change
                                     whether they are used */
};

struct Found {
    ShardHeader header;
    std::unique_ptr<Workload> workload; /* if that was wanted */
    std::unique_ptr<Cluster> cluster;
    std::vector<uint32_t> dead; /* servers; not looked for when some are absent */
};

/* A server that is promoted away need not be there; nor those that are absent. Throws Error that
 * says what is not there, or is not as wanted. */
Found find_database(const Wanted &wanted);

} // namespace dtx::checks
#endif
