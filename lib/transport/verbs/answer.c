/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * answer.c: the answer to one question about a device: yes, or no with the reason.
 *
 * Tests: tests/unit/transport/verbs/device_test.cpp
 */
#include "transport/verbs/device.h"

#include <stdarg.h>
#include <stdio.h>

void rpmi_device_yes(struct rpm_device *device, enum rpm_device_capability capability)
{
    device->can[capability] = (struct rpm_device_answer){ .answer = RPM_YES };
}

void rpmi_device_no(struct rpm_device *device, enum rpm_device_capability capability,
                    const char *format, ...)
{
    struct rpm_device_answer *answer = &device->can[capability];
    va_list args;

    answer->answer = RPM_NO;
    va_start(args, format);
    (void)vsnprintf(answer->why, sizeof(answer->why), format, args);
    va_end(args);
}
