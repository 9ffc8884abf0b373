/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * point.h: a point to measure, and the row of its results. A point is a load and a set of hints;
 * the library's planner decides how the hints change the load.
 */
#ifndef RPM_HINTS_POINT_H
#define RPM_HINTS_POINT_H

#include "tool.h"

#include <string>

namespace hints
{

struct Point {
    std::string label;  /* "h1/write/4/remote": unique in a run */
    std::string series; /* of a figure */
    std::string x;      /* of a figure */
    uint32_t about = 0; /* the hint that its experiment is about; 0: no single hint */
    uint32_t hints = RPM_HINTS_ALL;
    rpm_load load = rpm_load_init();
    std::string set; /* numbers of the preset replaced: "dimms=1 dimms" */
};

struct Row {
    Point point;
    bool measured = false;
    uint32_t repeats = 1;
    bool modelled = true;
    std::string note; /* why there are no numbers, or a remark about them */
    std::string preset;
    std::string set;    /* numbers of the preset that were replaced */
    uint32_t dimms = 0; /* 0: not known */
    uint32_t ddio = 0;  /* enum rpm_answer; 0: unknown, or no NIC writes there */
    bool durable = false;
    bool counted = false; /* the media counters are valid */
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

/* Set the bytes of an operation, its persistence and the cores' copies by the point's hints. */
void plan_load(const rpm_facts &facts, Point *point);

/* Does a completion of the point promise that the bytes survive a power loss on that platform? */
bool is_durable(rpm_facts facts, const Point &point);

/* "all", "none", or such as "H1+H3". */
std::string hints_text(uint32_t hints);

const char *by_name(uint32_t by);
const char *op_name(uint32_t op);
const char *persist_name(uint32_t persist);
const char *copy_name(uint32_t copy);
const char *memory_name(uint32_t memory);
const char *pattern_name(uint32_t pattern);

} // namespace hints

#endif
