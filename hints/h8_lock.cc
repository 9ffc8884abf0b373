/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * h8_lock.cc: H8: compare-and-swap on words in DRAM and in persistent memory.
 */
#include "harness/experiment.h"

namespace hints
{

namespace
{

std::vector<Point> measure(const rpm_facts &facts, uint32_t hints, bool reduced)
{
    std::vector<Point> points;

    for (uint32_t threads : { 1u, 2u, 4u, 8u, 16u, 60u, 240u })
        for (bool on : { false, true }) {
            Point point = clients(RPM_LOAD_CAS, 8);

            if (reduced && threads != 1 && threads != 240)
                continue;
            point.load.threads = threads;
            point.load.depth = 1;
            point.load.ops = ops_for(8, reduced);
            point.hints = with(hints, 8, on);
            plan_load(facts, &point);
            point.series = on ? "words in DRAM" : "words in persistent memory";
            point.x = std::to_string(threads);
            point.label = "h8/rate/" + point.x + "/" + memory_name(point.load.memory);
            points.push_back(point);
            if (!on || threads != 240)
                continue;
            point.load.words = 1;
            point.load.ddio = RPM_YES; /* as shipped */
            point.label = "h8/word/" + point.x + "/" + memory_name(point.load.memory);
            points.push_back(point);
        }
    return points;
}

} // namespace

extern const Experiment kLock = {
    "h8",
    "H8",
    "h8_lock.cc",
    "locks and other atomics in DRAM, never in persistent memory",
    "How much faster is a lock in DRAM?",
    "Faster by the difference of the two memories' read latencies, alone; with many clients by the "
    "ratio of the times that an atomic holds its unit.",
    "The NIC reads the word and holds one of a few units until it has changed it; and eight bytes "
    "are a partial word, which costs the media a read and a write.",
    { { "h8_rate", "Compare-and-swap on random words",
        "Locks in DRAM go on rising where those in persistent memory have reached their limit.",
        "line", "x", "mops", "operations under way", "M operations/s", true, false },
      { "h8_latency", "Its latency",
        "DRAM saves the difference of the read latencies; with many clients, whose wait is in a "
        "queue, more.",
        "line", "x", "p50_ns", "operations under way", "median, ns", true, true, "h8/rate/" } },
    measure,
};

} // namespace hints
