/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shard_header.h: the bytes before the tables of a shard, readable without the schema: the name of
 * its database, the number of shards and copies, the tables, and the comment of the program that
 * made it.
 *
 * Tests: tests/unit/dtx/engine/cluster/shard_header_test.cpp
 */
#ifndef DTX_ENGINE_SHARD_HEADER_H
#define DTX_ENGINE_SHARD_HEADER_H

#include "engine/cluster/replica.h"

#include <librpm.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dtx
{

struct ShardHeader {
    uint32_t schema_version;
    uint32_t shards;
    uint32_t shard;
    uint32_t replicas;
    bool durable;
    std::string comment;     /* the schema's comment; empty: none */
    std::string description; /* of its tables: description.h */
};

/* The first kTablesOffset bytes of a shard: the descriptor, the schema's comment, the description
 * of the tables, and, in a server's own shard, that it has accepted @view. */
std::vector<unsigned char> encode_shard_header(const Cluster &cluster, Replica replica,
                                               const View &view);

/* The header of a shard on the server of @conn. @cluster: has the URLs, and may be of another
 * database. Throws Error: RPM_E_NOENT, RPM_E_FOREIGN, RPM_E_CORRUPT, RPM_E_VERSION. */
ShardHeader read_shard_header(rpm_conn *conn, const std::string &database, const Cluster &cluster,
                              Replica replica);

/* The databases of which a server has shards: by name, the numbers of the shards. */
std::map<std::string, std::vector<uint32_t>> shards_on(rpm_conn *conn);

} // namespace dtx
#endif
