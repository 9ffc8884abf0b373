/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copies.h: check that every object is whole, and the same on all copies.
 *
 * Tests: tests/unit/dtx/check/copies_test.cpp
 */
#ifndef DTX_CHECK_COPIES_H
#define DTX_CHECK_COPIES_H

#include "workload/findings.h"
#include <dtx/cluster.h>

#include <vector>

namespace dtx::checks
{

/* Findings of each copy, by rules "whole" and, except for copy 0, "copies". */
std::vector<Findings> check_copies(const Cluster &cluster);

/* "table 'stock' shard 1 slot 17 (key 281474976710673, version 3)". */
std::string place_of(const Cluster &cluster, Address address, const unsigned char *image);

} // namespace dtx::checks
#endif
