/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.h: the rules that the rows of TATP must keep.
 */
#ifndef DTX_WORKLOAD_TATP_CHECK_H
#define DTX_WORKLOAD_TATP_CHECK_H

#include "workload/ledger.h"
#include "workload/tatp/schema.h"
#include <dtx/cluster.h>
#include <dtx/findings.h>

namespace dtx::tatp
{

/* Checks copy @copy: each subscriber has one row in the index of numbers; access info and special
 * facilities are as loaded, but for updated columns; every call forwarding has its special facility
 * and a valid start and end time. */
Findings check(const Cluster &cluster, uint32_t copy, const Parameters &parameters,
               const Tables &tables);

/* Totals: number of call forwardings; sums of vlr_location, bit_1 and data_a. */
Totals totals(const Cluster &cluster, uint32_t copy, const Tables &tables);

/* The totals after the load. */
Totals loaded(const Parameters &parameters);

} // namespace dtx::tatp
#endif
