/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * h2_spread.cc: H2: server cores that write to one module, to all modules by interleaving, and to
 * all with a limit of writers for each module; and a NIC, which writes in order, as a single
 * writer.
 */
#include "harness/experiment.h"

namespace hints
{

namespace
{

void finish(std::vector<Point> *points, Point point, const std::string &series, uint32_t threads)
{
    point.series = series;
    point.x = std::to_string(threads);
    point.label = "h2/threads/" + series + "/" + point.x;
    points->push_back(point);
}

std::vector<Point> measure(const rpm_facts &facts, uint32_t hints, bool reduced)
{
    std::vector<Point> points;

    for (uint32_t threads : { 1u, 2u, 4u, 6u, 8u, 12u, 16u, 24u }) {
        Point point = cores(RPM_LOAD_WRITE, 256, threads);

        if (reduced && threads != 4 && threads != 12 && threads != 24)
            continue;
        point.load.pattern = RPM_LOAD_SEQUENTIAL;
        point.load.fence_bytes = UINT64_MAX;
        point.load.ops = ops_for(256, reduced);
        point.hints = with(hints, 2, false);
        plan_load(facts, &point);
        point.load.use_dimms = 1;
        finish(&points, point, "one-module", threads);
        point.load.use_dimms = 0;
        finish(&points, point, "interleaved", threads);
        point.hints = with(hints, 2, true);
        plan_load(facts, &point);
        point.load.use_dimms = point.load.own_dimms = 1;
        finish(&points, point, "spread", threads);
    }
    for (uint32_t threads : { 1u, 4u, 12u, 24u }) {
        Point point = clients(RPM_LOAD_WRITE, 256);

        if (reduced && threads != 4 && threads != 24)
            continue;
        point.load.threads = threads;
        point.load.pattern = RPM_LOAD_SEQUENTIAL;
        point.load.ops = ops_for(256, reduced);
        point.hints = hints;
        plan_load(facts, &point);
        point.load.persist = RPM_PERSIST_NONE;
        point.load.use_dimms = 1;
        finish(&points, point, "one-module-by-NIC", threads);
    }
    return points;
}

} // namespace

extern const Experiment kSpread = {
    "h2",
    "H2",
    "h2_spread.cc",
    "spread what server cores write over the modules, few writers to one at a time",
    "How many cores may write to one module, and does a NIC lose bandwidth as cores do?",
    "One module reaches its limit with one core and loses with more than four; six interleaved "
    "ones peak at four or five and lose slowly; a NIC's writes to one module lose nothing with "
    "more "
    "clients.",
    "Lines of many cores share one queue and a buffer of 64 media lines: media lines are written "
    "back before all of their four parts have arrived. A NIC writes in order, as a single writer.",
    { { "h2_threads", "256 B sequential writes, by writers",
        "One module has its limit with one core and loses with more; writers that are spread, and "
        "a NIC, lose little.",
        "line", "x", "gbs", "cores, or clients' threads", "GB/s", false, false } },
    measure,
};

} // namespace hints
