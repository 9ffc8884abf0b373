/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * near.cc: rows of rpm-bench agent: ranges that the server's CPU compares where they are
 * (RPM_STEP_COMPARE), against a client that reads both and compares them.
 */
#include "bench/tiered.h"

#include "bench/ours.h"

namespace bench
{

namespace
{

constexpr uint64_t kRangeBytes = 256u << 10;
constexpr uint32_t kPairs = 64; /* compared in a round */

/* Two regions with the same bytes. */
struct Pair {
    cli::Conn conn;
    cli::Region one;
    cli::Region other;

    explicit Pair(const std::string &url)
        : conn(cli::connect(url)), one(open("bench-near-one")), other(open("bench-near-other"))
    {
    }
    cli::Region open(const char *name) const
    {
        rpm_region_opts opts = rpm_region_opts_init();
        std::vector<unsigned char> bytes(kRangeBytes);
        rpm_region *raw = nullptr;

        opts.flags = RPM_REGION_CREATE;
        opts.bytes = kRangeBytes;
        for (size_t i = 0; i < bytes.size(); i++)
            bytes[i] = static_cast<unsigned char>(i * 7 + i / 251);
        cli::check(name, rpm_region_open(conn.get(), name, &opts, &raw));
        cli::Region region(raw);
        cli::check(name, rpm_region_write(raw, 0, bytes.data(), bytes.size()));
        return region;
    }
    uint64_t received() const
    {
        struct rpm_conn_stats stats = rpm_conn_stats_init();

        cli::check("stats", rpm_conn_stats(conn.get(), &stats));
        return stats.received_bytes;
    }
};

bool same_near(const Pair &pair)
{
    rpm_step step = {};
    uint64_t same = 0;
    uint32_t done = 0;

    step.kind = RPM_STEP_COMPARE;
    step.region = pair.one.get();
    step.other = pair.other.get();
    step.len = kRangeBytes;
    step.into = &same;
    cli::check("compare", rpm_steps_run(pair.one.get(), &step, 1, &done));
    return same == kRangeBytes;
}

bool same_here(const Pair &pair, std::vector<unsigned char> &room)
{
    cli::check("read", rpm_region_read(pair.one.get(), 0, room.data(), kRangeBytes));
    cli::check("read", rpm_region_read(pair.other.get(), 0, &room[kRangeBytes], kRangeBytes));
    return memcmp(room.data(), &room[kRangeBytes], kRangeBytes) == 0;
}

struct Cost {
    double ns;    /* of a pair */
    double bytes; /* to the client, for a pair */
};

Cost cost_of(const Pair &pair, const std::function<bool()> &same)
{
    uint64_t received = pair.received();
    uint64_t begin = now_ns();
    Cost cost = {};

    for (uint32_t i = 0; i < kPairs; i++)
        if (!same())
            throw cli::Failure("two ranges with the same bytes were found to differ");
    cost.ns = static_cast<double>(now_ns() - begin) / kPairs;
    cost.bytes = static_cast<double>(pair.received() - received) / kPairs;
    return cost;
}

} // namespace

void compare_near(const CompareOptions &options, const std::string &url, std::vector<Row> &rows)
{
    Row time = { "compare near", kRangeBytes, 1, "read and compare", "time per pair of ranges" };
    Row bytes = { "bytes of compare", kRangeBytes, 1, "bytes of reads", "to the client, a pair" };
    std::vector<unsigned char> room(2 * kRangeBytes);
    std::vector<double> ours[2];
    std::vector<double> others[2];
    bool timed = wanted(options.only, time.what, time.against);
    bool counted = wanted(options.only, bytes.what, bytes.against);

    if (!timed && !counted)
        return;
    Pair pair(url);
    for (uint32_t round = 0; round < options.rounds; round++) {
        show_round(time.what, time.against, round, options);
        Cost near = cost_of(pair, [&] { return same_near(pair); });
        Cost here = cost_of(pair, [&] { return same_here(pair, room); });

        ours[0].push_back(near.ns);
        ours[1].push_back(near.bytes);
        others[0].push_back(here.ns);
        others[1].push_back(here.bytes);
        end_if_stopped();
    }
    if (timed)
        add_row(time, ours[0], others[0], rows);
    if (counted)
        add_row(bytes, ours[1], others[1], rows);
}

} // namespace bench
