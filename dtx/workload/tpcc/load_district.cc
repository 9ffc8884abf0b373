/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load_district.cc: loads the customers and the orders of a district.
 */
#include "workload/tpcc/load.h"

#include "workload/loader.h"
#include "workload/tpcc/text.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace dtx::tpcc
{

namespace
{

constexpr uint32_t kMostLines = 15;

enum DistrictPart : uint64_t { kCustomerPart = 16, kOrderPart };

/* First names with their customers, by the number of the last name. */
using Names = std::map<uint32_t, std::vector<std::pair<std::string, uint32_t>>>;

Random random_of(const Parameters &parameters, DistrictPart part, District at)
{
    return Random(seed_of(seed_of(parameters.load_seed, part), district_key(at)));
}

CustomerRow customer_row(Random &random, uint32_t name)
{
    CustomerRow row{};

    row.first.set(a_string(random, 8, 16));
    row.middle.set("OE");
    row.last.set(last_name(name));
    row.address = address(random);
    row.phone.set(n_string(random, 16));
    row.since = load_date();
    row.credit.set(random.chance(1000) ? "BC" : "GC");
    row.credit_limit = 5000000;
    row.discount = random.between(0, 5000);
    row.balance = -kFirstPayment;
    row.ytd_payment = kFirstPayment;
    row.payment_count = 1;
    row.data.set(a_string(random, 300, 500));
    return row;
}

HistoryRow history_row(Random &random, District at, uint32_t c)
{
    HistoryRow row{};

    row.date = load_date();
    row.amount = kFirstPayment;
    row.c_w_id = at.w;
    row.c_d_id = static_cast<uint8_t>(at.d);
    row.c_id = c;
    row.w_id = static_cast<uint16_t>(at.w);
    row.d_id = static_cast<uint8_t>(at.d);
    row.data.set(a_string(random, 12, 24));
    return row;
}

Task<void> load_names(Session &session, const Tables &tables, District at, Names &names)
{
    Loader<NamesakesRow> loader(session, tables.namesakes, kBatch);

    for (auto &[name, customers] : names) {
        NamesakesRow row{};

        std::sort(customers.begin(), customers.end());
        if (customers.size() > kNamesakes)
            throw Error(0, "tpcc: more than 127 customers of a district have one last name");
        for (const auto &[first, c] : customers)
            row.customer[row.count++] = static_cast<uint16_t>(c);
        co_await loader.add(name_key(at, name), row);
    }
    co_await loader.flush();
}

struct OrderLoaders {
    OrderLoaders(Session &session, const Tables &tables)
        : orders(session, tables.order, kBatch),
          by_customer(session, tables.customer_order, kBatch),
          new_orders(session, tables.new_order, kBatch), lines(session, tables.order_line, kBatch)
    {
    }

    Loader<OrderRow> orders;
    Loader<CustomerOrderRow> by_customer;
    Loader<NewOrderRow> new_orders;
    Loader<OrderLineRow> lines;
};

OrderLineRow line_row(Random &random, const Parameters &parameters, District at, bool delivered)
{
    OrderLineRow row{};

    row.i_id = random.between(1, parameters.items);
    row.supply_w_id = at.w;
    row.quantity = 5;
    row.delivery_date = delivered ? load_date() : 0;
    row.amount = delivered ? 0 : int64_t{ random.between(1, 999999) };
    row.district_info.set(a_string(random, 24, 24));
    return row;
}

} // namespace

Task<void> load_customers(Session &session, const Parameters &parameters, const Tables &tables,
                          District at)
{
    Loader<CustomerRow> customers(session, tables.customer, kBatch);
    Loader<HistoryRow> history(session, tables.history, kBatch);
    Random random = random_of(parameters, kCustomerPart, at);
    Uneven uneven{ 255, 0, parameters.names() - 1, load_constants(parameters.load_seed).last_name };
    Names names;

    for (uint32_t c = 1; c <= parameters.customers; c++) {
        uint32_t name = c <= parameters.names() ? c - 1 : nurand(random, uneven);
        CustomerRow row = customer_row(random, name);

        names[name].emplace_back(row.first.view(), c);
        co_await customers.add(customer_key(at, c), row);
        co_await history.add(customer_key(at, c), history_row(random, at, c));
    }
    co_await customers.flush();
    co_await history.flush();
    co_await load_names(session, tables, at, names);
}

Task<void> load_orders(Session &session, const Parameters &parameters, const Tables &tables,
                       District at)
{
    OrderLoaders to(session, tables);
    Random random = random_of(parameters, kOrderPart, at);
    std::vector<uint32_t> customers(parameters.customers);

    std::iota(customers.begin(), customers.end(), 1);
    random.shuffle(customers.data(), customers.size());
    for (uint32_t o = 1; o <= parameters.customers; o++) {
        bool delivered = o <= parameters.delivered();
        OrderRow row{};

        row.entry_date = load_date();
        row.c_id = customers[o - 1];
        row.carrier = static_cast<uint8_t>(delivered ? random.between(1, 10) : 0);
        row.lines = static_cast<uint8_t>(random.between(5, kMostLines));
        row.all_local = 1;
        co_await to.orders.add(order_key(at, o), row);
        co_await to.by_customer.add(customer_order_key(at, row.c_id, o), CustomerOrderRow{ o });
        if (!delivered)
            co_await to.new_orders.add(order_key(at, o), NewOrderRow{ o });
        for (uint32_t line = 1; line <= row.lines; line++)
            co_await to.lines.add(order_line_key(at, o, line),
                                  line_row(random, parameters, at, delivered));
    }
    co_await to.orders.flush();
    co_await to.by_customer.flush();
    co_await to.new_orders.flush();
    co_await to.lines.flush();
}

} // namespace dtx::tpcc
