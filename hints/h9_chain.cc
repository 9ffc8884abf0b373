/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * h9_chain.cc: H9: a persistent write in two round trips, and chained in one; with the READ that
 * proves it aimed at persistent memory or at DRAM.
 */
#include "harness/experiment.h"

namespace hints
{

namespace
{

struct Way {
    const char *name;
    uint32_t persist;
    uint32_t flush;
};

constexpr Way kWays[] = {
    { "write-only", RPM_PERSIST_NONE, RPM_LOAD_NVM },
    { "wait-nvm", RPM_PERSIST_WAIT, RPM_LOAD_NVM },
    { "wait-dram", RPM_PERSIST_WAIT, RPM_LOAD_DRAM },
    { "chain-nvm", RPM_PERSIST_CHAIN, RPM_LOAD_NVM },
    { "chain-dram", RPM_PERSIST_CHAIN, RPM_LOAD_DRAM },
};

std::vector<Point> measure(const rpm_facts &facts, uint32_t hints, bool reduced)
{
    std::vector<Point> points;

    for (uint64_t bytes : { 64u, 256u, 1024u, 4096u })
        for (const Way &way : kWays) {
            Point point = clients(RPM_LOAD_WRITE, bytes);

            if (reduced && bytes != 64)
                continue;
            point.load.ops = ops_for(bytes, reduced);
            point.hints = with(hints, 9, way.persist != RPM_PERSIST_WAIT);
            plan_load(facts, &point);
            point.load.persist = way.persist;
            point.load.flush_memory = way.flush;
            point.series = way.name;
            point.x = std::to_string(bytes);
            point.label = "h9/rate/" + point.x + "/" + way.name;
            points.push_back(point);
            point.load.threads = 1;
            point.load.depth = 1;
            point.label = "h9/latency/" + point.x + "/" + way.name;
            points.push_back(point);
        }
    for (const Way &way : { kWays[0], kWays[4] }) { /* a published run: 16 B to DRAM, one client */
        Point point = clients(RPM_LOAD_WRITE, 16);

        point.load.ops = ops_for(16, reduced);
        point.hints = hints;
        plan_load(facts, &point);
        point.load.memory = RPM_LOAD_DRAM;
        point.load.persist = way.persist;
        point.load.flush_memory = way.flush;
        point.load.pad_bytes = 1;
        point.load.ddio = RPM_NO;
        point.load.threads = 1;
        point.load.depth = 1;
        point.series = way.name;
        point.x = "16";
        point.label = std::string("h9/to-dram/16/") + way.name;
        points.push_back(point);
    }
    return points;
}

} // namespace

extern const Experiment kChain = {
    "h9",
    "H9",
    "h9_chain.cc",
    "a persistent write in one round trip: WRITE and READ behind one doorbell",
    "What does waiting for the WRITE before the READ cost?",
    "One operation at a time: about 4 us in two round trips, 3 us chained. Many at a time: the "
    "same rate, since the media are the bottleneck.",
    "A queue pair executes in order, so the answer to the READ proves the WRITE before it; the NIC "
    "fetches the two requests together, which takes less time than a round trip.",
    { { "h9_latency", "One persistent write at a time",
        "One round trip in place of two saves about a microsecond.", "line", "x", "p50_ns",
        "bytes of an operation", "median, ns", true, false },
      { "h9_rate", "240 at a time",
        "With many under way all ways come close: the media or the port is the limit.", "line", "x",
        "mops", "bytes of an operation", "M operations/s", true, true } },
    measure,
};

} // namespace hints
