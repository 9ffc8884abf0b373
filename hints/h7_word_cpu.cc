/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * h7_word_cpu.cc: H7: small writes of server cores that are whole lines of 64 bytes, or not.
 *
 * The published wording of H7 is uncertain, see lib/plan/rule_word.c. This experiment applies it to
 * cores.
 */
#include "harness/experiment.h"

namespace hints
{

namespace
{

std::vector<Point> measure(const rpm_facts &facts, uint32_t hints, bool reduced)
{
    std::vector<Point> points;

    for (uint64_t bytes : { 8u, 16u, 40u, 64u, 80u, 128u, 150u, 192u, 240u, 256u })
        for (bool on : { false, true }) {
            Point point = cores(RPM_LOAD_WRITE, bytes, 16);

            if (reduced && bytes != 16 && bytes != 64)
                continue;
            point.load.ops = ops_for(bytes, reduced);
            point.hints = with(hints, 7, on);
            plan_load(facts, &point);
            point.load.copy = RPM_COPY_STREAM;
            point.load.writers_max = 0;
            point.load.fence_bytes = UINT64_MAX;
            point.series = on ? "padded to 64 B" : "as they are";
            point.x = std::to_string(bytes);
            point.label = "h7/cores/" + point.x + "/" + (on ? "on" : "off");
            points.push_back(point);
            point = callers(RPM_LOAD_WRITE, bytes);
            point.load.ops = ops_for(bytes, reduced);
            point.hints = with(hints, 7, on);
            plan_load(facts, &point);
            point.load.copy = RPM_COPY_STREAM;
            point.load.cores = 20;
            point.series = on ? "padded to 64 B" : "as they are";
            point.x = std::to_string(bytes);
            point.label = "h7/calls/" + point.x + "/" + (on ? "on" : "off");
            points.push_back(point);
        }
    return points;
}

} // namespace

extern const Experiment kWordCpu = {
    "h7",
    "H7",
    "h7_word_cpu.cc",
    "small writes of server cores are whole, aligned lines of 64 bytes",
    "What is the cost of a stream that ends in the middle of a line?",
    "Streams whose length is no multiple of 64 read the media and lose, where the media are the "
    "bottleneck; calls lose less, because the cores are.",
    "A part of a line that leaves a core's buffers makes the module read the rest first.",
    { { "h7_cores", "16 cores, random streams",
        "As H6, for streams of cores: a whole line needs no read of the media.", "line", "x",
        "mops", "bytes of an operation", "M operations/s", false, false },
      { "h7_calls", "20 cores that serve clients",
        "In calls the same gains less: the cores that serve are the limit, not the media.", "line",
        "x", "mops", "bytes of an operation", "M operations/s", false, false } },
    measure,
};

} // namespace hints
