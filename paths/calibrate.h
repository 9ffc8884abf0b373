/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calibrate.h: measures what an agent and its server take to make records durable, and writes the
 * file with which a connection (calibration=FILE in its URL) begins to choose between the two.
 */
#ifndef RPM_PATHS_CALIBRATE_H
#define RPM_PATHS_CALIBRATE_H

#include "live.h"

namespace paths
{

/* The times by size class and way, written to @file. options.urls has one URL, with agent=. */
Json calibrate(const LiveOptions &options, const std::string &file);

} // namespace paths

#endif
