/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * leftovers.h: find what sessions have left unfinished in a database, by reading only.
 *
 * Tests: tests/unit/dtx/check/leftovers_test.cpp
 */
#ifndef DTX_CHECK_LEFTOVERS_H
#define DTX_CHECK_LEFTOVERS_H

#include <dtx/cluster.h>

#include <string>

namespace dtx::checks
{

struct Leftovers {
    uint64_t not_ready =
        0;                /* shards whose server was restarted and that no session has recovered */
    uint64_t locks = 0;   /* locks that are held */
    uint64_t logs = 0;    /* logs of coordinators, on all servers */
    uint64_t records = 0; /* records in these logs */
    uint64_t objects = 0; /* objects that on a copy are torn or older than their record */

    bool any() const
    {
        return not_ready + locks + objects != 0;
    }
    std::string text() const;
};

/* Throws Error: RPM_E_CORRUPT, a log has a record that is not a redo record. */
Leftovers look_for_leftovers(const Cluster &cluster);

} // namespace dtx::checks
#endif
