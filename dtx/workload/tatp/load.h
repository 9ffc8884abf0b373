/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.h: the rows of TATP at the start, by the rules of its load.
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

/* Everything of one subscriber: a function of the seed, so that a check knows it again. */
struct Opening {
    Subscriber subscriber;
    std::vector<std::pair<uint64_t, AccessInfo>> access_info; /* with their keys */
    std::vector<std::pair<uint64_t, SpecialFacility>> facility;
    std::vector<std::pair<uint64_t, CallForwarding>> forwarding;
};

Opening opening_of(const Parameters &parameters, uint32_t s_id);

/* One share of it. */
void load(Session &session, const Parameters &parameters, const Tables &tables, const Share &share);

} // namespace dtx::tatp
#endif
