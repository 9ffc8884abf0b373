/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * new_order.cc: a customer orders 5 to 15 items (clause 2.4).
 *
 * In one order of a hundred the last item does not exist, so the transaction aborts after all its
 * other work.
 */
#include "workload/tpcc/transactions.h"

namespace dtx::tpcc
{

namespace
{

constexpr std::string_view kOriginal = "ORIGINAL";

using LineInput = NewOrderInput::Line;

/* Takes the quantity of an order line from the stock, which is replenished by 91 below 10. */
void take(StockRow &stock, const LineInput &line, uint32_t home_w)
{
    int32_t quantity = static_cast<int32_t>(line.quantity);

    stock.quantity -= quantity;
    if (stock.quantity < 10)
        stock.quantity += 91;
    stock.ytd += line.quantity;
    stock.order_count++;
    stock.remote_count += line.supply_w_id != home_w ? 1 : 0;
}

bool original(const ItemRow &item, const StockRow &stock)
{
    return item.data.view().find(kOriginal) != std::string_view::npos &&
           stock.data.view().find(kOriginal) != std::string_view::npos;
}

/* Inserts the order, its entry by customer, and the new order. */
Task<void> insert_order(Txn &txn, Context &context, const NewOrderInput &input, uint32_t o_id)
{
    const Tables &tables = context.tables;
    OrderRow order{};
    bool done = false;

    order.entry_date = input.date;
    order.c_id = input.c_id;
    order.lines = static_cast<uint8_t>(input.count);
    order.all_local = 1;
    for (uint32_t i = 0; i < input.count; i++)
        if (input.line[i].supply_w_id != input.home.w)
            order.all_local = 0;
    done = co_await txn.insert(tables.order, order_key(input.home, o_id), order);
    need(done, "an order number exists already");
    done =
        co_await txn.insert(tables.customer_order, customer_order_key(input.home, input.c_id, o_id),
                            CustomerOrderRow{ o_id });
    need(done, "an order number of a customer exists already");
    done = co_await txn.insert(tables.new_order, order_key(input.home, o_id), NewOrderRow{ o_id });
    need(done, "the number of a new order exists already");
}

/* Prefetches all rows that exist before the order, in one round trip. */
std::vector<RowKey> rows_of(const Context &context, const NewOrderInput &input)
{
    const Tables &tables = context.tables;
    std::vector<RowKey> rows{ tables.warehouse.at(warehouse_key(input.home.w)),
                              tables.district.at(district_key(input.home)),
                              tables.customer.at(customer_key(input.home, input.c_id)) };

    for (uint32_t i = 0; i < input.count; i++) {
        rows.push_back(tables.item.at(
            item_key(input.home.w, input.line[i].i_id, context.parameters.copies())));
        rows.push_back(tables.stock.at(stock_key(input.line[i].supply_w_id, input.line[i].i_id)));
    }
    return rows;
}

/* One line of the order; false: its item does not exist. */
Task<bool> order_line(Txn &txn, Context &context, const NewOrderInput &input, uint32_t i,
                      NewOrderOutput &output)
{
    const Tables &tables = context.tables;
    const LineInput &line = input.line[i];
    auto item = co_await txn.read(tables.item,
                                  item_key(input.home.w, line.i_id, context.parameters.copies()));

    if (!item)
        co_return false;

    uint64_t key = stock_key(line.supply_w_id, line.i_id);
    auto found = co_await txn.read(tables.stock, key);
    StockRow stock = need(found, "stock of an item is missing");
    OrderLineRow row{};

    take(stock, line, input.home.w);
    co_await txn.write(tables.stock, key, stock);
    row.i_id = line.i_id;
    row.supply_w_id = line.supply_w_id;
    row.quantity = static_cast<uint8_t>(line.quantity);
    row.amount = int64_t{ line.quantity } * item->price;
    row.district_info = stock.district[input.home.d - 1];
    bool done =
        co_await txn.insert(tables.order_line, order_line_key(input.home, output.o_id, i + 1), row);

    need(done, "an order line exists already");
    output.line[i] = { item->name, stock.quantity, original(*item, stock), item->price,
                       row.amount };
    co_return true;
}

} // namespace

Task<bool> new_order(Txn &txn, Context &context, const NewOrderInput &input, NewOrderOutput &output)
{
    const Tables &tables = context.tables;

    co_await txn.prefetch(rows_of(context, input));

    auto warehouse = co_await txn.read(tables.warehouse, warehouse_key(input.home.w));
    auto found = co_await txn.read(tables.district, district_key(input.home));
    DistrictRow district = need(found, "a district is missing");
    int64_t sum = 0;

    output = {};
    output.o_id = district.next_o_id++;
    co_await txn.write(tables.district, district_key(input.home), district);

    auto customer = co_await txn.read(tables.customer, customer_key(input.home, input.c_id));

    output.last = need(customer, "a customer is missing").last;
    output.credit = customer->credit;
    output.discount = customer->discount;
    co_await insert_order(txn, context, input, output.o_id);
    for (uint32_t i = 0; i < input.count; i++) {
        bool valid = co_await order_line(txn, context, input, i, output);

        if (!valid) {
            output.item_not_valid = true;
            co_return false;
        }
        sum += output.line[i].amount;
    }
    int64_t tax = int64_t{ 10000 } + need(warehouse, "a warehouse is missing").tax + district.tax;

    output.total = sum * (10000 - int64_t{ customer->discount }) * tax / 100000000;
    co_return true;
}

} // namespace dtx::tpcc
