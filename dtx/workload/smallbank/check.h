/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.h: what must hold of the accounts of SmallBank.
 */
#ifndef DTX_WORKLOAD_SMALLBANK_CHECK_H
#define DTX_WORKLOAD_SMALLBANK_CHECK_H

#include "workload/findings.h"
#include "workload/ledger.h"
#include "workload/smallbank/schema.h"
#include <dtx/cluster.h>

namespace dtx::smallbank
{

/* What is wrong with copy @copy, a sentence each. */
Findings check(const Cluster &cluster, uint32_t copy, const Parameters &parameters,
               const Tables &tables);

/* All money, and all savings. */
Totals totals(const Cluster &cluster, uint32_t copy, const Tables &tables);

} // namespace dtx::smallbank
#endif
