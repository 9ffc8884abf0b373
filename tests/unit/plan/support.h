// SPDX-License-Identifier: BSD-3-Clause
// support.h: platforms and requests to plan for.
#ifndef TESTS_UNIT_PLAN_SUPPORT_H
#define TESTS_UNIT_PLAN_SUPPORT_H

#include "support/catch.h"

#include <string>

extern "C" {
#include "plan/rule.h"
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

inline rpmi_plan plan_of(const rpm_facts &facts, const rpm_request &request)
{
    rpmi_plan plan;

    REQUIRE(rpmi_plan_make(&facts, &request, &plan) == 0);
    return plan;
}

// The note of one rule in the plan of a request.
inline std::string said(const rpmi_rule &rule, const rpm_facts &facts, const rpm_request &request)
{
    rpmi_plan plan = plan_of(facts, request);

    return rule.describe(&facts, &request, &plan);
}

// The same request without a hint.
inline rpm_request without(rpm_request request, uint32_t k)
{
    request.hints &= ~RPM_HINT(k);
    return request;
}

#endif
