/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * replica.h: a copy of a shard on a server: create it, name it in errors, and verify that the
 * descriptor that was read there is its own.
 *
 * Tests: tests/unit/dtx/engine/cluster/cluster_test.cpp
 */
#ifndef DTX_ENGINE_REPLICA_H
#define DTX_ENGINE_REPLICA_H

#include "engine/cluster/view.h"
#include "engine/format/descriptor.h"
#include <dtx/cluster.h>

#include <cstdint>
#include <functional>
#include <string>

namespace dtx
{

/* A copy of a shard: the number of the shard, and the server that the copy is on. */
struct Replica {
    uint32_t shard;
    uint32_t server;
};

Descriptor describe(const Cluster &cluster, Replica replica);

/* The shard of which a server has copy @copy when all servers are live. */
uint32_t shard_of_copy(const Cluster &cluster, uint32_t server, uint32_t copy);

/* Create the region of a replica and write its header. In a server's own shard, its state says that
 * @view was accepted. Appends the region's name to @made once it exists, also if it then throws. */
void create_shard(const Cluster &cluster, rpm_conn *conn, Replica replica, const View &view,
                  std::vector<std::string> &made);

/* Create the lock regions of all shards of which a server has a copy, backups included, so that a
 * server without room for them is refused now, and not when its backup becomes a primary. Lock
 * regions that exist stay as they are. Throws Error, RPM_E_NOSPACE, with the DRAM that the server
 * must have. */
void create_all_locks(const Cluster &cluster, rpm_conn *conn, uint32_t server);

/* "shard 1 on server 0 (shm:/tmp/a)" */
std::string replica_name(const Cluster &cluster, Replica replica);

/* Throws Error, RPM_E_CORRUPT. The text says what is damaged (@what), on which server, and how to
 * rebuild that server. */
[[noreturn]] void fail_damaged(const std::string &what, const Cluster &cluster, Replica replica);

/* The same of the redo logs on a server. @why: of the library. */
[[noreturn]] void fail_damaged_log(const Cluster &cluster, uint32_t server, const std::string &why);

/* Throws Error, RPM_E_FOREIGN, RPM_E_CORRUPT or RPM_E_VERSION, unless @found is a descriptor of
 * this format. @cluster: has the URLs. */
void certify(const Descriptor &found, const Cluster &cluster, Replica replica);

/* A function that reads @bytes of a shard from @offset on. Throws Error. */
using ReadShard = std::function<void(uint64_t offset, void *into, uint64_t bytes)>;

/* The description of the tables, behind a descriptor that certify() accepted. Throws Error,
 * RPM_E_CORRUPT. */
std::string read_description(const Descriptor &found, const Cluster &cluster, Replica replica,
                             const ReadShard &read);

/* Throws Error, as certify() does, or RPM_E_VERSION with the first difference, unless @found
 * describes @replica of this database. @read: reads the same shard. */
void compare(const Descriptor &found, const Cluster &cluster, Replica replica,
             const ReadShard &read);

} // namespace dtx
#endif
