/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * receipts.h: new orders and payments as receipts, and the comparison of a database with them (the
 * durability tests of clause 3.5.4): each transaction that was reported as committed is in the
 * database, whole; each transaction of unknown outcome is there completely or not at all.
 *
 *   begin order W D C DATE I:S:Q ...       end committed O
 *   begin payment W D CW CD AMOUNT DATE    end committed C
 *
 * Tests: tests/unit/dtx/workload/receipts_test.cpp
 */
#ifndef DTX_WORKLOAD_TPCC_RECEIPTS_H
#define DTX_WORKLOAD_TPCC_RECEIPTS_H

#include "workload/receipts.h"
#include "workload/tpcc/input.h"
#include <dtx/cluster.h>
#include <dtx/findings.h>

namespace dtx::tpcc
{

std::string begun(const NewOrderInput &input);
std::string begun(const PaymentInput &input);

/* @receipts: those of all runs since the load. Throws Error for a receipt that is not of TPC-C. */
Findings check_receipts(const Cluster &cluster, uint32_t copy, const Parameters &parameters,
                        const Tables &tables, const std::vector<Receipt> &receipts);

} // namespace dtx::tpcc
#endif
