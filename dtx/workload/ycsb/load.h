/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.h: insert the records of the load.
 */
#ifndef DTX_WORKLOAD_YCSB_LOAD_H
#define DTX_WORKLOAD_YCSB_LOAD_H

#include "workload/loader.h"
#include "workload/ycsb/schema.h"

namespace dtx::ycsb
{

/* Insert one thread's share. */
void load(Session &session, const Parameters &parameters, const Tables &tables, const Share &share);

} // namespace dtx::ycsb
#endif
