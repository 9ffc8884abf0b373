// SPDX-License-Identifier: BSD-3-Clause
// joined.h: connections that have joined a database as those of a session do, for tests that take
// locks or write records in its place.
#ifndef TESTS_UNIT_DTX_ENGINE_JOINED_H
#define TESTS_UNIT_DTX_ENGINE_JOINED_H

#include "engine/cluster/servers.h"
#include "engine/format/txn_number.h"
#include "engine/recovery/recover.h"

// Returns the upper bits of the numbers of its transactions.
inline uint64_t join(dtx::Servers &servers, uint32_t coordinator)
{
    const dtx::Placement &placement = servers.placement();

    servers.open(coordinator, dtx::Claim::join);
    (void)dtx::finish_one(servers, coordinator);
    return dtx::number_prefix(coordinator, placement.view.number,
                              servers.connection(placement.first()).epoch());
}

#endif
