/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * descriptor.h: the first bytes of a shard: which database, which schema, which shard it is, on
 * which server; and, in a server's own shard, what that server has been told of views.
 *
 * Tests: tests/unit/dtx/engine/cluster_test.cpp
 */
#ifndef DTX_ENGINE_DESCRIPTOR_H
#define DTX_ENGINE_DESCRIPTOR_H

#include "engine/view.h"
#include <dtx/cluster.h>

#include <cstdint>
#include <functional>
#include <string>

namespace dtx
{

inline constexpr uint64_t kDescriptorMagic = 0x3144524148535844; /* "DXSHARD1" */
inline constexpr uint32_t kFormatVersion = 4;
inline constexpr uint32_t kNotDurable = 1; /* no redo logs, nothing is flushed */

struct Descriptor {
    uint64_t magic;
    uint32_t format;
    uint32_t schema_version;
    uint64_t schema_sum; /* of its description, which is behind the first page */
    uint32_t shards;
    uint32_t shard;
    uint32_t replicas;
    uint32_t server;
    uint32_t description_bytes;
    uint32_t flags;    /* kNotDurable */
    uint64_t checksum; /* of what is before it */
};

/* In the first page of a server's own shard: what the server has been told of views. Zeros in
 * others. */
inline constexpr uint64_t kStateOffset = kDescriptorBytes - 512;
inline constexpr uint64_t kStateStride =
    256; /* no line and no block of a device has a part of both */
static_assert(sizeof(StateRecord) <= kStateStride);
static_assert(kStateOffset + 2 * kStateStride <= kDescriptorBytes);

/* A copy of a shard: which, and where. */
struct Place {
    uint32_t shard;
    uint32_t server;
};

Descriptor describe(const Cluster &cluster, Place place);

/* Of which shard a server has copy @copy when all live. */
uint32_t shard_there(const Cluster &cluster, uint32_t server, uint32_t copy);

/* Make a shard there, which then says that @view was accepted. */
void create_shard(const Cluster &cluster, rpm_conn *conn, Place place, const View &view);

/* Make the locks of all shards that have a copy on a server, those of backups too: a backup must
 * not find out at its promotion that there is no room. What is there stays as it is. Throws Error,
 * RPM_E_NOSPACE, that says what the server must have. */
void create_all_locks(const Cluster &cluster, rpm_conn *conn, uint32_t server);

/* "shard 1 on server 0 (shm:/tmp/a)" */
std::string place_name(const Cluster &cluster, Place place);

/* Throws Error, RPM_E_CORRUPT: what that is called, where it is, and how the server is rebuilt. */
[[noreturn]] void fail_damaged(const std::string &what, const Cluster &cluster, Place place);

/* Throws Error, RPM_E_FOREIGN, RPM_E_CORRUPT or RPM_E_VERSION, unless @found is a descriptor of
 * this format. @cluster: has the URLs. */
void certify(const Descriptor &found, const Cluster &cluster, Place place);

/* Reads of a shard: @bytes from @offset on. Throws Error. */
using ReadShard = std::function<void(uint64_t offset, void *into, uint64_t bytes)>;

/* The description behind a descriptor that is right. Throws Error, RPM_E_CORRUPT. */
std::string read_description(const Descriptor &found, const Cluster &cluster, Place place,
                             const ReadShard &read);

/* Throws Error, as certify(), or RPM_E_VERSION with what differs, unless @found describes that.
 * @read: of the same shard. */
void compare(const Descriptor &found, const Cluster &cluster, Place place, const ReadShard &read);

} // namespace dtx
#endif
