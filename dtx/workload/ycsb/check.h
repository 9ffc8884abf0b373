/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.h: the rules that the records of YCSB must keep.
 */
#ifndef DTX_WORKLOAD_YCSB_CHECK_H
#define DTX_WORKLOAD_YCSB_CHECK_H

#include "workload/ledger.h"
#include "workload/ycsb/schema.h"
#include <dtx/cluster.h>
#include <dtx/findings.h>

namespace dtx::ycsb
{

/* Checks copy @copy: every record of the load exists once, and all bytes of each value follow from
 * its key and number of updates. */
Findings check(const Cluster &cluster, uint32_t copy, const Parameters &parameters,
               const Tables &tables);

/* What an insertion and an update of a record add to the totals. The second and the fourth total
 * depend on the key, so that they reveal an update of a wrong record, also if the number of updates
 * is right. */
Totals change_of_insert(uint64_t key);
Totals change_of_update(uint64_t key);

Totals totals(const Cluster &cluster, uint32_t copy, const Tables &tables);
/* The totals after the load. */
Totals loaded(const Parameters &parameters);

} // namespace dtx::ycsb
#endif
