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

/* What the same request costs by another method, which is legal. */
static uint32_t round_trips_of(const struct rpm_facts *facts, const struct rpm_request *request,
                               enum rpm_method method)
{
    struct rpm_request insists = *request;
    struct rpmi_plan made;

    insists.method = (uint32_t)method;
    return rpmi_plan_make(facts, &insists, &made) == 0 ? rpmi_plan_round_trips(&made) : 0;
}

static void fill_alternatives(const struct rpm_facts *facts, const struct rpm_request *request,
                              const struct rpmi_plan *made, struct rpm_plan *out)
{
    enum rpm_method methods[RPM_ALTERNATIVES_MAX];

    out->alternatives = rpmi_plan_alternatives(facts, request, made, methods, RPM_ALTERNATIVES_MAX);
    for (uint32_t i = 0; i < out->alternatives; i++) {
        out->alternative[i].method = (uint32_t)methods[i];
        out->alternative[i].round_trips =
            i == 0 ? rpmi_plan_round_trips(made) : round_trips_of(facts, request, methods[i]);
    }
}

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
    fill_alternatives(&known, &asked, &made, &out);
    return rpmi_opts_out(plan, &out, sizeof(out));
}
