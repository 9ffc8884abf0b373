/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * refuse.h: refuse a level or a method that does not exist; report that a level cannot be proven,
 * why, and what would make it possible.
 */
#ifndef RPMI_REFUSE_H
#define RPMI_REFUSE_H

#include <librpm/plan.h>

/* 0, or RPM_E_INVAL and a text that lists the levels. */
int rpmi_level_check(uint32_t level);

/* 0, or RPM_E_INVAL; RPM_METHOD_DEFAULT is accepted. */
int rpmi_method_check(uint32_t method);

/* Set the thread's last error. Returns RPM_E_NOCAP. @level is not RPM_LEVEL_DEFAULT. */
int rpmi_refuse(const struct rpm_facts *facts, enum rpm_method insisted, enum rpm_level level);

#endif
