/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * h6_word_nic.cc: H6: small one-sided writes that are whole words of 64 bytes, or not.
 */
#include "harness/experiment.h"

namespace hints
{

namespace
{

/* A published run: 8 clients write whole words to one module. */
Point one_module(const rpm_facts &facts, uint32_t hints, bool reduced)
{
    Point point = clients(RPM_LOAD_WRITE, 64);

    point.load.ops = ops_for(64, reduced);
    point.hints = hints;
    plan_load(facts, &point);
    point.load.threads = 8;
    point.load.depth = 16;
    point.load.persist = RPM_PERSIST_NONE;
    point.load.ddio = RPM_NO;
    point.load.use_dimms = 1;
    point.series = "one module, DDIO off";
    point.x = "64";
    point.label = "h6/one-module/64";
    return point;
}

std::vector<Point> measure(const rpm_facts &facts, uint32_t hints, bool reduced)
{
    std::vector<Point> points;

    for (uint64_t bytes : { 8u, 16u, 40u, 64u, 80u, 128u, 150u, 192u, 240u, 256u })
        for (uint32_t ddio : { RPM_NO, RPM_YES })
            for (bool on : { false, true }) {
                Point point = clients(RPM_LOAD_WRITE, bytes);

                if (reduced && bytes != 16 && bytes != 64)
                    continue;
                point.load.ops = ops_for(bytes, reduced);
                point.hints = with(hints, 6, on);
                plan_load(facts, &point);
                point.load.ddio = ddio;
                point.series = std::string(on ? "padded to 64 B" : "as they are") +
                               (ddio == RPM_YES ? ", DDIO on" : ", DDIO off");
                point.x = std::to_string(bytes);
                point.label = "h6/clients/" + point.x + "/" + (on ? "on" : "off") +
                              (ddio == RPM_YES ? "/ddio" : "");
                points.push_back(point);
            }
    points.push_back(one_module(facts, hints, reduced));
    return points;
}

} // namespace

extern const Experiment kWordNic = {
    "h6",
    "H6",
    "h6_word_nic.cc",
    "small one-sided writes are whole, aligned words of 64 bytes",
    "What is the cost of a write that ends in the middle of a word?",
    "Lengths that are no multiple of 64 lose, and read the media; padded ones do not.",
    "The root complex must read the rest of a partial word from the media before it can write the "
    "word; the read takes a third of the time of a write.",
    { { "h6_clients", "Clients, random one-sided writes",
        "Padding lifts each size that is no multiple of 64 B to that of the next one.", "line", "x",
        "mops", "bytes of an operation", "M operations/s", false, false } },
    measure,
};

} // namespace hints
