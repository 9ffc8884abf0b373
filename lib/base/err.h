/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * err.h: set the thread's last error where it is decided. The decider calls rpmi_fail() once;
 * callers pass the code on in silence.
 */
#ifndef RPMI_ERR_H
#define RPMI_ERR_H

#include <librpm/error.h>

/* What this thread's last error was that has a text; 0: the call under way has decided none. */
extern __thread int rpmi_error_code __attribute__((tls_model("initial-exec")));

/* First in every public function that can fail: the text of an earlier call is none of its own. */
static inline void rpmi_begin(void)
{
    rpmi_error_code = 0;
}

/* Remember a formatted text as this thread's last error and return @err. */
__attribute__((format(printf, 2, 3), cold)) int rpmi_fail(int err, const char *format, ...);

#endif
