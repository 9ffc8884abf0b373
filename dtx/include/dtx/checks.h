/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checks.h: checks of a database that its schema is enough for: whole objects, equal copies,
 * indexes, and what sessions have left unfinished. What a row may contain only the program knows.
 *
 * All calls but make_copies_equal() only read, and read everything; each blocks its thread and
 * opens connections of its own. check_copies() and check_indexes() are for a database that no
 * session writes, such as one in a Cluster::Reading or after Cluster::recover(): a row that is
 * being written may be reported torn.
 * All throw Error if a server does not answer, after retry_us.
 *
 * Tests: tests/unit/dtx/check/copies_test.cpp, indexes_test.cpp, leftovers_test.cpp
 */
#ifndef DTX_CHECKS_H
#define DTX_CHECKS_H

#include <dtx/cluster.h>
#include <dtx/findings.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace dtx::checks
{

/* Checks that no object is torn, and that every object has the same bytes on all copies. Returns
 * the findings of each copy: rule "whole" has the torn objects and, for all copies but copy 0,
 * which is the primary, rule "copies" those that differ from the primary's. Keeps 8 bytes for each
 * slot of the largest table in memory, if there are several copies. */
std::vector<Findings> check_copies(const Cluster &cluster);

/* Makes all copies of each object equal: overwrites them with the whole copy that has the highest
 * version, of several such with the first. Calls @told with a sentence before each write; an
 * exception from @told ends the call. Leaves objects that are torn on all copies, and returns their
 * number. Only for a database that no session has open, because a session would not notice that an
 * object changed, and only after Cluster::recover(), which applies the logs. Throws Error. */
uint64_t make_copies_equal(const Cluster &cluster,
                           const std::function<void(const std::string &text)> &told);

/* Checks that the indexes of copy @copy (0: the primary) refer to each of its rows once and to
 * nothing else, and that each slot has one use: rules "entries", "rows entered", "shape", "slots".
 * The objects must be whole: call check_copies() first. Keeps 24 bytes for each row of the largest
 * table in memory, and its index. */
Findings check_indexes(const Cluster &cluster, uint32_t copy);

struct Leftovers {
    uint64_t not_ready =
        0;                /* shards whose server was restarted and that no session has recovered */
    uint64_t locks = 0;   /* locks that are held */
    uint64_t logs = 0;    /* logs of coordinators, on all servers */
    uint64_t records = 0; /* records in these logs; sessions trim rarely */
    uint64_t objects = 0; /* objects that on a copy are torn or older than their record */

    bool any() const
    {
        return not_ready + locks + objects != 0;
    }
    std::string text() const; /* one line */
};

/* Looks for what sessions have left unfinished, without claiming their logs. Throws Error:
 * RPM_E_CORRUPT, a log has a record that is not a redo record. */
Leftovers look_for_leftovers(const Cluster &cluster);

} // namespace dtx::checks
#endif
