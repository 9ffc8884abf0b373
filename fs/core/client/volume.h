/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volume.h: make a volume on servers, and open one.
 *
 * Tests: tests/unit/fs/client/volume_test.cpp
 */
#ifndef FS_CORE_CLIENT_VOLUME_H
#define FS_CORE_CLIENT_VOLUME_H

#include "core/call/call.h"
#include <dtx/cluster.h>

#include <memory>
#include <string>

namespace rfs
{

/* What a new volume is to be. The first user of the root directory is its owner. */
struct NewVolume {
    std::string name; /* 1 to 31 letters, digits, '-' or '_' */
    Sizes sizes;      /* of each shard */
    uint32_t uid = 0;
    uint32_t gid = 0;
    uint32_t mode = 0755; /* of the root directory */
};

/* A volume with @bytes for contents on so many servers together, and a file for each @per_inode of
 * them. Throws dtx::Error, RPM_E_INVAL: a server would have more or less than a shard can. */
NewVolume new_volume(const std::string &name, uint64_t bytes, uint64_t per_inode, size_t servers);

/* Throws dtx::Error as dtx::expect_room() does, unless make_volume() will find room once the volume
 * of that name is removed. */
void expect_room(const NewVolume &wanted, dtx::Options options);

/* Makes a volume on the servers of @options (urls, replicas, secret). Durable when it returns.
 * Throws dtx::Error: as dtx::Cluster::create(); RPM_E_EXISTS, the servers have a database of that
 * name. */
void make_volume(const NewVolume &wanted, dtx::Options options);

/* A volume and the servers that it is on. */
struct OpenVolume {
    Volume volume;
    std::unique_ptr<dtx::Cluster> cluster;
};

/* Finds a volume by the first server that answers, for calls of Cluster that need not all of them:
 * promote(), restore(). Calls on its files do not work. Throws as open_volume(). */
OpenVolume find_volume(const std::string &name, dtx::Options options);

/* Opens a volume. Of @options, replicas are those of the volume. Throws dtx::Error: RPM_E_NOENT,
 * there is none; RPM_E_FOREIGN, the database is not a volume; RPM_E_VERSION, another version made
 * it; RPM_E_INVAL, it has another number of servers; RPM_E_CORRUPT, making it was interrupted. */
OpenVolume open_volume(const std::string &name, dtx::Options options);

} // namespace rfs
#endif
