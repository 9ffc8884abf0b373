/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * room.cc: compare what a new database takes on each server with what is free, and with what the
 * database of its name takes now.
 *
 * Tests: tests/unit/dtx/engine/cluster/room_test.cpp
 */
#include <dtx/stored.h>

#include "engine/base/assert.h"
#include "engine/cluster/objects.h"
#include "engine/cluster/replica.h"
#include "engine/cluster/server_connection.h"
#include "engine/format/names.h"
#include <dtx/error.h>

namespace dtx
{

namespace
{

/* Of one server, in bytes: of the pool, and of the DRAM area. */
struct Taken {
    uint64_t pool = 0;
    uint64_t dram = 0;
};

} // namespace

/* What the objects of a database take on a server. */
static Taken taken_by(rpm_conn *conn, const std::string &database)
{
    Taken taken;

    for (const rpm_entry &entry : objects_under(conn, database_prefix(database))) {
        bool volatile_bytes = entry.kind == RPM_KIND_DRAM || entry.kind == RPM_KIND_LOCKS;

        (volatile_bytes ? taken.dram : taken.pool) += entry.bytes;
    }
    return taken;
}

static void expect_bytes(const Cluster &cluster, uint32_t server, rpm_conn *conn, rpm_kind kind,
                         uint64_t taken, uint64_t needed)
{
    rpm_room room = rpm_room_init();

    check(rpm_conn_room(conn, kind, &room), "asking a server for its room");
    if (needed <= room.free_bytes + taken)
        return;
    throw Error(RPM_E_NOSPACE,
                "no room on " + server_name(cluster, server) + " for the database '" +
                    cluster.schema().name() + "': it needs " + std::to_string(needed) +
                    " bytes of the " + (kind == RPM_KIND_DRAM ? "DRAM area" : "pool") + ", and " +
                    std::to_string(room.free_bytes) + " are free, beside " + std::to_string(taken) +
                    " that a database of that name takes, which was not removed; make the new one "
                    "smaller, or start the server with a larger --size or --dram");
}

void expect_room(const Cluster &cluster)
{
    const Options &options = cluster.options();
    Taken needed{ options.replicas * cluster.layout().region_bytes(),
                  options.replicas * cluster.layout().lock_bytes() };

    DTX_ASSERT(options.replicas > 0);
    if (options.durable)
        needed.pool += options.log_bytes; /* of the first session */
    for (uint32_t server = 0; server < cluster.shards(); server++) {
        RawConnection connection(cluster, server);
        Taken taken = taken_by(connection.get(), cluster.schema().name());

        expect_bytes(cluster, server, connection.get(), RPM_KIND_REGION, taken.pool, needed.pool);
        expect_bytes(cluster, server, connection.get(), RPM_KIND_DRAM, taken.dram, needed.dram);
    }
}

} // namespace dtx
