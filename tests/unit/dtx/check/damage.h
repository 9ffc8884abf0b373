// SPDX-License-Identifier: BSD-3-Clause
// damage.h: a small consistent database, and functions that damage objects of one copy.
#ifndef TESTS_UNIT_DTX_CHECK_DAMAGE_H
#define TESTS_UNIT_DTX_CHECK_DAMAGE_H

#include "engine/cluster/server_connection.h"
#include "unit/dtx/engine/database.h"
#include <dtx/findings.h>
#include <dtx/object.h>

#include <functional>

// Inserts rows in both tables and both partitions, and deletes some again.
inline Database rows_of_two_copies(dtx::Options options = replicated(2),
                                   const std::string &mode = "")
{
    Database db(2, options, Tables(), mode);
    dtx::Session session(*db.cluster, 0);

    for (uint64_t key = 0; key < 400; key++)
        REQUIRE(now(session, [&](dtx::Txn &txn) -> dtx::Task<bool> {
                    uint64_t at = in_partition(static_cast<uint32_t>(key % 2), key);

                    (void)co_await txn.insert(db.tables.accounts, at, Account{ 1 });
                    (void)co_await txn.insert(db.tables.sorted, at, Account{ 2 });
                    co_return true;
                }) == dtx::Status::committed);
    for (uint64_t key = 0; key < 400; key += 3)
        REQUIRE(now(session, [&](dtx::Txn &txn) -> dtx::Task<bool> {
                    uint64_t at = in_partition(static_cast<uint32_t>(key % 2), key);

                    (void)co_await txn.erase(db.tables.accounts, at);
                    co_return co_await txn.erase(db.tables.sorted, at);
                }) == dtx::Status::committed);
    return db;
}

// Changes the slot of an object on one copy. If @sealed, makes its checksum valid again.
inline void damage(const dtx::Cluster &cluster, uint32_t copy, dtx::Address address,
                   const std::function<void(unsigned char *image)> &change, bool sealed = true)
{
    dtx::RawConnection connection(cluster, cluster.server_of(address.shard(), copy));
    std::string name = dtx::shard_name(cluster.schema().name(), address.shard());
    uint32_t bytes = cluster.layout().table(address.table()).slot_bytes;
    std::vector<uint64_t> image(bytes / 8);
    unsigned char *slot = reinterpret_cast<unsigned char *>(image.data());
    rpm_region_opts opts = rpm_region_opts_init();
    rpm_region *region = nullptr;
    uint64_t offset = cluster.layout().row_offset(address);

    opts.level = RPM_VISIBLE;
    REQUIRE(rpm_region_open(connection.get(), name.c_str(), &opts, &region) == 0);
    REQUIRE(rpm_region_read(region, offset, slot, bytes) == 0);
    change(slot);
    if (sealed)
        dtx::seal(slot, bytes);
    REQUIRE(rpm_region_write(region, offset, slot, bytes) == 0);
    rpm_region_close(&region);
}

// The first object of a table on the primaries for which @fits returns true.
inline dtx::Address first_object(
    const dtx::Cluster &cluster, uint32_t table,
    const std::function<bool(const dtx::ObjectHeader &header, const unsigned char *)> &fits)
{
    dtx::Address found{ UINT64_MAX };

    cluster.each_object(table, 0, [&](dtx::Address address, const unsigned char *image, uint32_t) {
        if (found.word == UINT64_MAX &&
            fits(dtx::header_of(image), image + sizeof(dtx::ObjectHeader)))
            found = address;
    });
    REQUIRE(found.word != UINT64_MAX);
    return found;
}

inline bool is_valid(const dtx::ObjectHeader &header, const unsigned char *)
{
    return header.version != 0 && (header.flags & dtx::kObjectValid) != 0;
}

inline bool is_deleted(const dtx::ObjectHeader &header, const unsigned char *)
{
    return header.version != 0 && (header.flags & dtx::kObjectValid) == 0;
}

// Number of violations of a rule; UINT64_MAX: it was not checked.
inline uint64_t broken(const dtx::Findings &found, const std::string &rule)
{
    for (const dtx::Finding &finding : found.all())
        if (finding.rule == rule && finding.checked != 0)
            return finding.broken;
    return UINT64_MAX;
}

#endif
