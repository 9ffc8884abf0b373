/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * octopus.cc: the data path of Octopus, a distributed file system: clients write whole blocks of
 * their files to memory of one server, each its own WRITE and the READ that proves it.
 *
 * The published runs: five processes that write 1 MiB at a time, and twelve that write 64 KiB, at
 * random multiples of 1 MiB in 2 GiB. Before and after each write Octopus sends a call to the
 * server, which these points leave out, as they leave out its copy into a buffer of the client.
 */
#include "harness/experiment.h"

namespace hints
{

namespace
{

struct Run {
    const char *name;
    uint64_t bytes;
    uint32_t processes;
};

constexpr Run kRuns[] = { { "1M", 1 << 20, 5 }, { "64K", 64 << 10, 12 } };

struct Step {
    const char *name;
    uint32_t adds;
};

/* The others change nothing: H2, H4 and H7 are about cores, H6 about small writes, and there are no
 * locks (H8). */
constexpr Step kSteps[] = {
    { "none", 0 },          { "+H1", RPM_HINT(1) },   { "+H3", RPM_HINT(3) },
    { "+H5", RPM_HINT(5) }, { "+H9", RPM_HINTS_ALL },
};

/* Many times what the cache has for a NIC, and ten operations of each process. */
constexpr uint64_t kRunBytes = 64 << 20;

std::vector<Point> measure(const rpm_facts &facts, uint32_t allowed, bool)
{
    std::vector<Point> points;

    for (const Run &run : kRuns) {
        uint32_t hints = RPM_HINTS_NONE;

        for (const Step &step : kSteps) {
            Point point = clients(RPM_LOAD_WRITE, run.bytes);

            hints |= step.adds & allowed;
            point.hints = hints;
            point.load.threads = run.processes;
            point.load.depth = 1;
            point.load.align_bytes = 1 << 20;
            point.load.region_bytes = 2ull << 30;
            point.load.ops = kRunBytes / run.bytes;
            plan_load(facts, &point);
            point.series = run.name;
            point.x = step.name;
            point.label = std::string("octopus/") + run.name + "/" + step.name;
            points.push_back(point);
        }
    }
    return points;
}

} // namespace

extern const Experiment kOctopus = {
    "octopus",
    "",
    "octopus.cc",
    "the data path of a file system",
    "What do the hints gain for a file system whose clients write large blocks?",
    "2.4 times with all hints, as published for Octopus, without the size of its writes.",
    "Blocks of 64 KiB and 1 MiB are sequential for the media if the cache does not scramble them; "
    "then the port is the limit.",
    { { "octopus", "Writes of Octopus, H1 to H9, one after another",
        "Most of the gain is from H3: past the cache, large writes are sequential for the media.",
        "bar", "x", "gbs", "hints", "GB/s", false, false, "octopus/" } },
    measure,
};

} // namespace hints
