/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.cc: checks all accounts.
 */
#include "workload/smallbank/check.h"

#include "workload/scan.h"
#include <dtx/findings.h>

namespace dtx::smallbank
{

namespace
{

/* Each customer has exactly one account in the table. */
void check_holders(const Cluster &cluster, uint32_t copy, Table<Account> table,
                   const std::string &name, std::vector<bool> held, Findings &found)
{
    uint64_t holders = 0;

    scan_rows(cluster, table, copy, [&](uint64_t key, const Account &) {
        if (key >= held.size()) {
            found.add("accounts", name + " without a customer: number " + std::to_string(key));
            return;
        }
        found.add_if(held[key], "accounts", "two " + name + ": customer " + std::to_string(key));
        holders += held[key] ? 0 : 1;
        held[key] = true;
    });
    found.add_if(holders != held.size(), "accounts",
                 "no " + name + ": " + std::to_string(held.size() - holders) + " customers");
}

} // namespace

Findings check(const Cluster &cluster, uint32_t copy, const Parameters &parameters,
               const Tables &tables)
{
    std::vector<bool> held(parameters.accounts);
    Findings found;

    found.rule("accounts",
               "each customer has one savings and one checking account, and there are no others");
    found.rule("savings", "never below 0");
    check_holders(cluster, copy, tables.savings, "savings", held, found);
    check_holders(cluster, copy, tables.checking, "checking", held, found);
    scan_rows(cluster, tables.savings, copy, [&](uint64_t key, const Account &savings) {
        found.add_if(savings.cents < 0, "savings",
                     "customer " + std::to_string(key) + " has " + std::to_string(savings.cents));
    });
    return found;
}

Totals totals(const Cluster &cluster, uint32_t copy, const Tables &tables)
{
    uint64_t savings = 0;
    uint64_t checking = 0;

    scan_rows(cluster, tables.savings, copy, [&](uint64_t, const Account &account) {
        savings += static_cast<uint64_t>(account.cents);
    });
    scan_rows(cluster, tables.checking, copy, [&](uint64_t, const Account &account) {
        checking += static_cast<uint64_t>(account.cents);
    });
    return { savings + checking, savings };
}

} // namespace dtx::smallbank
