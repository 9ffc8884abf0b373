/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * err.h: set the thread's last error where it is decided. The function that decides the error calls
 * rpmi_fail() once; its callers return the code and set no text.
 */
#ifndef RPMI_ERR_H
#define RPMI_ERR_H

#include <librpm/error.h>

/* The code that this thread's error text belongs to; 0: the current call has set no text. */
extern __thread int rpmi_error_code __attribute__((tls_model("initial-exec")));

/* Called first in every public function that can fail: discards the text of an earlier call. */
static inline void rpmi_begin(void)
{
    rpmi_error_code = 0;
}

/* Remember a formatted text as this thread's last error and return @err. */
__attribute__((format(printf, 2, 3), cold)) int rpmi_fail(int err, const char *format, ...);

#endif
