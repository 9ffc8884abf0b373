/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schema.cc: the tables of TPC-C and their capacity on a server.
 */
#include "workload/tpcc/schema.h"

#include "workload/load_parameters.h"
#include "workload/room.h"
#include <dtx/address.h>
#include <dtx/error.h>

namespace dtx::tpcc
{

namespace
{

constexpr uint32_t kVersion = 1;
constexpr uint64_t kLines = 10; /* lines of an order on average, of 5 to 15 */

uint32_t by_warehouse(uint64_t key)
{
    return warehouse_of(key) - 1;
}

/* Rows are stored and compared as bytes, so they must not have padding. */
template <class... Rows>
constexpr bool kWhole = (std::has_unique_object_representations_v<Rows> && ...);

static_assert(kWhole<WarehouseRow, DistrictRow, CustomerRow, NamesakesRow, HistoryRow, OrderRow,
                     CustomerOrderRow, NewOrderRow, OrderLineRow, StockRow, ItemRow>);

} // namespace

void Parameters::verify() const
{
    const auto expect = ranges_of("tpcc");

    expect("warehouses", warehouses, 1, 10000);
    expect("items", items, 15, 1000000);
    expect("customers", customers, 10, 3000);
    expect("remote-lines (ten-thousandths)", remote_lines, 0, 10000);
    expect("remote-payments (ten-thousandths)", remote_payments, 0, 10000);
    expect("rollbacks (ten-thousandths)", rollbacks, 0, 10000);
    expect("room", room, 1, 100000000);
    expect("servers", servers, 1, kShardsMax);
}

std::string Parameters::load_parameters() const
{
    return write_load_parameters({ { "warehouses", warehouses },
                                   { "items", items },
                                   { "customers", customers },
                                   { "room", room },
                                   { "load_seed", load_seed } });
}

Parameters Parameters::of_database(const std::string &text, uint32_t servers)
{
    LoadParameters kept("tpcc", text);
    Parameters found;

    found.warehouses = kept.number("warehouses");
    found.items = kept.number("items");
    found.customers = kept.number("customers");
    found.room = kept.number("room");
    found.load_seed = kept.value("load_seed");
    found.servers = servers;
    return found;
}

Tables::Tables(const Parameters &parameters) : schema("tpcc", kVersion)
{
    uint64_t here = 0;      /* most warehouses of a server */
    uint64_t customers = 0; /* and their other rows */
    uint64_t orders = 0;
    uint64_t names = 0;

    parameters.verify();
    schema.set_comment(parameters.load_parameters());
    here = (parameters.warehouses + parameters.servers - 1) / parameters.servers;
    customers = here * kDistricts * parameters.customers;
    names = here * kDistricts * parameters.names();
    orders = customers + here * parameters.room;
    warehouse = schema.hash_table<WarehouseRow>("warehouse", room_for(here), by_warehouse);
    district =
        schema.hash_table<DistrictRow>("district", room_for(here * kDistricts), by_warehouse);
    customer = schema.hash_table<CustomerRow>("customer", room_for(customers), by_warehouse);
    namesakes = schema.hash_table<NamesakesRow>("namesakes", room_for(names), by_warehouse);
    history = schema.hash_table<HistoryRow>("history", room_for(orders), by_warehouse);
    order = schema.ordered_table<OrderRow>("order", room_for(orders), by_warehouse);
    customer_order =
        schema.ordered_table<CustomerOrderRow>("customer_order", room_for(orders), by_warehouse);
    new_order = schema.ordered_table<NewOrderRow>("new_order", room_for(orders), by_warehouse);
    order_line =
        schema.ordered_table<OrderLineRow>("order_line", room_for(orders * kLines), by_warehouse);
    stock = schema.hash_table<StockRow>("stock", room_for(here * parameters.items), by_warehouse);
    item = schema.hash_table<ItemRow>("item", room_for(parameters.items), by_warehouse);
}

} // namespace dtx::tpcc
