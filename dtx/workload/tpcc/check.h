/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.h: the twelve consistency conditions of TPC-C (clause 3.3.2), and some more rules.
 *
 * Condition 11 of the specification holds until the first delivery only, as a delivery removes a
 * row of NEW-ORDER and none of ORDER. Instead this checks that orders less new orders are the
 * orders that the load delivered plus all deliveries since, which the customers of the district
 * count.
 */
#ifndef DTX_WORKLOAD_TPCC_CHECK_H
#define DTX_WORKLOAD_TPCC_CHECK_H

#include "workload/ledger.h"
#include "workload/tpcc/facts.h"
#include <dtx/findings.h>

namespace dtx::tpcc
{

/* Checks copy @copy by rules "condition 1" to "condition 12", "rows", "stock" and others. */
Findings check(const Facts &facts, const Parameters &parameters);

/* Totals: number of orders, of delivered orders, sum and number of payments. */
Totals totals(const Facts &facts);
Totals loaded(const Parameters &parameters);

} // namespace dtx::tpcc
#endif
