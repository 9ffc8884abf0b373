/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.h: the consistency conditions of TPC-C (clause 3.3.2), all twelve, and some of our own.
 *
 * Condition 11 of the specification holds until the first delivery only: each one takes a row out
 * of NEW-ORDER and none out of ORDER. Checked is that orders less new orders are those delivered at
 * the start plus all deliveries since, which the customers of the district count.
 */
#ifndef DTX_WORKLOAD_TPCC_CHECK_H
#define DTX_WORKLOAD_TPCC_CHECK_H

#include "workload/findings.h"
#include "workload/ledger.h"
#include "workload/tpcc/facts.h"

namespace dtx::tpcc
{

/* By rule: "condition 1" to "condition 12", and "rows", "stock" and others. */
Findings check(const Facts &facts, const Parameters &parameters);

/* Orders given, orders delivered, sum of all payments, number of payments. */
Totals totals(const Facts &facts);
Totals loaded(const Parameters &parameters);

} // namespace dtx::tpcc
#endif
