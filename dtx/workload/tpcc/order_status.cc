/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * order_status.cc: reads the latest order of a customer (clause 2.6).
 */
#include "workload/tpcc/transactions.h"

namespace dtx::tpcc
{

Task<uint32_t> customer_number(Txn &txn, Context &context, const Who &who)
{
    if (!who.by_name)
        co_return who.number;
    auto found = co_await txn.read(context.tables.namesakes, name_key(who.at, who.number));
    const NamesakesRow &namesakes = need(found, "a last name is missing");

    co_return namesakes.customer[(namesakes.count + 1) / 2 - 1];
}

Task<bool> order_status(Txn &txn, Context &context, const OrderStatusInput &input,
                        OrderStatusOutput &output)
{
    const Tables &tables = context.tables;
    District at = input.who.at;

    output = {};
    output.c_id = co_await customer_number(txn, context, input.who);
    auto customer = co_await txn.read(tables.customer, customer_key(at, output.c_id));

    output.balance = need(customer, "a customer is missing").balance;
    auto latest =
        co_await txn.scan(tables.customer_order, customer_order_key(at, output.c_id, 0),
                          customer_order_key(at, output.c_id, UINT32_MAX), 1, Order::descending);

    need(!latest.empty(), "an order of a customer is missing");
    output.o_id = latest[0].second.o_id;
    auto order = co_await txn.read(tables.order, order_key(at, output.o_id));

    output.carrier = need(order, "an order is missing").carrier;
    auto lines = co_await txn.scan(tables.order_line, order_line_key(at, output.o_id, 0),
                                   order_line_key(at, output.o_id, kLinesMax));

    output.lines = static_cast<uint32_t>(lines.size());
    need(output.lines == order->lines, "a line of an order is missing");
    co_return true;
}

} // namespace dtx::tpcc
