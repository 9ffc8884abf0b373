/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * equalise.cc: writes objects of one copy over those of another one that is torn or older.
 *
 * Tests: tests/unit/dtx/check/copies_test.cpp
 */
#include <dtx/checks.h>

#include "engine/cluster/servers.h"
#include <dtx/object.h>

#include <algorithm>
#include <cstring>

namespace dtx::checks
{

namespace
{

constexpr uint64_t kReadAtOnce = 256 << 10; /* bytes */

class Equaliser
{
  public:
    Equaliser(const Cluster &cluster, const std::function<void(const std::string &)> &told)
        : cluster_(cluster), told_(told), scheduler_(cluster.options().seed, 0),
          servers_(cluster, scheduler_)
    {
        servers_.open(0, Claim::none);
    }

    uint64_t run()
    {
        for (uint32_t table = 0; table < cluster_.layout().tables(); table++)
            for (uint32_t shard = 0; shard < cluster_.shards(); shard++)
                look_at(table, shard);
        servers_.close();
        return torn_;
    }

  private:
    void look_at(uint32_t table, uint32_t shard)
    {
        const TableLayout &there = cluster_.layout().table(table);
        uint64_t at_once = std::max<uint64_t>(1, kReadAtOnce / there.slot_bytes);

        for (uint64_t slot = 0; slot < there.slots; slot += at_once)
            look_at_some(Address::of(shard, table, slot), std::min(at_once, there.slots - slot));
    }

    void look_at_some(Address first, uint64_t many)
    {
        uint32_t bytes = cluster_.layout().table(first.table()).slot_bytes;
        uint32_t copies = servers_.placement().copies(first.shard());

        images_.resize(copies);
        for (uint32_t copy = 0; copy < copies; copy++) {
            images_[copy].resize(many * bytes);
            server(first, copy)
                .read(first.shard(), cluster_.layout().row_offset(first), images_[copy].data(),
                      many * bytes);
        }
        for (uint64_t i = 0; i < many; i++)
            repair({ first.word + i }, i * bytes, bytes);
    }

    /* @at: of the object in the images. */
    void repair(Address address, uint64_t at, uint32_t bytes)
    {
        size_t best = images_.size();

        for (size_t copy = 0; copy < images_.size(); copy++)
            if (is_whole(&images_[copy][at], bytes) &&
                (best == images_.size() ||
                 header_of(&images_[best][at]).version < header_of(&images_[copy][at]).version))
                best = copy;
        if (best == images_.size()) {
            torn_++;
            return;
        }
        for (size_t copy = 0; copy < images_.size(); copy++)
            if (std::memcmp(&images_[copy][at], &images_[best][at], bytes) != 0)
                write(address, static_cast<uint32_t>(copy), best, at, bytes);
    }

    void write(Address address, uint32_t copy, size_t from, uint64_t at, uint32_t bytes)
    {
        bool whole = is_whole(&images_[copy][at], bytes);
        rpm_patch patch{ cluster_.layout().row_offset(address), &images_[from][at], bytes, 0 };

        told_("table '" + cluster_.schema().tables()[address.table()].name + "' shard " +
              std::to_string(address.shard()) + " slot " + std::to_string(address.slot()) +
              (whole ? " differs" : " is torn") + " on copy " + std::to_string(copy) +
              ": wrote it as it is on copy " + std::to_string(from));
        server(address, copy).write(address.shard(), { &patch, 1 });
    }

    ServerConnection &server(Address address, uint32_t copy)
    {
        return servers_.connection(servers_.server_of(address.shard(), copy));
    }

    const Cluster &cluster_;
    const std::function<void(const std::string &)> &told_;
    Scheduler scheduler_;
    Servers servers_;
    std::vector<std::vector<unsigned char>> images_; /* of some objects, by copy */
    uint64_t torn_ = 0;
};

} // namespace

uint64_t make_copies_equal(const Cluster &cluster,
                           const std::function<void(const std::string &text)> &told)
{
    return Equaliser(cluster, told).run();
}

} // namespace dtx::checks
