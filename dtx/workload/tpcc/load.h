/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.h: the rows of TPC-C after the load (clause 4.3.3), a function of the seed.
 */
#ifndef DTX_WORKLOAD_TPCC_LOAD_H
#define DTX_WORKLOAD_TPCC_LOAD_H

#include "workload/loader.h"
#include "workload/tpcc/schema.h"
#include <dtx/session.h>

namespace dtx::tpcc
{

/* Payment of each customer after the load: 10.00. */
inline constexpr int64_t kFirstPayment = 1000;

/* Load one thread's share. */
void load(Session &session, const Parameters &parameters, const Tables &tables, const Share &share);

/* Load the customers of a district with their last names and first payments, and its orders. */
Task<void> load_customers(Session &session, const Parameters &parameters, const Tables &tables,
                          District at);
Task<void> load_orders(Session &session, const Parameters &parameters, const Tables &tables,
                       District at);

/* Rows of one transaction of the load. */
inline constexpr uint32_t kBatch = 30;

/* The date of all rows of the load. */
uint64_t load_date();

} // namespace dtx::tpcc
#endif
