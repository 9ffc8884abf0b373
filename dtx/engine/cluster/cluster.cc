/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cluster.cc: create a database, verify it, read its rows.
 *
 * Tests: tests/unit/dtx/engine/cluster/cluster_test.cpp
 */
#include <dtx/cluster.h>

#include "engine/base/assert.h"
#include "engine/cluster/membership.h"
#include "engine/cluster/objects.h"
#include "engine/cluster/replica.h"
#include "engine/cluster/servers.h"
#include "engine/cluster/shard_header.h"
#include "engine/format/names.h"
#include "engine/format/roots.h"
#include <dtx/error.h>
#include <dtx/object.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>

namespace dtx
{

static constexpr uint64_t kDramSlackBytes = 64 << 10; /* for the alignment of locks */
static constexpr uint64_t kNoticeAgainNs = 10000000000;

struct Cluster::Reader {
    explicit Reader(const Cluster &cluster)
        : scheduler(cluster.options().seed, 0), servers(cluster, scheduler)
    {
        servers.open(0, Claim::none);
    }

    Scheduler scheduler;
    Servers servers;
};

struct Cluster::Seen {
    std::mutex mutex;
    View view;
    std::string last_notice; /* the last notice, and when it was given */
    uint64_t noticed_ns = 0;
    struct Away {
        uint64_t epoch = 0;
        uint64_t since_ns = 0;
    };
    std::map<uint32_t, Away> away; /* by coordinator */
    std::map<std::thread::id, std::shared_ptr<Reader>>
        readers; /* of threads that are within a Reading */
};

static void expect(bool good, const std::string &what)
{
    if (!good)
        throw Error(RPM_E_INVAL, what);
}

Cluster::Cluster(Schema schema, Options options)
    : schema_(std::move(schema)), options_(std::move(options)), layout_(schema_),
      seen_(std::make_shared<Seen>())
{
    expect(!options_.urls.empty() && options_.urls.size() <= kShardsMax,
           std::to_string(options_.urls.size()) + " servers, expected 1 to " +
               std::to_string(kShardsMax));
    expect(options_.replicas >= 1 && options_.replicas <= options_.urls.size(),
           std::to_string(options_.replicas) + " replicas, expected 1 to " +
               std::to_string(options_.urls.size()) + ", the number of servers");
    expect(options_.coordinators >= 1 && options_.coordinators <= kCoordinatorsMax,
           std::to_string(options_.coordinators) + " coordinators, expected 1 to " +
               std::to_string(kCoordinatorsMax));
    expect(options_.guesses >= 1,
           "0 guesses, expected 1 or more; techniques can switch guesses off");
    expect(options_.interleave < 256,
           "interleave of " + std::to_string(options_.interleave) + ", maximum 255");
}

uint32_t shard_of_copy(const Cluster &cluster, uint32_t server, uint32_t copy)
{
    DTX_ASSERT(server < cluster.shards() && copy < cluster.options().replicas);
    return (server + cluster.shards() - copy) % cluster.shards();
}

View Cluster::last_view() const
{
    std::lock_guard lock(seen_->mutex);

    return seen_->view;
}

void Cluster::remember(const View &view) const
{
    std::lock_guard lock(seen_->mutex);

    if (seen_->view.number <= view.number)
        seen_->view = view;
}

bool Cluster::may_return(uint32_t coordinator, uint64_t epoch) const
{
    std::lock_guard lock(seen_->mutex);
    uint64_t now = now_ns();
    Seen::Away &away = seen_->away.try_emplace(coordinator, Seen::Away{ epoch, now }).first->second;

    if (away.epoch != epoch)
        away = { epoch, now };
    return now - away.since_ns < options_.return_us * 1000;
}

void Cluster::notify(const std::string &text) const
{
    std::lock_guard lock(seen_->mutex);

    if (text == seen_->last_notice && now_ns() - seen_->noticed_ns < kNoticeAgainNs)
        return;
    seen_->last_notice = text;
    seen_->noticed_ns = now_ns();
    if (options_.notice)
        options_.notice(text);
    else
        fprintf(stderr, "dtx: %s\n", text.c_str());
}

/* The DRAM of a server has no room for the locks of a shard. Names a --dram that has: what other
 * databases take, what all copies of this one do, and a part of a MiB for alignment. */
[[noreturn]] static void fail_without_dram(const Cluster &cluster, rpm_conn *conn, Replica replica)
{
    uint64_t locks = cluster.layout().lock_bytes();
    uint32_t copies = cluster.options().replicas;
    rpm_room room = rpm_room_init();
    uint64_t own = 0;

    check(rpm_conn_room(conn, RPM_KIND_DRAM, &room), "asking a server for its room");
    for (const rpm_entry &entry : objects_under(conn, database_prefix(cluster.schema().name())))
        own += entry.kind == RPM_KIND_DRAM || entry.kind == RPM_KIND_LOCKS ? entry.bytes : 0;

    uint64_t others = room.bytes - std::min(room.bytes, room.free_bytes + own);
    uint64_t mib = (others + copies * locks + kDramSlackBytes + (1 << 20) - 1) >> 20;

    throw Error(RPM_E_NOSPACE,
                server_name(cluster, replica.server) + " has no room for the locks of shard " +
                    std::to_string(replica.shard) + ": " + std::to_string(room.free_bytes) +
                    " of the " + std::to_string(room.bytes) +
                    " bytes of its DRAM are free, expected " + std::to_string(locks) +
                    " for each of " + std::to_string(copies) +
                    " copies of shards; start it with rpm-server --dram " + std::to_string(mib) +
                    "M or more, and its other options as before");
}

static void create_locks(const Cluster &cluster, rpm_conn *conn, Replica replica)
{
    rpm_region_opts opts = rpm_region_opts_init();
    rpm_region *region = nullptr;
    int err;

    opts.flags = RPM_REGION_CREATE | RPM_REGION_DRAM;
    opts.bytes = cluster.layout().lock_bytes();
    err = rpm_region_open(conn, locks_name(cluster.schema().name(), replica.shard).c_str(), &opts,
                          &region);
    rpm_region_close(&region);
    if (err == RPM_E_NOSPACE)
        fail_without_dram(cluster, conn, replica);
    check(err, "creating the locks of a shard");
}

void create_all_locks(const Cluster &cluster, rpm_conn *conn, uint32_t server)
{
    for (uint32_t copy = 0; copy < cluster.options().replicas; copy++)
        create_locks(cluster, conn, { shard_of_copy(cluster, server, copy), server });
}

/* Does the placement give the server a copy of the shard while all servers are live? */
static bool has_copy(const Cluster &cluster, Replica replica)
{
    return (replica.server + cluster.shards() - replica.shard) % cluster.shards() <
           cluster.options().replicas;
}

/* The header last: a shard that has one has its roots. */
static int write_new_shard(rpm_region *region, const Cluster &cluster,
                           const std::vector<unsigned char> &header)
{
    int err = 0;

    each_root(cluster.schema(), cluster.layout(),
              [&](uint64_t offset, const std::vector<unsigned char> &images) {
                  if (err == 0)
                      err = rpm_region_write(region, offset, images.data(), images.size());
              });
    return err != 0 ? err : rpm_region_write(region, 0, header.data(), header.size());
}

void create_shard(const Cluster &cluster, rpm_conn *conn, Replica replica, const View &view,
                  std::vector<std::string> &made)
{
    std::string name = shard_name(cluster.schema().name(), replica.shard);
    rpm_region_opts opts = rpm_region_opts_init();
    rpm_region *region = nullptr;
    int err;

    DTX_ASSERT(has_copy(cluster, replica)); /* on another server no commit would write it */
    opts.flags = RPM_REGION_CREATE | RPM_REGION_EXCL;
    opts.bytes = cluster.layout().region_bytes();
    opts.level = cluster.options().durable ? RPM_DURABLE : RPM_VISIBLE;
    err = rpm_region_open(conn, name.c_str(), &opts, &region);
    if (err == 0) {
        made.push_back(name);
        err = write_new_shard(region, cluster, encode_shard_header(cluster, replica, view));
    }
    rpm_region_close(&region);
    if (err != 0)
        fail(err, "creating shard " + std::to_string(replica.shard) + " on " +
                      server_name(cluster, replica.server));
}

/* Creates the shards and locks of one server. Appends the name of each object that it has created
 * to @made. */
static void create_on(const Cluster &cluster, uint32_t server, const View &first,
                      std::vector<std::string> &made)
{
    const std::string &name = cluster.schema().name();
    RawConnection connection(cluster, server);

    DTX_ASSERT(first.number != 0 && first.alive(server)); /* else no session would join there */
    for (uint32_t copy = 0; copy < cluster.options().replicas; copy++) {
        uint32_t shard = shard_of_copy(cluster, server, copy);

        create_shard(cluster, connection.get(), { shard, server }, first, made);
        /* The shard did not exist, so no session uses its locks. */
        made.push_back(locks_name(name, shard));
    }
    create_all_locks(cluster, connection.get(), server);
}

/* Removes objects of a server. Returns the end of an error text: the names of the objects that it
 * could not remove, or nothing. */
static std::string remove_from(const Cluster &cluster, uint32_t server,
                               const std::vector<std::string> &names)
{
    std::string left;

    try {
        RawConnection connection(cluster, server);

        for (const std::string &name : names) {
            DTX_ASSERT(name.starts_with(database_prefix(cluster.schema().name())));

            int err = rpm_conn_remove(connection.get(), name.c_str());

            if (err != 0 && err != RPM_E_NOENT)
                left += " " + name;
        }
    } catch (const Error &) {
        for (const std::string &name : names)
            left += " " + name;
    }
    return left.empty() ? left : "; left on " + cluster.options().urls[server] + ":" + left;
}

void Cluster::create() const
{
    View first;
    std::vector<std::vector<std::string>> made(shards());
    std::string left;

    first.number = 1;
    try {
        for (uint32_t server = 0; server < shards(); server++)
            create_on(*this, server, first, made[server]);
    } catch (const Error &error) {
        for (uint32_t server = 0; server < shards(); server++)
            if (!made[server].empty())
                left += remove_from(*this, server, made[server]);
        if (left.empty())
            throw;
        throw Error(error.code(), error.what() + left + " (rpm-log remove)");
    }
}

/* The objects of a database on a server, its shards last: while there is one, the database is found
 * and can be removed again. */
static std::vector<std::string> objects_on(rpm_conn *conn, const std::string &database)
{
    std::vector<std::string> found;
    std::vector<std::string> shards;

    for (const rpm_entry &entry : objects_under(conn, database_prefix(database))) {
        std::string of;
        uint32_t shard = 0;

        (split_shard_name(entry.name, of, shard) ? shards : found).push_back(entry.name);
    }
    found.insert(found.end(), shards.begin(), shards.end());
    return found;
}

void Cluster::remove() const
{
    DTX_ASSERT(!schema_.name().empty()); /* the names of its objects begin with it */
    for (uint32_t server = 0; server < shards(); server++) {
        RawConnection connection(*this, server);

        for (const std::string &name : objects_on(connection.get(), schema_.name())) {
            int err = rpm_conn_remove(connection.get(), name.c_str());

            if (err != 0 && err != RPM_E_NOENT)
                fail(err, "removing " + name + " from " + server_name(*this, server));
        }
    }
}

void Cluster::verify() const
{
    Scheduler scheduler(options_.seed, 0);
    Servers servers(*this, scheduler);

    servers.open(0, Claim::none);
    for (uint32_t server = 0; server < shards(); server++)
        for (uint32_t copy = 0; copy < options_.replicas; copy++) {
            uint32_t shard = shard_of_copy(*this, server, copy);
            Descriptor found{};

            if (!servers.placement().view.alive(server))
                continue;
            servers.connection(server).read(shard, 0, &found, sizeof(found));
            compare(found, *this, { shard, server },
                    [&](uint64_t offset, void *into, uint64_t bytes) {
                        servers.connection(server).read(shard, offset, into, bytes);
                    });
        }
    servers.close();
}

std::vector<uint32_t> Cluster::dead() const
{
    std::vector<uint32_t> found;
    Scheduler scheduler(options_.seed, 0);
    Servers servers(*this, scheduler);
    View view = find_view(servers);

    for (uint32_t server = 0; server < shards(); server++)
        if (!view.alive(server))
            found.push_back(server);
    return found;
}

Cluster::Reading::Reading(const Cluster &cluster) : cluster_(cluster)
{
    auto reader = std::make_shared<Reader>(cluster);
    std::lock_guard lock(cluster.seen_->mutex);

    cluster.seen_->readers[std::this_thread::get_id()] = std::move(reader);
}

Cluster::Reading::~Reading()
{
    std::lock_guard lock(cluster_.seen_->mutex);

    cluster_.seen_->readers.erase(std::this_thread::get_id());
}

std::shared_ptr<Cluster::Reader> Cluster::reader() const
{
    {
        std::lock_guard lock(seen_->mutex);
        auto own = seen_->readers.find(std::this_thread::get_id());

        if (own != seen_->readers.end())
            return own->second;
    }
    return std::make_shared<Reader>(*this);
}

/* The server of a copy of a shard in the view in force; of its last one, if it has fewer now. */
static uint32_t server_of_copy(const Servers &servers, uint32_t shard, uint32_t copy)
{
    DTX_ASSERT(servers.placement().copies(shard) > 0); /* the view is_complete() */
    return servers.server_of(shard, std::min(copy, servers.placement().copies(shard) - 1));
}

void Cluster::each_object(
    uint32_t table, uint32_t copy,
    const std::function<void(Address, const unsigned char *image, uint32_t bytes)> &callback) const
{
    if (table >= layout_.tables())
        throw Error(RPM_E_INVAL, "table " + std::to_string(table) + ", expected 0 to " +
                                     std::to_string(layout_.tables() - 1));

    const TableLayout &there = layout_.table(table);
    std::shared_ptr<Reader> reader = this->reader();
    Servers &servers = reader->servers;

    for (uint32_t shard = 0; shard < shards(); shard++)
        servers.each_slot(server_of_copy(servers, shard, copy), shard, table, there.slots,
                          [&](uint64_t slot, const unsigned char *image) {
                              callback(Address::of(shard, table, slot), image, there.slot_bytes);
                          });
}

void Cluster::read_object(Address address, uint32_t copy, unsigned char *image) const
{
    DTX_ASSERT(address.table() < layout_.tables() && address.shard() < shards());
    DTX_ASSERT(address.slot() < layout_.table(address.table()).slots);

    std::shared_ptr<Reader> reader = this->reader();
    Servers &servers = reader->servers;

    servers.connection(server_of_copy(servers, address.shard(), copy))
        .read(address.shard(), layout_.row_offset(address), image,
              layout_.table(address.table()).slot_bytes);
}

void Cluster::each_row(
    uint32_t table, uint32_t copy,
    const std::function<void(uint64_t key, const void *row, size_t bytes)> &callback) const
{
    each_object(table, copy, [&](Address address, const unsigned char *image, uint32_t bytes) {
        const ObjectHeader &header = header_of(image);

        expect_whole(*this, address, image, bytes);
        if ((header.flags & kObjectValid) != 0)
            callback(header.key, image + sizeof(header), layout_.table(table).payload_bytes);
    });
}

} // namespace dtx
