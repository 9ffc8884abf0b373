/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * refuse.c: the error text of a level that cannot be proven: the reason, and what to declare,
 * switch or request instead.
 *
 * Tests: tests/unit/plan/refuse_test.cpp
 */
#include "plan/refuse.h"

#include "base/assert.h"
#include "base/err.h"
#include "plan/legal.h"
#include "plan/text.h"

#define LIST_BYTES 96

static const char *remedy(const struct rpm_facts *facts, enum rpm_level level)
{
    if (!rpmi_outlives_process(facts) && level == RPM_PROCESS)
        return "back the pool with a file: rpm-server --pool";
    switch (rpmi_platform_of(facts)) {
    case RPMI_PLATFORM_NONE:
        return "declare a persistence domain if there is one (rpm-server --domain), or back the "
               "pool with a file on a disk or with persistent memory";
    case RPMI_PLATFORM_MSYNC:
        return "let the server CPU call msync: connect with mode=ring";
    case RPMI_PLATFORM_ADR_DDIO:
        return "switch DDIO off at the server's port and declare it, or let the server CPU flush "
               "(methods copy, message, immediate)";
    default:
        return "set no method: the cheapest legal one is then taken";
    }
}

int rpmi_level_check(uint32_t level)
{
    if (level <= RPM_DURABLE)
        return 0;
    return rpmi_fail(RPM_E_INVAL,
                     "level %u does not exist; the levels are %u (posted), %u (visible), "
                     "%u (process) and %u (durable), and 0 takes the default",
                     level, RPM_POSTED, RPM_VISIBLE, RPM_PROCESS, RPM_DURABLE);
}

int rpmi_method_check(uint32_t method)
{
    if (method < RPM_METHOD_COUNT)
        return 0;
    return rpmi_fail(RPM_E_INVAL, "method %u, known are 0 (default) to %u", method,
                     RPM_METHOD_COUNT - 1u);
}

/* "read, copy" of the methods in @bits, or "none". */
static void list_methods(uint32_t bits, char *buffer, size_t bytes)
{
    struct rpmi_text text;

    rpmi_text_open(&text, buffer, bytes);
    for (uint32_t m = RPM_METHOD_WRITE; m < RPM_METHOD_COUNT; m++)
        if ((bits & (1u << m)) != 0)
            rpmi_text_add(&text, "%s%s", text.len > 0 ? ", " : "",
                          rpm_method_name((enum rpm_method)m));
    if (text.len == 0)
        rpmi_text_add(&text, "none");
}

static uint32_t legal_methods(const struct rpm_facts *facts, enum rpm_level level)
{
    uint32_t bits = 0;

    for (uint32_t m = RPM_METHOD_WRITE; m < RPM_METHOD_COUNT; m++)
        if (rpm_legal(facts, (enum rpm_method)m, level, NULL))
            bits |= 1u << m;
    return bits;
}

static int refuse_insisted(const struct rpm_facts *facts, enum rpm_method insisted,
                           enum rpm_level level)
{
    uint32_t usable = legal_methods(facts, level) & facts->methods;
    char list[LIST_BYTES];
    const char *reason = "";

    if (!rpm_legal(facts, insisted, level, &reason)) {
        if (usable == 0)
            return rpmi_fail(RPM_E_NOCAP, "method %s does not reach %s here: %s; %s",
                             rpm_method_name(insisted), rpm_level_name(level), reason,
                             remedy(facts, level));
        list_methods(usable, list, sizeof(list));
        return rpmi_fail(RPM_E_NOCAP,
                         "method %s does not reach %s here: %s; set no method, or take one "
                         "that does: %s",
                         rpm_method_name(insisted), rpm_level_name(level), reason, list);
    }
    list_methods(facts->methods, list, sizeof(list));
    return rpmi_fail(RPM_E_NOCAP, "this link cannot carry out method %s; it can: %s",
                     rpm_method_name(insisted), list);
}

int rpmi_refuse(const struct rpm_facts *facts, enum rpm_method insisted, enum rpm_level level)
{
    char need[LIST_BYTES];
    char have[LIST_BYTES];
    uint32_t legal = legal_methods(facts, level);
    const char *reason = "";

    RPM_ASSERT(level != RPM_LEVEL_DEFAULT);
    if (insisted != RPM_METHOD_DEFAULT)
        return refuse_insisted(facts, insisted, level);
    if (legal == 0) {
        /* A method of the server CPU reaches most: the reason that forbids it forbids every
         * method. */
        (void)rpm_legal(facts, RPM_METHOD_MESSAGE, level, &reason);
        return rpmi_fail(RPM_E_NOCAP, "level %s cannot be proven: %s; %s", rpm_level_name(level),
                         reason, remedy(facts, level));
    }
    list_methods(legal, need, sizeof(need));
    list_methods(facts->methods, have, sizeof(have));
    return rpmi_fail(RPM_E_NOCAP, "level %s needs one of: %s; this link can: %s; %s",
                     rpm_level_name(level), need, have, remedy(facts, level));
}
