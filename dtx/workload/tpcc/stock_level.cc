/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stock_level.cc: counts the items of the last 20 orders of a district whose stock is low (clause
 * 2.8). Serialisable like the others, although the specification demands less.
 */
#include "workload/tpcc/transactions.h"

#include <set>

namespace dtx::tpcc
{

namespace
{

constexpr uint32_t kOrders = 20;

}

Task<bool> stock_level(Txn &txn, Context &context, const StockLevelInput &input,
                       StockLevelOutput &output)
{
    const Tables &tables = context.tables;
    auto district = co_await txn.read(tables.district, district_key(input.at));
    uint32_t next = need(district, "a district is missing").next_o_id;
    uint32_t first = next > kOrders ? next - kOrders : 1;
    std::set<uint32_t> items;

    output = {};
    auto lines = co_await txn.scan(tables.order_line, order_line_key(input.at, first, 0),
                                   order_line_key(input.at, next - 1, kLinesMax));

    for (const auto &[key, line] : lines)
        items.insert(line.i_id);
    std::vector<RowKey> stocks;

    for (uint32_t item : items)
        stocks.push_back(tables.stock.at(stock_key(input.at.w, item)));
    co_await txn.prefetch(stocks);
    for (uint32_t item : items) {
        auto stock = co_await txn.read(tables.stock, stock_key(input.at.w, item));

        if (need(stock, "stock of an item is missing").quantity < input.threshold)
            output.low++;
    }
    co_return true;
}

} // namespace dtx::tpcc
