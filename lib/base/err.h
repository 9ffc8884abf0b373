/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * err.h: set the thread's last error where it is decided. The decider calls rpmi_fail() once;
 * callers pass the code on in silence.
 */
#ifndef RPMI_ERR_H
#define RPMI_ERR_H

#include <librpm/error.h>

/* Remember a formatted text as this thread's last error and return @err. */
__attribute__((format(printf, 2, 3), cold)) int rpmi_fail(int err, const char *format, ...);

#endif
