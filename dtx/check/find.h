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

/* How the user chose the database. */
struct Wanted {
    std::string name;      /* empty: the only one on the servers */
    bool workload = false; /* the command checks a workload's rules */
    std::vector<std::string> urls;
    uint32_t replicas = 0; /* 0: any number */
    std::string secret;
    uint32_t canary = 0;
    uint64_t retry_us = 0;        /* see dtx::Options */
    bool settled = true;          /* throw if a change of the view is unfinished */
    std::vector<uint32_t> absent; /* servers not to connect to: those that promote or
                                     restore names */
};

struct Found {
    ShardHeader header;
    std::unique_ptr<Workload> workload; /* null unless Wanted::workload */
    std::unique_ptr<Cluster> cluster;
    std::vector<uint32_t> dead; /* servers promoted away; empty if Wanted::absent names any */
};

/* Servers that are promoted away or absent need not answer. Throws Error that says what is missing
 * or differs from @wanted. */
Found find_database(const Wanted &wanted);

} // namespace dtx::checks
#endif
