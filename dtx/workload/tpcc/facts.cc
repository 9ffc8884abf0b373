/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * facts.cc: reads all tables once; orders before their lines, customers before their last names.
 */
#include "workload/tpcc/facts.h"

#include "workload/scan.h"
#include "workload/tpcc/text.h"

#include <algorithm>

namespace dtx::tpcc
{

namespace
{

class Gatherer
{
  public:
    Gatherer(const Cluster &cluster, uint32_t copy, const Parameters &parameters,
             const Tables &tables)
        : cluster_(cluster), copy_(copy), parameters_(parameters), tables_(tables)
    {
    }
    Facts gather()
    {
        is_mapped();
        customers();
        namesakes();
        payments();
        orders();
        order_lines();
        stock();
        return std::move(facts_);
    }

  private:
    template <class Row, class Each> void scan(Table<Row> table, Each each)
    {
        scan_rows(cluster_, table, copy_, each);
    }
    DistrictFacts &district(District at)
    {
        return facts_.district[in_district(at)];
    }

    void is_mapped()
    {
        scan(tables_.warehouse, [this](uint64_t key, const WarehouseRow &row) {
            WarehouseFacts &facts = facts_.warehouse[warehouse_of(key)];

            facts.rows++;
            facts.ytd = row.ytd;
        });
        scan(tables_.district, [this](uint64_t key, const DistrictRow &row) {
            uint32_t w = warehouse_of(key);
            DistrictFacts &facts = district({ w, static_cast<uint32_t>(key & 0xffffffff) });

            facts.rows++;
            facts.next_o_id = row.next_o_id;
            facts.ytd = row.ytd;
            facts_.warehouse[w].district_ytd += row.ytd;
        });
        scan(tables_.item, [this](uint64_t, const ItemRow &) { facts_.items++; });
    }

    void customers()
    {
        scan(tables_.customer, [this](uint64_t key, const CustomerRow &row) {
            CustomerFacts &facts = facts_.customer[key];
            DistrictFacts &at = district(district_of(key));

            facts.rows++;
            facts.balance = row.balance;
            facts.ytd_payment = row.ytd_payment;
            facts.payment_count = row.payment_count;
            facts.delivery_count = row.delivery_count;
            at.customers++;
            at.deliveries += row.delivery_count;
            names_[key] = { row.last, row.first };
        });
    }

    void namesakes()
    {
        scan(tables_.namesakes, [this](uint64_t key, const NamesakesRow &row) {
            District at = district_of(key);
            std::string last = last_name(static_cast<uint32_t>(key & 0xffff));
            std::string before;

            for (uint32_t i = 0; i < std::min<size_t>(row.count, kNamesakes); i++) {
                uint64_t customer = customer_key(at, row.customer[i]);
                const Name &name = names_[customer];
                std::string first(name.first.view());

                facts_.names_out_of_order += name.last.view() != last || first < before ? 1 : 0;
                before = first;
                district(at).named += facts_.customer[customer].named ? 0 : 1;
                facts_.customer[customer].named = true;
            }
        });
    }

    void payments()
    {
        scan(tables_.history, [this](uint64_t, const HistoryRow &row) {
            CustomerFacts &customer =
                facts_.customer[customer_key({ row.c_w_id, row.c_d_id }, row.c_id)];

            facts_.warehouse[row.w_id].history_amount += row.amount;
            district({ row.w_id, row.d_id }).history_amount += row.amount;
            customer.paid += row.amount;
            customer.payments++;
        });
    }

    void orders()
    {
        scan(tables_.order, [this](uint64_t key, const OrderRow &row) {
            OrderFacts &facts = facts_.order[key];
            DistrictFacts &at = district(district_of(key));

            facts.rows++;
            facts.c_id = row.c_id;
            facts.carrier = row.carrier;
            facts.lines = row.lines;
            at.orders++;
            at.order_max = std::max<uint64_t>(at.order_max, key & 0xffffffff);
            at.order_lines += row.lines;
            if (row.carrier != 0 && (key & 0xffffffff) > parameters_.delivered())
                facts_.customer[customer_key(district_of(key), row.c_id)].orders++;
        });
        scan(tables_.new_order, [this](uint64_t key, const NewOrderRow &) {
            DistrictFacts &at = district(district_of(key));
            uint64_t o = key & 0xffffffff;

            facts_.order[key].is_new = true;
            at.new_orders++;
            at.new_min = std::min(at.new_min, o);
            at.new_max = std::max(at.new_max, o);
        });
        scan(tables_.customer_order, [this](uint64_t key, const CustomerOrderRow &row) {
            District at{ warehouse_of(key), static_cast<uint32_t>(key >> 44) & 0xf };
            auto order = facts_.order.find(order_key(at, row.o_id));
            bool right = order != facts_.order.end() &&
                         key == customer_order_key(at, order->second.c_id, row.o_id);

            district(at).by_customer++;
            if (right)
                order->second.by_customer = true;
        });
    }

    void order_lines()
    {
        scan(tables_.order_line, [this](uint64_t key, const OrderLineRow &row) {
            District at = district_of(key);
            uint32_t o = static_cast<uint32_t>(key >> 4);
            auto order = facts_.order.find(order_key(at, o));

            district(at).lines++;
            if (order == facts_.order.end() || order->second.rows == 0) {
                facts_.lines_of_no_order++;
                return;
            }
            order->second.line_rows++;
            facts_.lines_dated_wrong +=
                (row.delivery_date == 0) != (order->second.carrier == 0) ? 1 : 0;
            if (row.delivery_date != 0)
                facts_.customer[customer_key(at, order->second.c_id)].delivered += row.amount;
            if (o > parameters_.customers)
                add_taken(at, row);
        });
    }

    void add_taken(District at, const OrderLineRow &row)
    {
        StockFacts &facts = facts_.stock[stock_key(row.supply_w_id, row.i_id)];

        facts.line_quantity += row.quantity;
        facts.lines++;
        facts.remote_lines += row.supply_w_id != at.w ? 1 : 0;
    }

    void stock()
    {
        scan(tables_.stock, [this](uint64_t key, const StockRow &row) {
            StockFacts &facts = facts_.stock[key];

            facts.rows++;
            facts.ytd = row.ytd;
            facts.orders = row.order_count;
            facts.remote = row.remote_count;
        });
    }

    struct Name {
        Text<16> last;
        Text<16> first;
    };

    const Cluster &cluster_;
    uint32_t copy_;
    const Parameters &parameters_;
    const Tables &tables_;
    Facts facts_;
    std::unordered_map<uint64_t, Name> names_;
};

} // namespace

Facts facts_of(const Cluster &cluster, uint32_t copy, const Parameters &parameters,
               const Tables &tables)
{
    return Gatherer(cluster, copy, parameters, tables).gather();
}

} // namespace dtx::tpcc
