/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copies.h: check that no object is torn, and that every object has the same bytes on all copies.
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

/* Reads all objects. Returns the findings of each copy: rule "whole" has the torn objects and, for
 * all copies but copy 0, which is the primary, rule "copies" those that differ from the primary's.
 */
std::vector<Findings> check_copies(const Cluster &cluster);

/* Where an object is, for a finding; @image: its bytes, with its header. For example:
 * "table 'stock' shard 1 slot 17 (key 281474976710673, version 3)". */
std::string place_of(const Cluster &cluster, Address address, const unsigned char *image);

} // namespace dtx::checks
#endif
