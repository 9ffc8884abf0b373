/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rule_word.c: H6 and H7: pad small writes to whole 64-byte words. A write of a part of a word
 * costs a read-modify-write: in the PCIe root for a NIC (H6), in the cache line for a CPU (H7).
 *
 * The public wording of H7 is uncertain. The rule does the union of the known readings: H6 applies
 * to bytes that a NIC writes, H7 to bytes that a CPU of the client or the server writes.
 *
 * Log frames always start at a multiple of 64, so padding only lengthens them. Region writes are
 * padded only inside slots, each of which one writer owns: the bytes of other slots are never
 * touched.
 *
 * Tests: tests/unit/plan/rule_word_test.cpp
 */
#include "base/limits.h"
#include "plan/rule.h"

#define WORD_NIC 6u
#define WORD_CPU 7u

static bool owns_padding(const struct rpm_request *request)
{
    return request->kind == RPM_REQUEST_APPEND || request->kind == RPM_REQUEST_BATCH ||
           (request->kind == RPM_REQUEST_WRITE && request->slot_bytes != 0);
}

static int word_apply(const struct rpm_request *request, struct rpmi_plan *plan, uint32_t hint)
{
    if (rpmi_hint_on(plan, hint) && owns_padding(request))
        plan->pad_unit = RPMI_LINE_BYTES;
    return 0;
}

static int word_nic_apply(const struct rpm_facts *facts, const struct rpm_request *request,
                          struct rpmi_plan *plan)
{
    (void)facts;
    return rpmi_cpu_writes(plan) ? 0 : word_apply(request, plan, WORD_NIC);
}

static int word_cpu_apply(const struct rpm_facts *facts, const struct rpm_request *request,
                          struct rpmi_plan *plan)
{
    (void)facts;
    return rpmi_cpu_writes(plan) ? word_apply(request, plan, WORD_CPU) : 0;
}

static const char *word_describe(const struct rpm_request *request, const struct rpmi_plan *plan,
                                 uint32_t hint)
{
    if (request->kind == RPM_REQUEST_ATOMIC)
        return "nothing to pad: an atomic is 8 bytes";
    if (!rpmi_hint_on(plan, hint))
        return "only the bytes that carry data are written";
    if (!owns_padding(request))
        return "no slots: padding would touch a neighbour's bytes, so there is none";
    return "length padded to whole 64-byte words";
}

static const char *word_nic_describe(const struct rpm_facts *facts,
                                     const struct rpm_request *request,
                                     const struct rpmi_plan *plan)
{
    (void)facts;
    return rpmi_cpu_writes(plan) ? "no NIC writes the bytes: see H7"
                                 : word_describe(request, plan, WORD_NIC);
}

static const char *word_cpu_describe(const struct rpm_facts *facts,
                                     const struct rpm_request *request,
                                     const struct rpmi_plan *plan)
{
    (void)facts;
    return rpmi_cpu_writes(plan) ? word_describe(request, plan, WORD_CPU)
                                 : "no CPU writes the bytes: see H6";
}

const struct rpmi_rule rpmi_rule_word_nic = { WORD_NIC, word_nic_apply, word_nic_describe };
const struct rpmi_rule rpmi_rule_word_cpu = { WORD_CPU, word_cpu_apply, word_cpu_describe };
