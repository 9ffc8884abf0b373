// SPDX-License-Identifier: BSD-3-Clause
// dead.h: what a session leaves that dies in the middle of a commit.
#ifndef TESTS_UNIT_DTX_ENGINE_DEAD_H
#define TESTS_UNIT_DTX_ENGINE_DEAD_H

#include "engine/cluster/servers.h"
#include "engine/format/redo.h"
#include "unit/dtx/engine/database.h"
#include "unit/dtx/engine/joined.h"

#include <cstring>
#include <utility>
#include <vector>

// The address of a row, and the bytes of its slot.
inline std::pair<dtx::Address, std::vector<unsigned char>> slot_of(Database &db, uint64_t key)
{
    std::pair<dtx::Address, std::vector<unsigned char>> found;

    db.cluster->each_object(db.tables.accounts.number, 0,
                            [&](dtx::Address address, const unsigned char *image, uint32_t bytes) {
                                if (dtx::header_of(image).key == key)
                                    found = { address, { image, image + bytes } };
                            });
    return found;
}

// Leaves what @coordinator would leave if it died in a commit: a lock on a row, a redo record on
// @logs servers, and the row written to @copies copies, only in part to the last of them.
inline void die_over(Database &db, uint64_t key, int64_t cents, uint32_t logs, uint32_t copies,
                     uint32_t coordinator = 7)
{
    auto [address, image] = slot_of(db, key);
    dtx::ReadWriteSet set;
    std::vector<unsigned char> record;
    dtx::Scheduler scheduler(1, 0);
    dtx::Servers servers(*db.cluster, scheduler);
    dtx::Access *access = set.add(address, static_cast<uint32_t>(image.size()));
    uint64_t dead = join(servers, coordinator) | 12345;
    uint64_t lsn;

    std::memcpy(access->image, image.data(), image.size());
    access->header().version++;
    access->header().writer = dead;
    access->as<Account>().cents = cents;
    dtx::seal(access->image, access->bytes);
    dtx::encode_redo(dead, set.sorted(), {}, record);
    REQUIRE(servers.connection(db.cluster->server_of(address.shard(), 0))
                .compare_and_swap(address.shard(), db.cluster->layout().lock_offset(address), 0,
                                  dead) == 0);
    for (uint32_t i = 0; i < logs; i++) {
        std::shared_ptr<dtx::Pending> pending = servers.new_pending();

        REQUIRE(servers.connection((coordinator + i) % 2)
                    .append(record.data(), record.size(), pending.get(), &lsn));
        while (pending->remaining > 0)
            servers.poll();
        REQUIRE(pending->status == 0);
    }
    for (uint32_t copy = 0; copy < copies; copy++) {
        rpm_patch patch{ db.cluster->layout().row_offset(address), access->image,
                         copy + 1 == copies ? 40 : access->bytes, 0 };

        servers.connection(db.cluster->server_of(address.shard(), copy))
            .write(address.shard(), { &patch, 1 });
    }
    servers.close();
}

#endif
