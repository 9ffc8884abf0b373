/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.cc: checks the conditions of warehouses, districts, orders, customers and stock.
 */
#include "workload/tpcc/check.h"

#include "workload/tpcc/load.h"
#include <dtx/findings.h>

namespace dtx::tpcc
{

namespace
{

struct Rule {
    const char *name;
    const char *about;
};

constexpr Rule kRules[] = {
    { "condition 1", "W_YTD is the sum of D_YTD" },
    { "condition 2",
      "D_NEXT_O_ID - 1 is the latest order, and the latest new order if there is one" },
    { "condition 3", "new orders of a district have no gaps" },
    { "condition 4", "the sum of O_OL_CNT of a district is its number of order lines" },
    { "condition 5", "an order has no carrier if and only if it is a new order" },
    { "condition 6", "O_OL_CNT is the number of an order's lines" },
    { "condition 7", "an order line has no delivery date if and only if its order has no carrier" },
    { "condition 8", "W_YTD is the sum of its H_AMOUNT" },
    { "condition 9", "D_YTD is the sum of its H_AMOUNT" },
    { "condition 10", "C_BALANCE is the amount of delivered lines less the sum of H_AMOUNT" },
    { "condition 11", "orders less new orders are the orders delivered by the load and since" },
    { "condition 12", "C_BALANCE plus C_YTD_PAYMENT is the amount of delivered lines" },
    { "rows", "tables that never grow have each row of the load once" },
    { "orders by customer", "each order is in the list of its customer" },
    { "payments", "C_PAYMENT_CNT is the number of a customer's history rows" },
    { "deliveries",
      "C_DELIVERY_CNT is the number of a customer's orders delivered since the load" },
    { "last names", "each customer is in the list of its last name, ordered by first names" },
    { "stock", "sums and counts of stock equal those of the order lines since the load" },
};

std::string text(const char *what, int64_t a, int64_t b)
{
    return std::string(what) + " " + std::to_string(a) + " and " + std::to_string(b);
}

std::string place(uint64_t key)
{
    District at = district_of(key);

    return "warehouse " + std::to_string(at.w) + " district " + std::to_string(at.d) + " number " +
           std::to_string(key & 0xffffffff) + ": ";
}

void check_warehouses(const Facts &facts, Findings &found)
{
    for (const auto &[w, one] : facts.warehouse) {
        std::string at = "warehouse " + std::to_string(w) + ": ";

        found.add_if(one.ytd != one.district_ytd, "condition 1",
                     at + text("W_YTD and the sum of D_YTD", one.ytd, one.district_ytd));
        found.add_if(one.ytd != one.history_amount, "condition 8",
                     at + text("W_YTD and the sum of H_AMOUNT", one.ytd, one.history_amount));
    }
}

void check_new_orders(const DistrictFacts &one, const std::string &at, Findings &found)
{
    int64_t last = int64_t{ one.next_o_id } - 1;

    found.add_if(last != static_cast<int64_t>(one.order_max), "condition 2",
                 at + text("D_NEXT_O_ID - 1 and the latest order", last,
                           static_cast<int64_t>(one.order_max)));
    if (one.new_orders == 0)
        return;
    found.add_if(last != static_cast<int64_t>(one.new_max), "condition 2",
                 at + text("D_NEXT_O_ID - 1 and the latest new order", last,
                           static_cast<int64_t>(one.new_max)));
    found.add_if(one.new_max - one.new_min + 1 != one.new_orders, "condition 3",
                 at + text("numbers from the first to the last new order, and new orders",
                           static_cast<int64_t>(one.new_max - one.new_min + 1),
                           static_cast<int64_t>(one.new_orders)));
}

void check_districts(const Facts &facts, const Parameters &parameters, Findings &found)
{
    for (const auto &[key, one] : facts.district) {
        std::string at = place(key);
        int64_t delivered = static_cast<int64_t>(parameters.delivered() + one.deliveries);
        int64_t gone = static_cast<int64_t>(one.orders) - static_cast<int64_t>(one.new_orders);

        check_new_orders(one, at, found);
        found.add_if(one.order_lines != one.lines, "condition 4",
                     at + text("the sum of O_OL_CNT and order lines",
                               static_cast<int64_t>(one.order_lines),
                               static_cast<int64_t>(one.lines)));
        found.add_if(one.ytd != one.history_amount, "condition 9",
                     at + text("D_YTD and the sum of H_AMOUNT", one.ytd, one.history_amount));
        found.add_if(gone != delivered, "condition 11",
                     at + text("orders less new orders, and delivered orders", gone, delivered));
        found.add_if(one.orders != one.by_customer, "orders by customer",
                     at + text("orders and entries by customer", static_cast<int64_t>(one.orders),
                               static_cast<int64_t>(one.by_customer)));
    }
}

void check_orders(const Facts &facts, Findings &found)
{
    for (const auto &[key, one] : facts.order) {
        found.add_if(one.rows != 1, "rows", place(key) + "a new order without an order");
        found.add_if((one.carrier == 0) != one.is_new, "condition 5",
                     place(key) +
                         text("carrier, and whether it is a new order,", one.carrier, one.is_new));
        found.add_if(one.lines != one.line_rows, "condition 6",
                     place(key) + text("O_OL_CNT and order lines", one.lines, one.line_rows));
        found.add_if(!one.by_customer, "orders by customer", place(key) + "no entry");
    }
    found.checked("condition 7", facts.lines());
    found.add_if(facts.lines_dated_wrong != 0, "condition 7",
                 std::to_string(facts.lines_dated_wrong) + " lines");
    found.add_if(facts.lines_of_no_order != 0, "rows",
                 std::to_string(facts.lines_of_no_order) + " order lines without an order");
}

void check_customers(const Facts &facts, Findings &found)
{
    for (const auto &[key, one] : facts.customer) {
        found.add_if(one.rows != 1, "rows",
                     place(key) + "rows refer to a customer that does not exist");
        found.add_if(one.balance != one.delivered - one.paid, "condition 10",
                     place(key) + text("C_BALANCE, and delivered lines less payments,", one.balance,
                                       one.delivered - one.paid));
        found.add_if(one.balance + one.ytd_payment != one.delivered, "condition 12",
                     place(key) + text("C_BALANCE plus C_YTD_PAYMENT, and delivered lines,",
                                       one.balance + one.ytd_payment, one.delivered));
        found.add_if(one.payment_count != one.payments, "payments",
                     place(key) + text("C_PAYMENT_CNT and history rows",
                                       static_cast<int64_t>(one.payment_count),
                                       static_cast<int64_t>(one.payments)));
        found.add_if(one.delivery_count != one.orders, "deliveries",
                     place(key) + text("C_DELIVERY_CNT and delivered orders",
                                       static_cast<int64_t>(one.delivery_count),
                                       static_cast<int64_t>(one.orders)));
        found.add_if(!one.named, "last names", place(key) + "in no list of last names");
    }
    found.add_if(facts.names_out_of_order != 0, "last names",
                 std::to_string(facts.names_out_of_order) + " out of order");
}

void check_stock(const Facts &facts, Findings &found)
{
    for (const auto &[key, one] : facts.stock) {
        std::string at = "warehouse " + std::to_string(warehouse_of(key)) + " item " +
                         std::to_string(key & 0xffffffff) + ": ";

        found.add_if(one.rows != 1, "rows", at + "order lines of stock that does not exist");
        found.add_if(one.ytd != one.line_quantity, "stock",
                     at +
                         text("S_YTD and the quantity of order lines", one.ytd, one.line_quantity));
        found.add_if(one.orders != one.lines, "stock",
                     at + text("S_ORDER_CNT and order lines", static_cast<int64_t>(one.orders),
                               static_cast<int64_t>(one.lines)));
        found.add_if(one.remote != one.remote_lines, "stock",
                     at + text("S_REMOTE_CNT and remote order lines",
                               static_cast<int64_t>(one.remote),
                               static_cast<int64_t>(one.remote_lines)));
    }
}

/* Checks the numbers of rows of tables that transactions neither grow nor shrink. */
void check_rows(const Facts &facts, const Parameters &parameters, Findings &found)
{
    uint64_t w = parameters.warehouses;
    uint64_t items = uint64_t{ parameters.items } * parameters.copies();
    auto expect = [&found](const char *table, uint64_t have, uint64_t want) {
        found.add_if(have != want, "rows",
                     text(table, static_cast<int64_t>(have), static_cast<int64_t>(want)));
    };

    expect("warehouses", facts.warehouse.size(), w);
    expect("districts", facts.district.size(), w * kDistricts);
    expect("customers", facts.customer.size(), w * kDistricts * parameters.customers);
    expect("stock", facts.stock.size(), w * parameters.items);
    expect("items", facts.items, items);
    for (const auto &[key, one] : facts.warehouse)
        found.add_if(one.rows != 1, "rows", "warehouse " + std::to_string(key));
    for (const auto &[key, one] : facts.district) {
        found.add_if(one.rows != 1, "rows", place(key) + "no district");
        found.add_if(one.customers != parameters.customers || one.named != parameters.customers,
                     "rows",
                     place(key) + text("customers, and customers in lists of last names,",
                                       static_cast<int64_t>(one.customers),
                                       static_cast<int64_t>(one.named)));
    }
}

} // namespace

Findings check(const Facts &facts, const Parameters &parameters)
{
    Findings found;

    for (const auto &[rule, about] : kRules)
        found.rule(rule, about);
    check_warehouses(facts, found);
    check_districts(facts, parameters, found);
    check_orders(facts, found);
    check_customers(facts, found);
    check_stock(facts, found);
    check_rows(facts, parameters, found);
    return found;
}

Totals totals(const Facts &facts)
{
    Totals sums{};

    for (const auto &[key, one] : facts.district) {
        sums[0] += one.next_o_id;
        sums[1] += one.deliveries;
    }
    for (const auto &[key, one] : facts.warehouse)
        sums[2] += static_cast<uint64_t>(one.ytd);
    for (const auto &[key, one] : facts.customer)
        sums[3] += one.payments;
    return sums;
}

Totals loaded(const Parameters &parameters)
{
    uint64_t districts = uint64_t{ parameters.warehouses } * kDistricts;
    uint64_t customers = districts * parameters.customers;

    return { districts * (parameters.customers + uint64_t{ 1 }), 0,
             customers * static_cast<uint64_t>(kFirstPayment), customers };
}

} // namespace dtx::tpcc
