/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * diag.h: diagnostic messages. The library emits none on the data path.
 */
#ifndef LIBRPM_DIAG_H
#define LIBRPM_DIAG_H

#ifdef __cplusplus
extern "C" {
#endif

enum rpm_diag_level {
    RPM_DIAG_NONE = 0,
    RPM_DIAG_ERROR = 1,
    RPM_DIAG_WARNING = 2,
    RPM_DIAG_NOTICE = 3,
    RPM_DIAG_DEBUG = 4
};

/* A message, without newline. @context as given to rpm_diag_sink(). @text valid during the call. */
typedef void rpm_diag_fn(void *context, enum rpm_diag_level level, const char *text);

/**
 * rpm_diag_sink: set the function that receives diagnostic messages, and the threshold.
 *
 * The default writes warnings and errors to standard error; LIBRPM_DIAG=none|error|warning|
 * notice|debug in the environment sets another threshold.
 *
 * @sink       NULL: standard error. Must be callable from any thread. Borrowed until the next call.
 * @context    handed to @sink. Borrowed until the next call.
 * @threshold  the least severe level that reaches @sink.
 *
 * Threads:  setup only.
 */
void rpm_diag_sink(rpm_diag_fn *sink, void *context, enum rpm_diag_level threshold);

#ifdef __cplusplus
}
#endif
#endif
