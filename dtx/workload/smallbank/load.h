/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.h: insert the accounts of SmallBank.
 */
#ifndef DTX_WORKLOAD_SMALLBANK_LOAD_H
#define DTX_WORKLOAD_SMALLBANK_LOAD_H

#include "workload/loader.h"
#include "workload/smallbank/schema.h"
#include <dtx/session.h>

namespace dtx::smallbank
{

/* Load one thread's share. */
void load(Session &session, const Parameters &parameters, const Tables &tables, const Share &share);

} // namespace dtx::smallbank
#endif
