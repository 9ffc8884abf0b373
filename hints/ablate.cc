/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ablate.cc: all hints together, switched on one after another in the order of the published
 * transaction study, and all but one at a time, over the loads that a transaction consists of.
 */
#include "harness/experiment.h"

namespace hints
{

namespace
{

struct Work {
    const char *name;
    Point (*make)(uint32_t op, uint64_t bytes);
    uint32_t op;
    uint64_t bytes;
};

constexpr uint64_t kOps = 50000; /* enough that the result does not depend on the seed */

constexpr Work kWorks[] = {
    { "small-writes", clients, RPM_LOAD_WRITE, 16 }, /* the payload of the published runs */
    { "large-writes", clients, RPM_LOAD_WRITE, 900 },
    { "small-calls", callers, RPM_LOAD_WRITE, 40 },
    { "large-calls", callers, RPM_LOAD_WRITE, 900 },
    { "locks", clients, RPM_LOAD_CAS, 8 },
};

struct Step {
    const char *name;
    uint32_t adds;
};

constexpr Step kSteps[] = {
    { "none", 0 },          { "+H1", RPM_HINT(1) }, { "+H3", RPM_HINT(3) },
    { "+H4", RPM_HINT(4) }, { "+H5", RPM_HINT(5) }, { "+H6+H7", RPM_HINT(6) | RPM_HINT(7) },
    { "+H8", RPM_HINT(8) }, { "+H9", RPM_HINT(9) },
};

Point make(const rpm_facts &facts, const Work &work, uint32_t hints, bool reduced)
{
    Point point = work.make(work.op, work.bytes);

    point.hints = hints;
    point.load.ops = work.bytes < 256 ? kOps : ops_for(work.bytes, reduced);
    plan_load(facts, &point);
    point.series = work.name;
    return point;
}

/* @allowed: hints that the measurement may switch on. */
std::vector<Point> measure(const rpm_facts &facts, uint32_t allowed, bool reduced)
{
    std::vector<Point> points;

    for (const Work &work : kWorks) {
        uint32_t hints = RPM_HINTS_NONE;

        for (const Step &step : kSteps) {
            hints |= step.adds & allowed;
            Point point = make(facts, work, hints, reduced);

            point.x = step.name;
            point.label = std::string("ablate/cumulative/") + work.name + "/" + step.name;
            points.push_back(point);
        }
        for (int k = 0; k <= 9; k++) {
            uint32_t all = allowed & RPM_HINTS_ALL;
            Point point = make(facts, work, k == 0 ? all : with(all, k, false), reduced);

            point.x = k == 0 ? "all" : "-H" + std::to_string(k);
            point.label = std::string("ablate/without/") + work.name + "/" + point.x;
            points.push_back(point);
        }
    }
    return points;
}

} // namespace

extern const Experiment kAblate = {
    "ablate",
    "",
    "ablate.cc",
    "the hints together",
    "Which hints have an effect, and on which kind of operation?",
    "Small one-sided persistent writes go from 15 M/s to 45 M/s, of 52 M/s that the media can do. "
    "H2 is absent from the published order. Each kind of operation has hints of its own: H1, H3, "
    "H6 and H9 for one-sided writes, H4 and H7 for calls, H8 for locks.",
    "Each hint saves work of the media, or time that the client waits; the remaining limit is the "
    "media, or the server's cores.",
    { { "ablate_cumulative", "H1 to H9, one after another",
        "Each kind of operation gains by hints of its own. H2 has no bar: the published order "
        "leaves it out; the figure of all but one has it.",
        "bar", "x", "mops", "hints", "M operations/s", false, false },
      { "ablate_without", "H1 to H9, all but one",
        "What a bar lacks to that of all hints is what the hint gains; a bar as long is a hint "
        "that this operation does not need.",
        "bar", "x", "mops", "hints", "M operations/s", false, false } },
    measure,
};

} // namespace hints
