/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rule_lock.c: H8: allow atomics and locks in DRAM only. On persistent memory the NIC would read
 * the slow medium inside its atomic section, and the word would still need a flush.
 *
 * On: an atomic reaches visible and no higher level. Off: an atomic on persistent memory is planned
 * too, followed by a seal, to show its cost.
 *
 * Tests: tests/unit/plan/rule_lock_test.cpp
 */
#include "plan/rule.h"

#include "base/err.h"

#define LOCK 8u

static int lock_apply(const struct rpm_facts *facts, const struct rpm_request *request,
                      struct rpmi_plan *plan)
{
    (void)facts;
    if (request->kind != RPM_REQUEST_ATOMIC)
        return 0;
    if (plan->level > RPM_VISIBLE && rpmi_hint_on(plan, LOCK))
        return rpmi_fail(RPM_E_NOCAP,
                         "atomics work on DRAM words, which reach visible and no more (H8); "
                         "ask for level visible");
    plan->write_kind = RPMI_OP_CAS;
    plan->write_flags = 0;
    if (plan->level <= RPM_VISIBLE)
        plan->seal_kind = 0; /* its answer carries the old value: it was carried out */
    return 0;
}

static const char *lock_describe(const struct rpm_facts *facts, const struct rpm_request *request,
                                 const struct rpmi_plan *plan)
{
    (void)facts;
    if (request->kind != RPM_REQUEST_ATOMIC)
        return "no atomic in this request";
    if (rpmi_hint_on(plan, LOCK))
        return "the word is in server DRAM: volatile, and cheap to lock";
    return plan->seal_kind != 0 ? "the word is in persistent memory and needs a seal"
                                : "the word may be anywhere";
}

const struct rpmi_rule rpmi_rule_lock = { LOCK, lock_apply, lock_describe };
