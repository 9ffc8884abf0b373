/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stored.h: what the servers hold of a database, for a program that needs that to declare the
 * schema, such as the sizes of its tables.
 *
 * Tests: tests/unit/dtx/engine/cluster/stored_test.cpp
 */
#ifndef DTX_STORED_H
#define DTX_STORED_H

#include <dtx/cluster.h>

#include <cstdint>
#include <string>

namespace dtx
{

struct StoredDatabase {
    uint32_t schema_version;
    uint32_t servers;
    uint32_t replicas;
    bool durable;
    std::string comment; /* of its schema */
};

/* Reads it from the first server that answers and has an undamaged shard of the database. Uses
 * urls, secret, timeout_us and dial of @options. Throws Error: RPM_E_NOENT, all servers answer and
 * none has the database; else the first server's error: it does not answer, or its shard is damaged
 * (RPM_E_CORRUPT). Blocks for one connection to each server, at most. */
StoredDatabase stored_database(const std::string &name, const Options &options);

/* Throws Error, RPM_E_NOSPACE, naming the first server that has too few free bytes for @cluster and
 * the log of one session. Counts the bytes of a database of the same name as free, for a caller
 * that is going to remove it. Changes nothing. Free bytes may be in several pieces, and other
 * programs may take them: create() may still find no room. Blocks for one connection to each
 * server. */
void expect_room(const Cluster &cluster);

} // namespace dtx
#endif
