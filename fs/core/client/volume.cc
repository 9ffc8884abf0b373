/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volume.cc: the database of a volume, its row in the table volume, and the root directory.
 *
 * Tests: tests/unit/fs/client/volume_test.cpp
 */
#include "core/client/volume.h"

#include "core/client/clock.h"
#include "core/tree/create.h"
#include <dtx/error.h>
#include <dtx/session.h>
#include <dtx/stored.h>

#include <librpm.h>

#include <algorithm>
#include <cstring>
#include <sys/stat.h>
#include <utility>

namespace rfs
{

/* Of each client's redo log on each server. The largest call changes kLocksMax locks, by a record
 * of 370 KiB, and a log takes records of half its size; with 64 clients the logs take 64 MiB of a
 * server's pool. */
static constexpr uint64_t kLogBytes = 1 << 20;
static constexpr uint64_t kSlabBytes = uint64_t{ kSlabBlocks } * kBlockBytes;

static VolumeRow new_volume_row()
{
    VolumeRow row{};

    fill_random(row.uuid, sizeof(row.uuid));
    fill_random(&row.name_seed, sizeof(row.name_seed));
    row.uuid[6] = static_cast<unsigned char>((row.uuid[6] & 0x0f) | 0x40); /* RFC 9562: version 4 */
    row.uuid[8] = static_cast<unsigned char>((row.uuid[8] & 0x3f) | 0x80);
    row.made_ns = wall_ns();
    row.block_bytes = kBlockBytes;
    return row;
}

static std::string servers_text(size_t count)
{
    return std::to_string(count) + (count == 1 ? " server" : " servers");
}

NewVolume new_volume(const std::string &name, uint64_t bytes, uint64_t per_inode, size_t servers)
{
    NewVolume wanted{};
    uint64_t of_server = bytes / servers;

    wanted.name = name;
    wanted.sizes.slabs = of_server / kSlabBytes;
    wanted.sizes.inodes = std::max<uint64_t>(64, of_server / per_inode);
    if (wanted.sizes.inodes > kInodesMax)
        throw dtx::Error(RPM_E_INVAL, std::to_string(per_inode) + " bytes for each inode make " +
                                          std::to_string(wanted.sizes.inodes) +
                                          " inodes on each server, of at most " +
                                          std::to_string(kInodesMax) +
                                          ": give each inode more bytes");
    if (!wanted.sizes.fit())
        throw dtx::Error(RPM_E_INVAL,
                         std::to_string(bytes) + " bytes on " + servers_text(servers) + " are " +
                             std::to_string(of_server) + " for each, expected " +
                             std::to_string(kSlabBytes) + " to " +
                             std::to_string(kSlabsMax * kSlabBytes) + ": choose a size of " +
                             std::to_string(servers * kSlabBytes >> 20) + "M to " +
                             std::to_string(servers * kSlabsMax * (kSlabBytes >> 20)) + "M");
    return wanted;
}

/* What all programs that open a volume do alike. */
static void limit(dtx::Options &options)
{
    options.log_bytes = std::min(options.log_bytes, kLogBytes);
    options.coordinators = std::min(options.coordinators, kClientsMax);
}

static dtx::Cluster cluster_of(const Tables &tables, dtx::Options options)
{
    limit(options);
    return dtx::Cluster(tables.schema, std::move(options));
}

void expect_room(const NewVolume &wanted, dtx::Options options)
{
    Tables tables(wanted.name, wanted.sizes);

    dtx::expect_room(cluster_of(tables, std::move(options)));
}

void make_volume(const NewVolume &wanted, dtx::Options options)
{
    Tables tables(wanted.name, wanted.sizes);
    dtx::Cluster cluster = cluster_of(tables, std::move(options));
    VolumeRow volume = new_volume_row();
    InodeRow root{};

    root.mode = S_IFDIR | (wanted.mode & 07777);
    root.uid = wanted.uid;
    root.gid = wanted.gid;
    root.links = 2;
    root.atime_ns = root.mtime_ns = root.ctime_ns = root.btime_ns = volume.made_ns;
    root.cut = kNoCut;
    root.parent = kRootIno;
    cluster.create();

    dtx::Session session(cluster, dtx::kAnyCoordinator);

    (void)session.transact_now([&](dtx::Txn &txn) -> dtx::Task<bool> {
        bool has_volume = co_await txn.insert(tables.volume, 0, volume);
        bool has_root = co_await txn.insert(tables.inodes, kRootIno, root);

        dtx::need(has_volume && has_root, "a new volume has rows already");
        co_return true;
    });
}

/* The row of the table volume. */
static VolumeRow volume_row(const dtx::Cluster &cluster, const Tables &tables)
{
    dtx::Session session(cluster, dtx::kAnyCoordinator);
    std::optional<VolumeRow> row;

    (void)session.transact_now([&](dtx::Txn &txn) -> dtx::Task<bool> {
        row = co_await txn.read(tables.volume, 0);
        co_return true;
    });
    if (!row)
        throw dtx::Error(RPM_E_CORRUPT, "the volume '" + tables.schema.name() +
                                            "' is incomplete: making it was interrupted; make it "
                                            "again with rpm-fs mkfs --force");
    if (row->block_bytes != kBlockBytes)
        throw dtx::Error(RPM_E_VERSION, "the volume '" + tables.schema.name() + "' has blocks of " +
                                            std::to_string(row->block_bytes) + " bytes, expected " +
                                            std::to_string(kBlockBytes) +
                                            ": use the version of rpm-fs that made it");
    return *row;
}

/* As dtx::stored_database(), in the words of a volume. */
static dtx::StoredDatabase stored_volume(const std::string &name, const dtx::Options &options)
{
    try {
        return dtx::stored_database(name, options);
    } catch (const dtx::Error &error) {
        if (error.code() != RPM_E_NOENT)
            throw;
        throw dtx::Error(RPM_E_NOENT, "there is no volume '" + name +
                                          "' on these servers: name "
                                          "another one, or make it with rpm-fs mkfs");
    }
}

/* The version of a database that is no volume is another program's: Sizes::of_text() refuses it. */
static void expect_format(const std::string &name, const dtx::StoredDatabase &stored)
{
    if (stored.comment.starts_with(kVolumeMark) && stored.schema_version != kFormatVersion)
        throw dtx::Error(RPM_E_VERSION,
                         "the volume '" + name + "' has format " +
                             std::to_string(stored.schema_version) + ", expected " +
                             std::to_string(kFormatVersion) +
                             ": use the version of rpm-fs that made it, or copy its files with "
                             "that one into a volume that this one makes");
}

OpenVolume find_volume(const std::string &name, dtx::Options options)
{
    dtx::StoredDatabase stored = stored_volume(name, options);

    expect_format(name, stored);

    Sizes sizes = Sizes::of_text(name, stored.comment);

    if (stored.servers != options.urls.size())
        throw dtx::Error(RPM_E_INVAL,
                         "the volume '" + name + "' is on " + servers_text(stored.servers) +
                             ", and " + std::to_string(options.urls.size()) +
                             (options.urls.size() == 1 ? " was" : " were") +
                             " given; give all of them, in the order in which it was made");
    options.replicas = stored.replicas;
    options.durable = stored.durable;
    limit(options);

    uint32_t shards = stored.servers;
    OpenVolume open{ { Tables(name, sizes), 0, shards }, nullptr };

    open.cluster = std::make_unique<dtx::Cluster>(open.volume.tables.schema, std::move(options));
    return open;
}

OpenVolume open_volume(const std::string &name, dtx::Options options)
{
    OpenVolume open = find_volume(name, std::move(options));

    open.cluster->verify();
    open.volume.name_seed = volume_row(*open.cluster, open.volume.tables).name_seed;
    return open;
}

} // namespace rfs
