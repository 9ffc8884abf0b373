// SPDX-License-Identifier: BSD-3-Clause
// cuts_report.h: how a run is named, so that one line replays it, also when the library aborts or
// does not come back.
#ifndef TESTS_SUPPORT_CUTS_REPORT_H
#define TESTS_SUPPORT_CUTS_REPORT_H

#include "support/cuts.h"

namespace cuts
{

const char *fault_name(Fault fault);

// Say what was not as promised, and the command that shows it again.
void report(const Setup &setup, const Plan &plan, const std::string &what);

// While one lives, an abort or a run that takes too long prints how to replay it.
class Watch
{
  public:
    Watch(const Setup &setup, const Plan &plan);
    ~Watch();
};

// The program's last line "cuts N violations V" at its end; it then fails if V > 0 or N == 0.
void print_total_at_end();

} // namespace cuts

#endif
