/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * delivery.cc: delivers the oldest new order of a district (clause 2.7).
 */
#include "workload/tpcc/transactions.h"

namespace dtx::tpcc
{

namespace
{

/* Sets the delivery date of all lines; returns the sum of their amounts. */
Task<int64_t> deliver_lines(Txn &txn, Context &context, District at, uint32_t o_id, uint64_t date)
{
    const Tables &tables = context.tables;
    auto lines = co_await txn.scan(tables.order_line, order_line_key(at, o_id, 0),
                                   order_line_key(at, o_id, kLinesMax));
    int64_t sum = 0;

    for (auto &[key, line] : lines) {
        line.delivery_date = date;
        sum += line.amount;
        co_await txn.write(tables.order_line, key, line);
    }
    co_return sum;
}

} // namespace

Task<bool> deliver(Txn &txn, Context &context, const DeliveryInput &input, uint32_t d,
                   DeliveryOutput &output)
{
    const Tables &tables = context.tables;
    District at{ input.w, d };

    output.o_id = 0;
    auto oldest =
        co_await txn.scan(tables.new_order, order_key(at, 0), order_key(at, UINT32_MAX), 1);

    if (oldest.empty())
        co_return true;
    uint32_t o_id = oldest[0].second.o_id;
    bool done = co_await txn.erase(tables.new_order, order_key(at, o_id));

    need(done, "a new order is missing");
    auto ordered = co_await txn.read(tables.order, order_key(at, o_id));
    OrderRow order = need(ordered, "an order is missing");

    order.carrier = static_cast<uint8_t>(input.carrier);
    co_await txn.write(tables.order, order_key(at, o_id), order);

    int64_t sum = co_await deliver_lines(txn, context, at, o_id, input.date);
    auto found = co_await txn.read(tables.customer, customer_key(at, order.c_id));
    CustomerRow customer = need(found, "a customer is missing");

    customer.balance += sum;
    customer.delivery_count++;
    co_await txn.write(tables.customer, customer_key(at, order.c_id), customer);
    output.o_id = o_id;
    co_return true;
}

} // namespace dtx::tpcc
