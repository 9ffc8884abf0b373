/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copies.cc: reads all objects of all copies, and compares their checksums with those of copy 0.
 *
 * Tests: tests/unit/dtx/check/copies_test.cpp
 */
#include <dtx/checks.h>

#include "engine/format/roots.h"
#include <dtx/object.h>

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtx::checks
{

namespace
{

/* Where an object is, for a finding; @image: its bytes, with its header. For example:
 * "table 'stock' shard 1 slot 17 (key 281474976710673, version 3)". */
std::string place_of(const Cluster &cluster, Address address, const unsigned char *image)
{
    const ObjectHeader &header = header_of(image);

    return "table '" + cluster.schema().tables()[address.table()].name + "' shard " +
           std::to_string(address.shard()) + " slot " + std::to_string(address.slot()) + " (key " +
           std::to_string(header.key) + ", version " + std::to_string(header.version) + ")";
}

/* Compares the objects of one table, copy by copy: copy 0 first, and each copy in the same order of
 * objects. */
class Comparison
{
  public:
    Comparison(const Cluster &cluster, uint32_t table) : cluster_(cluster), table_(table)
    {
        if (cluster.options().replicas > 1)
            first_.reserve(cluster.layout().table(table).slots * cluster.shards());
    }

    void look_at(uint32_t copy, Findings &found)
    {
        size_t number = 0;

        cluster_.each_object(
            table_, copy, [&](Address address, const unsigned char *image, uint32_t bytes) {
                bool whole = is_intact(cluster_.schema(), address, image, bytes);
                bool written = !whole || header_of(image).version != 0;
                uint64_t checksum = written ? XXH3_64bits(image, bytes) : kUnwritten;

                found.checked("whole", whole && written ? 1 : 0);
                if (!whole)
                    found.add("whole", place_of(cluster_, address, image) + " is torn");
                if (copy > 0)
                    compare(first_[number++], checksum, address, image, found);
                else if (cluster_.options().replicas > 1)
                    first_.push_back(checksum);
            });
    }

  private:
    static constexpr uint64_t kUnwritten = 0;

    void compare(uint64_t first, uint64_t checksum, Address address, const unsigned char *image,
                 Findings &found)
    {
        if (first == checksum)
            found.checked("copies", checksum != kUnwritten ? 1 : 0);
        else
            found.add("copies",
                      place_of(cluster_, address, image) + " differs from that of the primary");
    }

    const Cluster &cluster_;
    uint32_t table_;
    std::vector<uint64_t> first_; /* checksums */
};

} // namespace

std::vector<Findings> check_copies(const Cluster &cluster)
{
    std::vector<Findings> found(cluster.options().replicas);

    for (uint32_t copy = 0; copy < found.size(); copy++) {
        found[copy].rule("whole", "every object was written whole by one commit");
        if (copy != 0)
            found[copy].rule("copies",
                             "every object is byte for byte equal to that of the primary");
    }
    for (uint32_t table = 0; table < cluster.layout().tables(); table++) {
        Comparison comparison(cluster, table);

        for (uint32_t copy = 0; copy < found.size(); copy++)
            comparison.look_at(copy, found[copy]);
    }
    return found;
}

} // namespace dtx::checks
