/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * make.c: the plan as numbers, for programs that compare plans or carry them out themselves. The
 * planner decides; this file copies.
 *
 * Tests: tests/unit/plan/make_test.cpp
 */
#include <librpm/plan.h>

#include "base/err.h"
#include "base/opts.h"
#include "plan/rule.h"

static void fill(const struct rpmi_plan *made, struct rpm_plan *out)
{
    out->method = made->method;
    out->level = made->level;
    out->hints = made->hints;
    out->round_trips = rpmi_plan_round_trips(made);
    out->pad_bytes = made->pad_unit;
    out->large_bytes = made->large_unit;
    out->same_node = made->same_node;
    out->ddio = made->ddio;
    out->copy = made->copy;
    out->spread = made->spread;
    out->writers_max = made->writers_max;
    out->atomic_dram = rpmi_hint_on(made, rpmi_rule_lock.hint);
    out->chained = made->seal_kind != 0 && (made->write_flags & RPMI_OP_WAIT) == 0;
}

int rpm_plan_make(const struct rpm_facts *facts, const struct rpm_request *request,
                  struct rpm_plan *plan)
{
    rpmi_begin();

    struct rpm_facts known = rpm_facts_init();
    struct rpm_request asked = rpm_request_init();
    struct rpm_plan out = rpm_plan_init();
    struct rpmi_plan made;
    int err = rpmi_opts_in(&known, sizeof(known), facts);

    if (err == 0)
        err = rpmi_opts_in(&asked, sizeof(asked), request);
    if (err == 0)
        err = rpmi_plan_make(&known, &asked, &made);
    if (err != 0)
        return err;
    fill(&made, &out);
    return rpmi_opts_out(plan, &out, sizeof(out));
}
