// SPDX-License-Identifier: BSD-3-Clause
// support.h: platforms and requests to plan for.
#ifndef TESTS_UNIT_PLAN_SUPPORT_H
#define TESTS_UNIT_PLAN_SUPPORT_H

extern "C" {
#include "plan/plan.h"
}

const uint32_t EVERY_METHOD = 0x1fe; // all of write..store

inline rpm_facts facts_of(rpm_domain domain, rpm_answer ddio, uint32_t methods)
{
    rpm_facts facts = rpm_facts_init();

    facts.domain = domain;
    facts.ddio = ddio;
    facts.methods = methods;
    facts.medium = domain == RPM_DOMAIN_NONE    ? RPM_MEDIUM_TMPFS
                   : domain == RPM_DOMAIN_MSYNC ? RPM_MEDIUM_FILE
                                                : RPM_MEDIUM_DEVDAX;
    facts.line_bytes = 64;
    return facts;
}

inline uint32_t bit(rpm_method method)
{
    return 1u << method;
}

inline rpm_request request_of(rpm_request_kind kind, rpm_level level = RPM_LEVEL_DEFAULT)
{
    rpm_request request = rpm_request_init();

    request.kind = kind;
    request.level = level;
    request.bytes = 40;
    return request;
}

#endif
