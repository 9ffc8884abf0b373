/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rule_xpline.c: H5: start frames over 256 bytes at a media line of 256 bytes, and fill whole
 * lines. A write of a part of a line costs the medium a read-modify-write.
 *
 * Applies only if the medium has lines of that size: on other media the padding would only waste
 * space.
 *
 * Tests: tests/unit/plan/rule_xpline_test.cpp
 */
#include "base/limits.h"
#include "plan/rule.h"

#define XPLINE 5u

static bool is_append(const struct rpm_request *request)
{
    return request->kind == RPM_REQUEST_APPEND || request->kind == RPM_REQUEST_BATCH;
}

static int xpline_apply(const struct rpm_facts *facts, const struct rpm_request *request,
                        struct rpmi_plan *plan)
{
    if (is_append(request) && rpmi_hint_on(plan, XPLINE) && facts->line_bytes == RPMI_XPLINE_BYTES)
        plan->large_unit = RPMI_XPLINE_BYTES;
    return 0;
}

static const char *xpline_describe(const struct rpm_facts *facts, const struct rpm_request *request,
                                   const struct rpmi_plan *plan)
{
    if (!is_append(request))
        return "the caller chooses the offsets of region writes: use slots of 256 bytes for large "
               "ones";
    if (facts->line_bytes != RPMI_XPLINE_BYTES)
        return "the medium has no 256-byte lines: nothing to fill";
    if (!rpmi_hint_on(plan, XPLINE))
        return "frames over 256 bytes are packed at 64";
    return "frames over 256 bytes start at and fill 256-byte media lines";
}

const struct rpmi_rule rpmi_rule_xpline = { XPLINE, xpline_apply, xpline_describe };
