/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * headline.h: the most important results, as one number each.
 */
#ifndef RPM_HINTS_HEADLINE_H
#define RPM_HINTS_HEADLINE_H

#include "harness/platform.h"

#include <utility>
#include <vector>

namespace hints
{

/* Name with its unit, and value. */
std::vector<std::pair<std::string, double>> headline(Platform *platform);

} // namespace hints

#endif
