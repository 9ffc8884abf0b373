/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.h: the records at the start.
 */
#ifndef DTX_WORKLOAD_YCSB_LOAD_H
#define DTX_WORKLOAD_YCSB_LOAD_H

#include "workload/loader.h"
#include "workload/ycsb/schema.h"

namespace dtx::ycsb
{

/* One share of them. */
void load(Session &session, const Parameters &parameters, const Tables &tables, const Share &share);

} // namespace dtx::ycsb
#endif
