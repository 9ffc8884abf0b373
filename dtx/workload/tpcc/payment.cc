/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * payment.cc: a customer pays, possibly at a warehouse that is not its own (clause 2.5).
 */
#include "workload/tpcc/transactions.h"

namespace dtx::tpcc
{

namespace
{

/* Prefixes C_DATA of a customer with bad credit with the data of the payment. */
void note(CustomerRow &customer, uint32_t c_id, const PaymentInput &input)
{
    std::string data = std::to_string(c_id) + " " + std::to_string(input.who.at.d) + " " +
                       std::to_string(input.who.at.w) + " " + std::to_string(input.home.d) + " " +
                       std::to_string(input.home.w) + " " + std::to_string(input.amount / 100) +
                       "." + std::to_string(input.amount % 100 / 10) +
                       std::to_string(input.amount % 10) + " ";

    data += customer.data.view();
    customer.data.set(data);
}

/* HISTORY has no primary key, so the row gets any unused key. */
Task<void> insert_history(Txn &txn, Context &context, const HistoryRow &row)
{
    Random random(txn.id());
    bool done = false;

    while (!done) {
        uint64_t key = warehouse_key(row.w_id) | random.next() >> 16;

        done = co_await txn.insert(context.tables.history, key, row);
    }
}

Task<void> pay(Txn &txn, Context &context, const PaymentInput &input, PaymentOutput &output)
{
    uint64_t key = customer_key(input.who.at, output.c_id);
    auto found = co_await txn.read(context.tables.customer, key);
    CustomerRow customer = need(found, "a customer is missing");

    customer.balance -= input.amount;
    customer.ytd_payment += input.amount;
    customer.payment_count++;
    if (customer.credit.view() == "BC")
        note(customer, output.c_id, input);
    output.balance = customer.balance;
    output.credit = customer.credit;
    co_await txn.write(context.tables.customer, key, customer);
}

} // namespace

Task<bool> payment(Txn &txn, Context &context, const PaymentInput &input, PaymentOutput &output)
{
    const Tables &tables = context.tables;

    co_await txn.prefetch(tables.warehouse.at(warehouse_key(input.home.w)),
                          tables.district.at(district_key(input.home)));

    auto at_warehouse = co_await txn.read(tables.warehouse, warehouse_key(input.home.w));
    WarehouseRow warehouse = need(at_warehouse, "a warehouse is missing");
    auto at_district = co_await txn.read(tables.district, district_key(input.home));
    DistrictRow district = need(at_district, "a district is missing");
    HistoryRow row{};

    output = {};
    warehouse.ytd += input.amount;
    district.ytd += input.amount;
    co_await txn.write(tables.warehouse, warehouse_key(input.home.w), warehouse);
    co_await txn.write(tables.district, district_key(input.home), district);
    output.c_id = co_await customer_number(txn, context, input.who);
    co_await pay(txn, context, input, output);

    row.date = input.date;
    row.amount = input.amount;
    row.c_w_id = input.who.at.w;
    row.c_d_id = static_cast<uint8_t>(input.who.at.d);
    row.c_id = output.c_id;
    row.w_id = static_cast<uint16_t>(input.home.w);
    row.d_id = static_cast<uint8_t>(input.home.d);
    row.data.set(std::string(warehouse.name.view()) + "    " + std::string(district.name.view()));
    co_await insert_history(txn, context, row);
    co_return true;
}

} // namespace dtx::tpcc
