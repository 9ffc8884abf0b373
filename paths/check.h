/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.h: published figures and limits, and whether the model has them.
 */
#ifndef RPM_PATHS_CHECK_H
#define RPM_PATHS_CHECK_H

#include <cstdint>
#include <string>

namespace paths
{

/* Judge all rows of limits.csv and of expected/ in @folder, print each, and at last "limits N
 * within N" and "figures N within N". True: all that outside.csv there does not list are within. */
bool check(const std::string &folder, uint64_t seed);

} // namespace paths

#endif
