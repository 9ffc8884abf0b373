/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * descriptor.cc: make one, and say what is wrong with another.
 *
 * Tests: tests/unit/dtx/engine/cluster_test.cpp
 */
#include "engine/descriptor.h"

#include "engine/description.h"
#include "engine/port.h"
#include <dtx/error.h>

#include <librpm.h>

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtx
{

Descriptor describe(const Cluster &cluster, Place place)
{
    std::string description = description_of(cluster.schema());
    Descriptor own{};

    own.magic = kDescriptorMagic;
    own.format = kFormatVersion;
    own.schema_version = cluster.schema().version();
    own.schema_sum = sum_of(description);
    own.shards = cluster.shards();
    own.shard = place.shard;
    own.replicas = cluster.options().replicas;
    own.server = place.server;
    own.description_bytes = static_cast<uint32_t>(description.size());
    own.flags = cluster.options().durable ? 0 : kNotDurable;
    own.checksum = XXH3_64bits(&own, offsetof(Descriptor, checksum));
    return own;
}

static void expect(bool good, int code, const std::string &where, const std::string &what)
{
    if (!good)
        throw Error(code, where + ": " + what);
}

std::string place_name(const Cluster &cluster, Place place)
{
    return "shard " + std::to_string(place.shard) + " on " + server_name(cluster, place.server);
}

/* How a server is rebuilt of which something is not what it was. */
static std::string way_back(Place place)
{
    std::string server = " --server " + std::to_string(place.server) + " URL...";

    return "; if others have copies of all that is there, they rebuild it: stop that server, "
           "dtx-check promote" +
           server + ", start it with an empty pool, dtx-check restore" + server;
}

void fail_damaged(const std::string &what, const Cluster &cluster, Place place)
{
    throw Error(RPM_E_CORRUPT,
                place_name(cluster, place) + ": " + what + " is damaged" + way_back(place));
}

static std::string differs(const char *what, uint64_t found, uint64_t wanted)
{
    return std::string("the database there has ") + what + " " + std::to_string(found) + ", not " +
           std::to_string(wanted);
}

void certify(const Descriptor &found, const Cluster &cluster, Place place)
{
    std::string where = place_name(cluster, place);

    expect(found.magic == kDescriptorMagic, RPM_E_FOREIGN, where,
           "this is no shard of a database, was not made to the end, or is damaged" +
               way_back(place));
    if (found.checksum != XXH3_64bits(&found, offsetof(Descriptor, checksum)))
        fail_damaged("its descriptor", cluster, place);
    expect(found.format == kFormatVersion, RPM_E_VERSION, where,
           differs("format", found.format, kFormatVersion));
}

std::string read_description(const Descriptor &found, const Cluster &cluster, Place place,
                             const ReadShard &read)
{
    std::string text(std::min<size_t>(found.description_bytes, kDescriptionMax), '\0');

    read(kDescriptorBytes, text.data(), text.size());
    if (text.size() != found.description_bytes || sum_of(text) != found.schema_sum)
        fail_damaged("the description of the tables", cluster, place);
    return text;
}

void compare(const Descriptor &found, const Cluster &cluster, Place place, const ReadShard &read)
{
    Descriptor own = describe(cluster, place);
    std::string where = place_name(cluster, place);

    certify(found, cluster, place);
    expect(found.schema_version == own.schema_version, RPM_E_VERSION, where,
           differs("schema version", found.schema_version, own.schema_version));
    expect(found.shards == own.shards, RPM_E_VERSION, where,
           differs("shards", found.shards, own.shards));
    expect(found.replicas == own.replicas, RPM_E_VERSION, where,
           differs("replicas", found.replicas, own.replicas));
    expect(found.shard == own.shard, RPM_E_VERSION, where,
           differs("shard number", found.shard, own.shard));
    expect(found.server == own.server, RPM_E_VERSION, where,
           "this is server " + std::to_string(found.server) + ", not server " +
               std::to_string(own.server) + ": the servers are the same, their order is not");
    if (found.schema_sum != own.schema_sum)
        throw Error(RPM_E_VERSION,
                    where + ": the tables there are not those of this program: " +
                        first_difference(read_description(found, cluster, place, read),
                                         description_of(cluster.schema())));
}

} // namespace dtx
