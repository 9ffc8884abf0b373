/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * replica.cc: make the descriptor of a replica, and verify one that was read.
 *
 * Tests: tests/unit/dtx/engine/cluster/cluster_test.cpp
 */
#include "engine/cluster/replica.h"

#include "engine/base/assert.h"
#include "engine/cluster/advice.h"
#include "engine/cluster/server_connection.h"
#include "engine/format/description.h"
#include <dtx/error.h>

#include <librpm.h>

#include <algorithm>

namespace dtx
{

Descriptor describe(const Cluster &cluster, Replica replica)
{
    std::string description = description_of(cluster.schema());
    Descriptor own{};

    DTX_ASSERT(description.size() <= kDescriptionMax); /* else readers call it damaged */
    own.schema_version = cluster.schema().version();
    own.schema_sum = sum_of(description);
    own.shards = cluster.shards();
    own.shard = replica.shard;
    own.replicas = cluster.options().replicas;
    own.server = replica.server;
    own.description_bytes = static_cast<uint32_t>(description.size());
    own.flags = cluster.options().durable ? 0 : kNotDurable;
    seal(own);
    return own;
}

static void expect(bool good, int code, const std::string &where, const std::string &what)
{
    if (!good)
        throw Error(code, where + ": " + what);
}

std::string replica_name(const Cluster &cluster, Replica replica)
{
    return "shard " + std::to_string(replica.shard) + " on " + server_name(cluster, replica.server);
}

void fail_damaged(const std::string &what, const Cluster &cluster, Replica replica)
{
    throw Error(RPM_E_CORRUPT, replica_name(cluster, replica) + ": " + what + " is damaged" +
                                   rebuild_advice(cluster, replica.server));
}

void fail_damaged_log(const Cluster &cluster, uint32_t server, const std::string &why)
{
    throw Error(RPM_E_CORRUPT, "the redo logs on " + server_name(cluster, server) +
                                   " cannot be taken over: " + why +
                                   rebuild_advice(cluster, server));
}

static std::string differs(const char *what, const std::string &found, const std::string &wanted)
{
    return std::string("the database has ") + what + " " + found + ", expected " + wanted +
           "; open it with the program and options that created it";
}

static std::string differs(const char *what, uint64_t found, uint64_t wanted)
{
    return differs(what, std::to_string(found), std::to_string(wanted));
}

static std::string durability(const Descriptor &descriptor)
{
    return (descriptor.flags & kNotDurable) != 0 ? "off" : "on";
}

void certify(const Descriptor &found, const Cluster &cluster, Replica replica)
{
    std::string where = replica_name(cluster, replica);

    expect(found.magic == kDescriptorMagic, RPM_E_FOREIGN, where,
           "this is not a shard of a database, or it was not written completely, or it is damaged" +
               rebuild_advice(cluster, replica.server));
    if (!is_whole(found))
        fail_damaged("its descriptor", cluster, replica);
    expect(found.format == kFormatVersion, RPM_E_VERSION, where,
           differs("format", found.format, kFormatVersion));
}

std::string read_description(const Descriptor &found, const Cluster &cluster, Replica replica,
                             const ReadShard &read)
{
    DTX_ASSERT(found.magic == kDescriptorMagic && found.format == kFormatVersion);

    std::string text(std::min<size_t>(found.description_bytes, kDescriptionMax), '\0');

    read(kDescriptorBytes, text.data(), text.size());
    if (text.size() != found.description_bytes || sum_of(text) != found.schema_sum)
        fail_damaged("the description of the tables", cluster, replica);
    return text;
}

void compare(const Descriptor &found, const Cluster &cluster, Replica replica,
             const ReadShard &read)
{
    Descriptor own = describe(cluster, replica);
    std::string where = replica_name(cluster, replica);

    certify(found, cluster, replica);
    expect(found.schema_version == own.schema_version, RPM_E_VERSION, where,
           differs("schema version", found.schema_version, own.schema_version));
    expect(found.shards == own.shards, RPM_E_VERSION, where,
           differs("shards", found.shards, own.shards));
    expect(found.replicas == own.replicas, RPM_E_VERSION, where,
           differs("replicas", found.replicas, own.replicas));
    expect(found.shard == own.shard, RPM_E_VERSION, where,
           differs("shard number", found.shard, own.shard));
    expect(found.server == own.server, RPM_E_VERSION, where,
           "found server " + std::to_string(found.server) + ", expected server " +
               std::to_string(own.server) +
               ": give the same servers in the same order as when the database was created");
    /* A session with logs rests on the logs of all others: is_settled() in object_reader.cc. */
    expect(durability(found) == durability(own), RPM_E_VERSION, where,
           differs("durability", durability(found), durability(own)));
    expect(found.flags == own.flags, RPM_E_VERSION, where,
           differs("flags", found.flags, own.flags));
    if (found.schema_sum != own.schema_sum)
        throw Error(RPM_E_VERSION,
                    where + ": the tables there are not those of this program: " +
                        first_difference(read_description(found, cluster, replica, read),
                                         description_of(cluster.schema())));
}

} // namespace dtx
