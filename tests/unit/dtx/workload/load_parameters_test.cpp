// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.h"
#include "workload/load_parameters.h"
#include "workload/registry/known.h"
#include "workload/smallbank/smallbank.h"
#include "workload/tatp/tatp.h"
#include "workload/tpcc/tpcc.h"
#include "workload/ycsb/ycsb.h"
#include <dtx/error.h>

#include <librpm.h>

namespace
{

int code_of(const std::string &name, const std::string &parameters)
{
    try {
        (void)dtx::workload_of_database(name, parameters, 3);
    } catch (const dtx::Error &error) {
        return error.code();
    }
    return 0;
}

// Parameters that were parsed from the text give the same tables as the original ones.
void check_same(const std::string &name, const dtx::Schema &schema)
{
    auto found = dtx::workload_of_database(name, schema.comment(), 3);

    REQUIRE(found->schema().tables().size() == schema.tables().size());
    for (size_t i = 0; i < schema.tables().size(); i++)
        CHECK(found->schema().tables()[i].rows_max == schema.tables()[i].rows_max);
    CHECK(found->schema().comment() == schema.comment());
}

} // namespace

TEST_CASE("load parameters: names and numbers are parsed from the text")
{
    dtx::LoadParameters kept(
        "any", dtx::write_load_parameters({ { "rows", 17 }, { "seed", UINT64_MAX } }));

    CHECK(kept.number("rows") == 17);
    CHECK(kept.value("seed") == UINT64_MAX);
    CHECK_THROWS_AS(kept.number("seed"), dtx::Error);
    CHECK_THROWS_AS(kept.value("room"), dtx::Error);
}

TEST_CASE("load parameters: a malformed text is refused")
{
    for (const char *text : { "", "rows", "rows=", "rows=x", "rows=1x", "rows=-1", "a comment" })
        CHECK_THROWS_AS(dtx::LoadParameters("any", text), dtx::Error);
}

TEST_CASE("load parameters: each workload constructs the same tables from its text")
{
    dtx::tpcc::Parameters trade;
    dtx::smallbank::Parameters bank;
    dtx::tatp::Parameters phone;
    dtx::ycsb::Parameters store;

    trade.warehouses = 5;
    trade.items = 300;
    trade.customers = 60;
    trade.room = 700;
    trade.load_seed = UINT64_MAX;
    trade.servers = bank.servers = phone.servers = store.servers = 3;
    bank.accounts = 150; // fewer than the hot set has by default
    bank.hot = 10;
    bank.low_balances = true;
    phone.subscribers = 77;
    check_same("tpcc", dtx::tpcc::Tables(trade).schema);
    check_same("smallbank", dtx::smallbank::Tables(bank).schema);
    check_same("tatp", dtx::tatp::Tables(phone).schema);
    store.keys = 1234;
    store.value_bytes = 100;
    store.room = 50;
    check_same("ycsb", dtx::ycsb::Tables(store).schema);
    store.ordered = true;
    check_same("ycsb", dtx::ycsb::Tables(store).schema);
}

TEST_CASE("load parameters: parameters of another workload or out of range are refused")
{
    CHECK(code_of("tpce", "rows=1") == RPM_E_NOENT);
    CHECK(code_of("tpcc", "accounts=100 low_balances=0 load_seed=1") == RPM_E_FOREIGN);
    CHECK(code_of("tatp", "") == RPM_E_FOREIGN);
    CHECK_THROWS_AS(dtx::workload_of_database("tatp", "subscribers=0 load_seed=1", 3), dtx::Error);
}
