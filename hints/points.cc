/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * points.cc: published microbenchmarks of the platform's memory alone, which belong to no hint.
 * They show whether the model agrees with the machine of the published experiments.
 */
#include "harness/experiment.h"

#include <algorithm>

namespace hints
{

namespace
{

/* A load of cores as a line of a table: operation, bytes, threads, copy, pattern, fences, modules.
 */
struct Line {
    const char *label;
    uint32_t op;
    uint64_t bytes;
    uint32_t threads;
    uint32_t copy;
    uint32_t pattern;
    bool fences; /* the core waits after each operation */
    bool one;    /* on one module only */
    uint32_t memory;
    uint64_t region; /* bytes; 0: the default, which is larger than all caches */
};

constexpr uint32_t kRnd = RPM_LOAD_RANDOM, kSeq = RPM_LOAD_SEQUENTIAL;
constexpr uint32_t kNt = RPM_COPY_STREAM, kClwb = RPM_COPY_CLWB, kStore = RPM_COPY_STORE;
constexpr uint32_t kRead = RPM_LOAD_READ, kWrite = RPM_LOAD_WRITE;
constexpr uint32_t kNvm = RPM_LOAD_NVM, kDram = RPM_LOAD_DRAM;

constexpr Line kLines[] = {
    /* latencies */
    { "latency/read-random", kRead, 64, 1, 0, kRnd, true, false, kNvm, 0 },
    { "latency/read-sequential", kRead, 64, 1, 0, kSeq, true, false, kNvm, 0 },
    { "latency/read-dram", kRead, 64, 1, 0, kRnd, true, false, kDram, 0 },
    { "latency/stream", kWrite, 64, 1, kNt, kSeq, true, false, kNvm, 0 },
    { "latency/clwb", kWrite, 64, 1, kClwb, kSeq, true, false, kNvm, 0 },
    /* one module */
    { "one/stream/64", kWrite, 64, 4, kNt, kRnd, true, true, kNvm, 0 },
    { "one/stream/128", kWrite, 128, 4, kNt, kRnd, true, true, kNvm, 0 },
    { "one/stream/256", kWrite, 256, 2, kNt, kRnd, true, true, kNvm, 0 },
    { "one/stream/4096", kWrite, 4096, 2, kNt, kRnd, true, true, kNvm, 0 },
    { "one/clwb/64", kWrite, 64, 2, kClwb, kRnd, true, true, kNvm, 0 },
    { "one/clwb/256", kWrite, 256, 2, kClwb, kRnd, true, true, kNvm, 0 },
    { "one/read/64", kRead, 64, 4, 0, kRnd, false, true, kNvm, 0 },
    { "one/read/256", kRead, 256, 4, 0, kRnd, false, true, kNvm, 0 },
    { "one/clwb-seq/2", kWrite, 256, 2, kClwb, kSeq, false, true, kNvm, 0 },
    { "one/read-seq/10", kRead, 256, 10, 0, kSeq, false, true, kNvm, 0 },
    { "one/read-seq/16", kRead, 256, 16, 0, kSeq, false, true, kNvm, 0 },
    { "one/read-seq/24", kRead, 256, 24, 0, kSeq, false, true, kNvm, 0 },
    /* six modules */
    { "six/stream/64", kWrite, 64, 16, kNt, kRnd, false, false, kNvm, 0 },
    { "six/stream/128", kWrite, 128, 12, kNt, kRnd, true, false, kNvm, 0 },
    { "six/stream/256", kWrite, 256, 4, kNt, kRnd, false, false, kNvm, 0 },
    { "six/stream/4096", kWrite, 4096, 6, kNt, kRnd, true, false, kNvm, 0 },
    { "six/store/1024", kWrite, 1024, 6, kStore, kRnd, false, false, kNvm, 0 },
    { "six/read/64", kRead, 64, 24, 0, kRnd, false, false, kNvm, 0 },
    { "six/read/256", kRead, 256, 24, 0, kRnd, false, false, kNvm, 0 },
    { "six/read-seq/1", kRead, 256, 1, 0, kSeq, false, false, kNvm, 0 },
    { "six/read-seq/24", kRead, 256, 24, 0, kSeq, false, false, kNvm, 0 },
    { "six/clwb-seq/1", kWrite, 256, 1, kClwb, kSeq, false, false, kNvm, 0 },
    { "six/clwb-seq/8", kWrite, 256, 8, kClwb, kSeq, false, false, kNvm, 0 },
    { "six/clwb-seq/12", kWrite, 256, 12, kClwb, kSeq, false, false, kNvm, 0 },
    { "six/clwb-seq/24", kWrite, 256, 24, kClwb, kSeq, false, false, kNvm, 0 },
    /* DRAM */
    { "dram/read-seq/24", kRead, 256, 24, 0, kSeq, false, false, kDram, 0 },
    { "dram/stream-seq/24", kWrite, 256, 24, kNt, kSeq, false, false, kDram, 0 },
    { "dram/stream-seq/4", kWrite, 256, 4, kNt, kSeq, false, false, kDram, 0 },
};

Point stream_point(const rpm_facts &facts, uint32_t hints, bool reduced, uint64_t bytes,
                   uint32_t threads, const std::string &label)
{
    Point point = cores(kWrite, bytes, threads);

    point.hints = hints;
    plan_load(facts, &point);
    point.load.copy = kNt;
    point.load.writers_max = 0;
    point.load.ops = ops_for(bytes, reduced);
    point.label = "points/" + label;
    point.series = op_name(kWrite);
    point.x = label;
    return point;
}

/* The first half of each media line of a region on one module, then the second half, and so on: the
 * media write a line once if the module's buffer still holds the first half. */
void measure_buffer(std::vector<Point> *points, const rpm_facts &facts, uint32_t hints,
                    bool reduced)
{
    for (uint32_t kib : { 16u, 20u, 24u, 28u, 32u, 36u, 40u, 64u, 128u }) {
        Point point = stream_point(facts, hints, reduced, 128, 1, "buffer/" + std::to_string(kib));

        point.load.pattern = kSeq;
        point.load.align_bytes = 256;
        point.load.passes = 2;
        point.load.use_dimms = 1;
        point.load.region_bytes = 6ull * kib << 10; /* a sixth of it is on the module */
        points->push_back(point);
    }
}

/* Random writes of 1 KiB by threads each of which uses some of the modules, or all. */
void measure_bound(std::vector<Point> *points, const rpm_facts &facts, uint32_t hints, bool reduced)
{
    for (uint32_t threads : { 6u, 12u, 24u })
        for (uint32_t dimms : { 0u, 3u, 2u, 1u }) {
            std::string label =
                std::to_string(threads) + "/" + (dimms == 0 ? "all" : std::to_string(dimms));
            Point point = stream_point(facts, hints, reduced, 1024, threads, "bound/" + label);

            point.load.pattern = kRnd;
            point.load.use_dimms = dimms;
            point.load.own_dimms = dimms != 0 ? 1 : 0;
            points->push_back(point);
        }
}

std::vector<Point> measure(const rpm_facts &facts, uint32_t hints, bool reduced)
{
    std::vector<Point> points;

    for (const Line &line : kLines) {
        Point point = cores(line.op, line.bytes, line.threads);

        point.hints = hints;
        plan_load(facts, &point);
        point.load.copy = line.copy;
        point.load.pattern = line.pattern;
        point.load.fence_bytes = line.fences ? 1 : UINT64_MAX;
        point.load.use_dimms = line.one ? 1 : 0;
        point.load.memory = line.memory;
        point.load.region_bytes = line.region;
        point.load.writers_max = 0;
        point.load.pad_bytes = 0;
        point.load.align_bytes = 0;
        point.load.ops = std::max<uint64_t>(ops_for(line.bytes, reduced), 6000);
        point.label = std::string("points/") + line.label;
        point.series = op_name(line.op);
        point.x = line.label;
        points.push_back(point);
    }
    measure_buffer(&points, facts, hints, reduced);
    measure_bound(&points, facts, hints, reduced);
    return points;
}

} // namespace

extern const Experiment kPoints = {
    "points",
    "",
    "points.cc",
    "the memory by itself",
    "Does the modelled memory agree with the published one?",
    "Published latencies, rates and bandwidths, but for those that hints/outside.csv lists.",
    "The model reproduces the points from which the preset's numbers were taken; the others "
    "follow.",
    {},
    measure,
};

} // namespace hints
