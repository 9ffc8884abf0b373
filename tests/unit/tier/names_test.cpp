// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"

extern "C" {
#include "tier/names.h"
}

#include <vector>

struct Listed {
    rpmi_store store{ nullptr, false };
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    uint64_t asked = 1; // from which LSN on the store was last asked for segments
    rpmi_store_ops ops{};
    rpmi_names names{};

    explicit Listed(std::vector<std::pair<uint64_t, uint64_t>> all) : ranges(std::move(all))
    {
        ops.segments = [](rpmi_store *of, uint64_t log_id, uint64_t from_lsn,
                          rpmi_segment_visit *visit, void *context) {
            int err = 0;

            reinterpret_cast<Listed *>(of)->asked = from_lsn;
            for (auto [first, end] : reinterpret_cast<Listed *>(of)->ranges) {
                rpmi_segment_name name = { log_id, first, end };

                if ((err = visit(context, &name)) != 0)
                    break;
            }
            return err;
        };
        store.ops = &ops;
        REQUIRE(rpmi_names_list(&names, &store, 0) == 0);
    }
    ~Listed()
    {
        rpmi_names_drop(&names);
    }
    uint64_t end_at(uint64_t lsn) const
    {
        return end_within(lsn, UINT64_MAX);
    }
    uint64_t end_within(uint64_t lsn, uint64_t limit) const
    {
        const rpmi_segment_name *found = rpmi_names_find(&names, lsn, limit);

        return found == nullptr ? 0 : found->end_lsn;
    }
};

TEST_CASE("names: the segment that has an LSN, in any order, and over each other", "[unit]")
{
    Listed listed({ { 640, 1280 }, { 0, 640 }, { 64, 128 }, { 2560, 2624 }, { 1280, 1920 } });

    CHECK(listed.end_at(0) == 640);
    CHECK(listed.end_at(100) == 640); // and not the shorter one
    CHECK(listed.end_at(639) == 640);
    CHECK(listed.end_at(640) == 1280);
    CHECK(listed.end_at(1919) == 1920);
    CHECK(listed.end_at(1920) == 0);
    CHECK(listed.end_at(2600) == 2624);
    CHECK(listed.end_at(2624) == 0);
    CHECK(listed.end_within(0, 640) == 640);
    CHECK(listed.end_within(0, 639) == 0);
    CHECK(listed.end_within(100, 639) == 128); // the shorter one
    CHECK(listed.end_within(128, 639) == 0);
    CHECK(listed.end_within(2560, 2623) == 0);
}

TEST_CASE("names: a list begins where the longest segment with the LSN could begin", "[unit]")
{
    const uint64_t longest = RPMI_SEGMENT_LSNS_MAX;
    Listed listed({ { 0, 640 } });

    CHECK(listed.asked == 0);
    for (auto [lsn, from] :
         { std::pair{ longest - 64, 0ul }, { longest, 0ul }, { longest + 640, 640ul } }) {
        REQUIRE(rpmi_names_list(&listed.names, &listed.store, lsn) == 0);
        CHECK(listed.asked == from);
    }
}

TEST_CASE("names: of many segments, and of none", "[unit]")
{
    std::vector<std::pair<uint64_t, uint64_t>> ranges;

    for (uint64_t i = 0; i < 1000; i++)
        ranges.push_back({ i * 37 % 1000 * 64, i * 37 % 1000 * 64 + 64 });
    Listed listed(ranges);
    for (uint64_t lsn = 0; lsn < 64000; lsn += 7)
        REQUIRE(listed.end_at(lsn) == lsn / 64 * 64 + 64);
    Listed none({});
    CHECK(none.end_at(0) == 0);
    CHECK(none.end_within(0, 64) == 0);
}
