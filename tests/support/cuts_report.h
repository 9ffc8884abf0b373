// SPDX-License-Identifier: BSD-3-Clause
// cuts_report.h: the text that names a run, so that one line replays it, also if the library aborts
// or the run does not end.
#ifndef TESTS_SUPPORT_CUTS_REPORT_H
#define TESTS_SUPPORT_CUTS_REPORT_H

#include "support/cuts.h"

namespace cuts
{

const char *fault_name(Fault fault);

// Prints which promise did not hold, and the command that repeats the run.
void report(const Setup &setup, const Plan &plan, const std::string &what);

// While an object of this class exists, an abort or a run that takes too long prints how to replay
// it.
class Watch
{
  public:
    Watch(const Setup &setup, const Plan &plan);
    ~Watch();
};

// Prints "cuts N violations V" as the program's last line; the program fails if V > 0 or N == 0.
void print_total_at_end();

} // namespace cuts

#endif
