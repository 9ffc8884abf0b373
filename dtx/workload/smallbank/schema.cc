/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schema.cc: the tables of SmallBank and their rows after the load.
 */
#include "workload/smallbank/schema.h"

#include "workload/load_parameters.h"
#include "workload/random.h"
#include "workload/room.h"
#include <dtx/address.h>
#include <dtx/error.h>

#include <algorithm>

namespace dtx::smallbank
{

namespace
{

constexpr uint32_t kVersion = 1;
constexpr uint32_t kAccountsMax = 1u << 30;

uint32_t partition(uint64_t key)
{
    return static_cast<uint32_t>(key);
}

Account opening(const Parameters &parameters, uint64_t account)
{
    Random random(seed_of(parameters.load_seed, account));
    int64_t least = parameters.low_balances ? kLowLeast : kNormalLeast;
    int64_t most = parameters.low_balances ? kLowMost : kNormalMost;

    return { least + static_cast<int64_t>(random.below(static_cast<uint64_t>(most - least) + 1)) };
}

} // namespace

void Parameters::verify() const
{
    const auto expect = ranges_of("smallbank");

    expect("accounts", accounts, 2, kAccountsMax);
    expect("hot", hot, 2, accounts);
    expect("hot-percent", hot_percent, hot == accounts ? 100 : 0, 100);
    expect("servers", servers, 1, kShardsMax);
}

std::string Parameters::load_parameters() const
{
    return write_load_parameters(
        { { "accounts", accounts }, { "low_balances", low_balances }, { "load_seed", load_seed } });
}

Parameters Parameters::of_database(const std::string &text, uint32_t servers)
{
    LoadParameters kept("smallbank", text);
    Parameters found;

    found.accounts = kept.number("accounts");
    found.low_balances = kept.number("low_balances") != 0;
    found.load_seed = kept.value("load_seed");
    found.hot = std::min(found.hot, found.accounts);
    found.hot_percent = 100; /* a valid value; only runs use it */
    found.servers = servers;
    return found;
}

Tables::Tables(const Parameters &parameters) : schema("smallbank", kVersion)
{
    uint64_t each = 0;

    parameters.verify();
    schema.set_comment(parameters.load_parameters());
    each = (parameters.accounts + parameters.servers - 1) / parameters.servers;
    savings = schema.hash_table<Account>("savings", room_for(each), partition);
    checking = schema.hash_table<Account>("checking", room_for(each), partition);
}

Account opening_savings(const Parameters &parameters, uint32_t customer)
{
    return opening(parameters, uint64_t{ customer } * 2);
}

Account opening_checking(const Parameters &parameters, uint32_t customer)
{
    return opening(parameters, uint64_t{ customer } * 2 + 1);
}

} // namespace dtx::smallbank
