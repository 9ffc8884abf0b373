/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * database.h: run all checks of a database, and report their results as text or JSON.
 *
 * Tests: tests/tools/dtx_check_test
 */
#ifndef DTX_CHECK_DATABASE_H
#define DTX_CHECK_DATABASE_H

#include "check/find.h"
#include <dtx/checks.h>

#include <cstdio>
#include <optional>

namespace dtx::checks
{

struct DatabaseResult {
    std::optional<Leftovers> leftovers; /* before a recovery; unset: not counted */
    std::optional<Recovery> recovery;   /* unset: not made */
    std::vector<Findings> copies;       /* findings of each copy; empty: not checked */

    bool checked() const
    {
        return !copies.empty();
    }
    bool unfinished() const
    {
        return leftovers && leftovers->any() && !recovery;
    }
    uint64_t rules() const;
    uint64_t broken() const;
};

/* Checks all rules on all copies. @database must have no unfinished transactions. @receipts: path
 * of a file, or empty. */
std::vector<Findings> check_database(const Found &database, const std::string &receipts);

void print_result(const Found &database, const DatabaseResult &result);
void print_json(const Found &database, const DatabaseResult &result);

} // namespace dtx::checks
#endif
