/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * far.c: what clients of every server make of what it says.
 *
 * Tests: tests/unit/transport/far_test.cpp
 */
#include "transport/far.h"

#include <librpm/error.h>

const char *rpmi_far_why(int status)
{
    switch (status) {
    case RPM_E_FENCED:
        return "a newer writer claimed the log";
    case RPM_E_DENIED:
        return "the server knows no such key or right";
    case RPM_E_RANGE:
        return "outside the object";
    case RPM_E_IO:
        return "the server could not make it durable";
    default:
        return rpm_strerror(status);
    }
}

bool rpmi_far_same_ground(const struct rpm_facts *before, const struct rpm_facts *now)
{
    return before->domain == now->domain && before->methods == now->methods &&
           before->medium == now->medium && before->ddio == now->ddio;
}
