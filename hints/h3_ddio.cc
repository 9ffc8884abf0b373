/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * h3_ddio.cc: H3: inbound writes with and without DDIO; the same question for a core, cached
 * against non-temporal stores; and messages, which are faster through the cache.
 */
#include "harness/experiment.h"

namespace hints
{

namespace
{

void add(std::vector<Point> *points, const rpm_facts &facts, Point point, uint32_t hints,
         const std::string &name)
{
    for (uint32_t ddio : { RPM_NO, RPM_YES }) {
        point.hints = hints;
        plan_load(facts, &point);
        point.load.ddio = ddio;
        point.hints = with(hints, 3, (ddio == RPM_YES) == (point.load.by == RPM_BY_CALL));
        point.series =
            std::string(ddio == RPM_YES ? "DDIO on" : "DDIO off") +
            (point.load.by == RPM_BY_CALL ? std::string(", ") + op_name(point.load.op)
                                          : std::string(", ") + pattern_name(point.load.pattern));
        point.label = "h3/" + name + "/" + (ddio == RPM_YES ? "on" : "off");
        points->push_back(point);
    }
}

void add_evictions(std::vector<Point> *points, const rpm_facts &facts, uint32_t hints, bool reduced)
{
    for (uint32_t threads : { 4u, 8u, 16u })
        for (uint32_t copy : { RPM_COPY_STREAM, RPM_COPY_STORE }) {
            Point point = cores(RPM_LOAD_WRITE, 4096, threads);

            if (reduced && threads == 16)
                continue;
            point.load.pattern = RPM_LOAD_SEQUENTIAL;
            point.load.fence_bytes = UINT64_MAX;
            point.load.ops = ops_for(4096, reduced) * 2;
            point.hints = hints;
            plan_load(facts, &point);
            point.load.copy = copy;
            point.load.writers_max = 0;
            point.series = copy == RPM_COPY_STORE ? "left to the cache" : "streamed past it";
            point.x = std::to_string(threads);
            point.label = "h3/evicted/" + point.x + "/" + copy_name(copy);
            points->push_back(point);
        }
}

std::vector<Point> measure(const rpm_facts &facts, uint32_t hints, bool reduced)
{
    std::vector<Point> points;

    for (uint32_t pattern : { RPM_LOAD_RANDOM, RPM_LOAD_SEQUENTIAL })
        for (uint64_t bytes : { 64u, 256u, 1024u, 4096u }) {
            Point point = clients(RPM_LOAD_WRITE, bytes);

            if (reduced && bytes != 64 && bytes != 4096)
                continue;
            point.load.pattern = pattern;
            point.load.threads = 6; /* sequential streams at a time */
            point.load.ops = ops_for(bytes, reduced) * 2;
            point.x = std::to_string(bytes);
            add(&points, facts, point, hints,
                std::string("clients/") + pattern_name(pattern) + "/" + point.x);
        }
    add_evictions(&points, facts, hints, reduced);
    for (uint32_t op : { RPM_LOAD_READ, RPM_LOAD_WRITE })
        for (uint64_t bytes : { 16u, 64u, 256u, 1024u }) {
            Point point = callers(op, bytes);

            if (reduced && bytes != 64)
                continue;
            point.load.ops = ops_for(bytes, reduced);
            point.x = std::to_string(bytes);
            add(&points, facts, point, hints, std::string("calls/") + op_name(op) + "/" + point.x);
        }
    return points;
}

} // namespace

extern const Experiment kDdio = {
    "h3",
    "H3",
    "h3_ddio.cc",
    "turn DDIO off for one-sided writes to persistent memory, leave it on for messages",
    "What is the effect of the cache on one-sided writes, and on messages?",
    "Large sequential writes through the cache cost the media two to four times as many writes, "
    "and "
    "the bandwidth falls by the same factor; small random ones lose little. Messages are up to "
    "twice "
    "as fast through the cache. While DDIO is on, a READ after a WRITE proves nothing.",
    "The cache evicts lines in another order than they arrived in, so the parts of a media line "
    "reach "
    "the module at different times; a core that polls for messages finds them in the cache.",
    { { "h3_clients", "One-sided writes",
        "With DDIO on, large writes fall to a fraction: the cache evicts media lines part by part.",
        "line", "x", "gbs", "bytes of an operation", "GB/s", true, true },
      { "h3_evicted", "Sequential writes of cores",
        "Stores that the cache evicts stay far below streams.", "line", "x", "gbs", "threads",
        "GB/s", false, false },
      { "h3_calls", "Two-sided", "Messages are faster with DDIO on, as long as they are small.",
        "line", "x", "mops", "bytes of an operation", "M operations/s", true, false } },
    measure,
};

} // namespace hints
