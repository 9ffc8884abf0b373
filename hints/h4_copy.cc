/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * h4_copy.cc: H4: how a server core copies into persistent memory: non-temporal stores, cached
 * stores with write-backs, and cached stores alone.
 */
#include "harness/experiment.h"

namespace hints
{

namespace
{

void add(std::vector<Point> *points, const rpm_facts &facts, Point point, uint32_t hints,
         const std::string &name)
{
    for (uint32_t copy : { RPM_COPY_STREAM, RPM_COPY_CLWB, RPM_COPY_STORE }) {
        if (copy == RPM_COPY_STORE && name == "latency")
            continue; /* such an operation ends before any byte is written */
        point.hints = with(hints, 4, copy == RPM_COPY_STREAM);
        plan_load(facts, &point);
        point.load.copy = copy;
        point.load.writers_max = 0; /* H2 limits writers */
        point.series = copy_name(copy);
        point.x = std::to_string(point.load.bytes);
        point.label = "h4/" + name + "/" + point.x + "/" + copy_name(copy);
        points->push_back(point);
    }
}

std::vector<Point> measure(const rpm_facts &facts, uint32_t hints, bool reduced)
{
    std::vector<Point> points;

    for (uint64_t bytes : { 64u, 128u, 256u, 512u, 1024u, 4096u }) {
        Point point = cores(RPM_LOAD_WRITE, bytes, 6);

        point.load.ops = ops_for(bytes, reduced);
        add(&points, facts, point, hints, "cores");
        point.load.threads = 1;
        add(&points, facts, point, hints, "latency");
        if (reduced && bytes != 64)
            continue;
        point = callers(RPM_LOAD_WRITE, bytes);
        point.load.ops = ops_for(bytes, reduced);
        add(&points, facts, point, hints, "calls");
    }
    return points;
}

} // namespace

extern const Experiment kCopy = {
    "h4",
    "H4",
    "h4_copy.cc",
    "server cores copy into persistent memory with non-temporal stores",
    "From which size on are non-temporal stores better?",
    "By bandwidth they win from between 128 and 256 bytes on, and by a factor of two at 512; "
    "below that cached stores with write-backs are faster. Stores without write-backs are the "
    "slowest for large copies, and not durable.",
    "A cached store reads its line first, so a core has a lower rate of them; a non-temporal store "
    "needs a fence that takes longer. Lines that only the cache writes back reach the media as "
    "parts "
    "of media lines.",
    { { "h4_cores", "Six cores, random writes",
        "Streams win from 256 B on, stores with write-backs below; stores alone lose as they grow, "
        "and are not durable.",
        "line", "x", "gbs", "bytes of an operation", "GB/s", true, true },
      { "h4_latency", "One core, one operation",
        "Up to two lines a write-back is durable sooner, from four on a stream.", "line", "x",
        "p50_ns", "bytes of an operation", "median, ns", true, true },
      { "h4_calls", "Ten cores that serve clients",
        "Streams win from 256 B on, where the copy takes longer than the rest of the call.", "line",
        "x", "mops", "bytes of an operation", "M operations/s", true, true } },
    measure,
};

} // namespace hints
