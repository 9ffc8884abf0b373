/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shard_header.cc: encode and read the bytes before the tables of a shard.
 *
 * Tests: tests/unit/dtx/engine/cluster/shard_header_test.cpp
 */
#include "engine/cluster/shard_header.h"

#include "engine/cluster/objects.h"
#include "engine/cluster/replica.h"
#include "engine/cluster/server_connection.h"
#include "engine/format/comment.h"
#include "engine/format/description.h"
#include "engine/format/names.h"
#include "engine/format/shard_header.h"
#include <dtx/error.h>

#include <algorithm>
#include <cstring>

namespace dtx
{

std::vector<unsigned char> encode_shard_header(const Cluster &cluster, Replica replica,
                                               const View &view)
{
    ServerState first{ 0, view.number, view, {} };

    return encode_shard_header(describe(cluster, replica), cluster.schema().comment(),
                               replica.shard == replica.server ? &first : nullptr,
                               description_of(cluster.schema()));
}

static std::string comment_of(const std::vector<unsigned char> &page, const Cluster &cluster,
                              Replica replica)
{
    if (auto comment = decode_comment(&page[kCommentOffset]))
        return *comment;
    fail_damaged("the comment behind the descriptor", cluster, replica);
}

ShardHeader read_shard_header(rpm_conn *conn, const std::string &database, const Cluster &cluster,
                              Replica replica)
{
    std::vector<unsigned char> page(kDescriptorBytes);
    ShardHeaderRegion header;
    Descriptor found;

    check(header.open(conn, database, replica.shard), "opening a shard");
    header.read(0, page.data(), page.size());
    auto read = [&header](uint64_t offset, void *into, uint64_t bytes) {
        header.read(offset, into, bytes);
    };

    std::memcpy(&found, page.data(), sizeof(found));
    certify(found, cluster, replica);
    return { found.schema_version,
             found.shards,
             found.shard,
             found.replicas,
             (found.flags & kNotDurable) == 0,
             comment_of(page, cluster, replica),
             read_description(found, cluster, replica, read) };
}

std::map<std::string, std::vector<uint32_t>> shards_on(rpm_conn *conn)
{
    std::map<std::string, std::vector<uint32_t>> found;

    for (const rpm_entry &entry : objects_under(conn, kDatabases)) {
        std::string database;
        uint32_t shard = 0;

        if (split_shard_name(entry.name, database, shard))
            found[database].push_back(shard);
    }
    for (auto &[database, shards] : found)
        std::sort(shards.begin(), shards.end());
    return found;
}

} // namespace dtx
