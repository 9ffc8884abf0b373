/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.h: the rows of TATP after the load.
 */
#ifndef DTX_WORKLOAD_TATP_LOAD_H
#define DTX_WORKLOAD_TATP_LOAD_H

#include "workload/loader.h"
#include "workload/tatp/schema.h"
#include <dtx/session.h>

#include <utility>
#include <vector>

namespace dtx::tatp
{

/* All rows of one subscriber: a function of the seed, so that a check can compute them. */
struct Opening {
    Subscriber subscriber;
    std::vector<std::pair<uint64_t, AccessInfo>> access_info; /* with their keys */
    std::vector<std::pair<uint64_t, SpecialFacility>> facility;
    std::vector<std::pair<uint64_t, CallForwarding>> forwarding;
};

Opening opening_of(const Parameters &parameters, uint32_t s_id);

/* Load one thread's share. */
void load(Session &session, const Parameters &parameters, const Tables &tables, const Share &share);

} // namespace dtx::tatp
#endif
