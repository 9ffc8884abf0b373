/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report.h: print the result of a check as text or JSON.
 */
#ifndef DTX_HISTORY_REPORT_H
#define DTX_HISTORY_REPORT_H

#include "history/check.h"

#include <cstdio>

namespace dtx::history
{

/* @seconds: duration of reading and checking. */
void report_text(FILE *out, const CheckResult &result, const CheckOptions &options, double seconds);
void report_json(FILE *out, const CheckResult &result, const CheckOptions &options, double seconds);

} // namespace dtx::history
#endif
