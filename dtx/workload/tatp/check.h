/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.h: what must hold of the rows of TATP.
 */
#ifndef DTX_WORKLOAD_TATP_CHECK_H
#define DTX_WORKLOAD_TATP_CHECK_H

#include "workload/findings.h"
#include "workload/ledger.h"
#include "workload/tatp/schema.h"
#include <dtx/cluster.h>

namespace dtx::tatp
{

/* What is wrong with copy @copy, a sentence each: subscribers and their numbers belong together one
 * to one; access info and special facilities are those of the load, but for what is updated; every
 * call forwarding has its special facility, and its times are in order. */
Findings check(const Cluster &cluster, uint32_t copy, const Parameters &parameters,
               const Tables &tables);

/* Rows of call forwarding; sums of vlr_location, of bit_1 and of data_a. */
Totals totals(const Cluster &cluster, uint32_t copy, const Tables &tables);

/* What they are after the load. */
Totals loaded(const Parameters &parameters);

} // namespace dtx::tatp
#endif
