/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.h: the rules that the accounts of SmallBank must keep.
 */
#ifndef DTX_WORKLOAD_SMALLBANK_CHECK_H
#define DTX_WORKLOAD_SMALLBANK_CHECK_H

#include "workload/ledger.h"
#include "workload/smallbank/schema.h"
#include <dtx/cluster.h>
#include <dtx/findings.h>

namespace dtx::smallbank
{

/* Checks the rules on copy @copy. */
Findings check(const Cluster &cluster, uint32_t copy, const Parameters &parameters,
               const Tables &tables);

/* The sum of all balances, and of all savings. */
Totals totals(const Cluster &cluster, uint32_t copy, const Tables &tables);

} // namespace dtx::smallbank
#endif
