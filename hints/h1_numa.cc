/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * h1_numa.cc: H1: the cost of a NIC, or of cores, on the socket that does not own the modules.
 */
#include "harness/experiment.h"

namespace hints
{

namespace
{

void add(std::vector<Point> *points, const rpm_facts &facts, Point point, uint32_t hints,
         const std::string &name, const std::string &x)
{
    for (bool local : { true, false }) {
        point.hints = with(hints, 1, local);
        point.series = (local ? "local: " : "remote: ") + std::string(op_name(point.load.op));
        point.x = x;
        point.label = "h1/" + name + "/" + x + "/" + (local ? "local" : "remote");
        plan_load(facts, &point);
        points->push_back(point);
    }
}

/* Four cores, by the share of writes. Each point has a published value, so none is left out. */
void add_mixes(std::vector<Point> *points, const rpm_facts &facts, uint32_t hints)
{
    for (uint32_t percent : { 0u, 20u, 25u, 33u, 50u, 100u }) {
        Point point = cores(RPM_LOAD_MIX, 256, 4);

        point.load.write_percent = percent;
        point.load.pattern = RPM_LOAD_SEQUENTIAL;
        point.load.fence_bytes = UINT64_MAX;
        point.load.ops = 100000; /* with any seed the rate then varies by 1 % at most */
        add(points, facts, point, with(hints, 2, false), "mix", std::to_string(percent));
    }
}

std::vector<Point> measure(const rpm_facts &facts, uint32_t hints, bool reduced)
{
    std::vector<Point> points;

    for (uint32_t threads : { 1u, 2u, 4u, 8u })
        for (uint32_t op : { RPM_LOAD_READ, RPM_LOAD_WRITE }) {
            Point point = cores(op, 256, threads);

            if (reduced && threads != 4 && threads != 1)
                continue;
            point.load.pattern = RPM_LOAD_SEQUENTIAL;
            point.load.fence_bytes = UINT64_MAX;
            point.load.ops = 50000; /* with any seed the ratio then varies by 2 % at most */
            add(&points, facts, point, hints, std::string("cores/") + op_name(op),
                std::to_string(threads));
        }
    add_mixes(&points, facts, hints);
    for (uint64_t bytes : { 64u, 256u, 1024u, 4096u })
        for (uint32_t op : { RPM_LOAD_READ, RPM_LOAD_WRITE }) {
            Point point = clients(op, bytes);

            if (reduced && bytes != 64)
                continue;
            point.load.ops = ops_for(bytes, reduced);
            add(&points, facts, point, hints, std::string("clients/") + op_name(op),
                std::to_string(bytes));
        }
    for (uint64_t bytes : { 8u, 64u }) {
        Point dram = clients(RPM_LOAD_READ, bytes);

        dram.load.memory = RPM_LOAD_DRAM;
        dram.load.ops = ops_for(bytes, reduced);
        add(&points, facts, dram, hints, "clients-dram/read", std::to_string(bytes));
    }
    return points;
}

} // namespace

extern const Experiment kNuma = {
    "h1",
    "H1",
    "h1_numa.cc",
    "keep persistent memory on the socket of the NIC and of the cores that use it",
    "How much slower is memory of the other socket?",
    "Writes lose more than half; reads lose little.",
    "A line from another socket crosses the link between them. Its write waits until the directory "
    "is read, which the modules keep beside each line, and changes it: one more write for each "
    "media line.",
    { { "h1_cores", "Cores, sequential, by threads",
        "Writes from the other socket lose more than half of the bandwidth, reads little.", "line",
        "x", "gbs", "threads", "GB/s", false, false },
      { "h1_mix", "Four cores that read and write, sequential",
        "Published mixes fall with the share of writes, and from the other socket at once.", "line",
        "x", "gbs", "writes, %", "GB/s", false, false },
      { "h1_clients", "Clients, random, one-sided",
        "Writes lose half or more on the other socket; READs lose only where they are small.",
        "line", "x", "mops", "bytes of an operation", "M operations/s", true, true } },
    measure,
};

} // namespace hints
