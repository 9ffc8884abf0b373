/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stored.cc: ask one server after another for a shard of a database.
 *
 * Tests: tests/unit/dtx/engine/cluster/stored_test.cpp
 */
#include <dtx/stored.h>

#include "engine/base/assert.h"
#include "engine/cluster/server_connection.h"
#include "engine/cluster/shard_header.h"
#include <dtx/error.h>

#include <exception>
#include <optional>

namespace dtx
{

/* nullopt: the server has no shard of the database. */
static std::optional<ShardHeader> header_on(const Cluster &any, uint32_t server,
                                            const std::string &name)
{
    RawConnection connection(any, server);
    auto found = shards_on(connection.get());
    auto shards = found.find(name);

    if (shards == found.end())
        return std::nullopt;
    DTX_ASSERT(!shards->second.empty());
    return read_shard_header(connection.get(), name, any, { shards->second.front(), server });
}

StoredDatabase stored_database(const std::string &name, const Options &options)
{
    Options asked = options;
    std::exception_ptr failure;

    asked.replicas = 1; /* those of the database are not known yet */

    Cluster any(Schema("any", 0), asked);

    DTX_ASSERT(any.shards() > 0);
    for (uint32_t server = 0; server < any.shards(); server++) {
        try {
            if (auto header = header_on(any, server, name))
                return { header->schema_version, header->shards, header->replicas, header->durable,
                         header->comment };
        } catch (const Fenced &) { /* it does not answer */
            failure = failure ? failure : std::current_exception();
        } catch (const Error &error) {
            if (error.code() != RPM_E_CORRUPT && error.code() != RPM_E_FOREIGN)
                throw;
            failure = failure ? failure : std::current_exception();
        }
    }
    if (failure)
        std::rethrow_exception(failure);
    throw Error(RPM_E_NOENT, "none of these servers has a database '" + name +
                                 "'; give its name and all of its servers");
}

} // namespace dtx
