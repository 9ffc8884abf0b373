/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * indexes.h: check that the indexes of a copy refer to each of its rows once and to nothing else,
 * and that each slot has one use.
 *
 * Tests: tests/unit/dtx/check/indexes_test.cpp
 */
#ifndef DTX_CHECK_INDEXES_H
#define DTX_CHECK_INDEXES_H

#include "workload/findings.h"
#include <dtx/cluster.h>

namespace dtx::checks
{

/* Checks a copy whose objects are all whole, by rules "entries", "rows entered", "shape", "slots".
 */
Findings check_indexes(const Cluster &cluster, uint32_t copy);

} // namespace dtx::checks
#endif
