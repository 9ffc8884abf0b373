/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diag.h: write a diagnostic message through the filter and sink of <librpm/diag.h>.
 */
#ifndef RPMI_DIAG_H
#define RPMI_DIAG_H

#include <librpm/diag.h>

/* Cheap when @level is filtered out. Any thread. */
__attribute__((format(printf, 2, 3), cold)) void rpmi_diag(enum rpm_diag_level level,
                                                           const char *format, ...);

#endif
