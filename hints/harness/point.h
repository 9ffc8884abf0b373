/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * point.h: one thing to measure, and what came out. A point is a load and a set of hints; what the
 * hints make of the load is asked of the library's planner, never decided here.
 */
#ifndef RPM_HINTS_POINT_H
#define RPM_HINTS_POINT_H

#include "tool.h"

#include <string>

namespace hints
{

struct Point {
    std::string label;  /* "h1/write/4/far": unique in a run */
    std::string series; /* of a figure */
    std::string x;      /* of a figure */
    uint32_t about = 0; /* the hint that its experiment is about; 0: none alone */
    uint32_t hints = RPM_HINTS_ALL;
    rpm_load load = rpm_load_init();
    std::string set; /* numbers of the preset replaced: "dimms=1 dimms" */
};

struct Row {
    Point point;
    bool measured = false;
    uint32_t repeats = 1;
    bool modelled = true;
    std::string note; /* why not, or what to bear in mind */
    std::string preset;
    std::string set;    /* numbers of it that were replaced */
    uint32_t dimms = 0; /* 0: not known */
    uint32_t ddio = 0;  /* enum rpm_answer; 0: unknown, or no NIC writes there */
    bool durable = false;
    bool counted = false; /* the media counters mean something */
    rpm_cost cost = rpm_cost_init();

    double seconds() const
    {
        return static_cast<double>(cost.duration_ps) * 1e-12;
    }
    double mops() const
    {
        return static_cast<double>(cost.ops) / seconds() * 1e-6;
    }
    double gbs() const
    {
        return static_cast<double>(cost.bytes) / seconds() * 1e-9;
    }
};

/* Set where an operation's bytes, its persistence and the cores' copies go by the point's hints. */
void plan_load(const rpm_facts &facts, Point *point);

/* Does a completion of the point promise that the bytes survive a power loss there? */
bool is_durable(rpm_facts facts, const Point &point);

/* "all", "none", "H1,H3". */
std::string hints_text(uint32_t hints);

const char *by_name(uint32_t by);
const char *op_name(uint32_t op);
const char *persist_name(uint32_t persist);
const char *copy_name(uint32_t copy);
const char *memory_name(uint32_t memory);
const char *pattern_name(uint32_t pattern);

} // namespace hints

#endif
