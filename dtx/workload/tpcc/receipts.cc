/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * receipts.cc: formats orders and payments of a database as the texts of receipts, and compares
 * these with the receipts.
 *
 * Tests: tests/unit/dtx/workload/receipts_test.cpp
 */
#include "workload/tpcc/receipts.h"

#include "workload/scan.h"
#include "workload/tpcc/load.h"
#include <dtx/error.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace dtx::tpcc
{

namespace
{

std::string joined(const std::vector<std::string> &words)
{
    std::string text;

    for (const std::string &word : words)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

std::string line_text(uint32_t i_id, uint32_t supply_w_id, uint32_t quantity)
{
    return " " + std::to_string(i_id) + ":" + std::to_string(supply_w_id) + ":" +
           std::to_string(quantity);
}

std::string order_text(District at, uint32_t c_id, uint64_t date)
{
    return "order " + std::to_string(at.w) + " " + std::to_string(at.d) + " " +
           std::to_string(c_id) + " " + std::to_string(date);
}

std::string payment_text(District at, District of, int64_t amount, uint64_t date)
{
    return "payment " + std::to_string(at.w) + " " + std::to_string(at.d) + " " +
           std::to_string(of.w) + " " + std::to_string(of.d) + " " + std::to_string(amount) + " " +
           std::to_string(date);
}

/* Rows of the database without a receipt so far: receipt text to number of the order or customer.
 */
using FoundRows = std::multimap<std::string, uint64_t>;

FoundRows found_orders(const Cluster &cluster, uint32_t copy, const Parameters &parameters,
                       const Tables &tables)
{
    std::unordered_map<uint64_t, std::map<uint32_t, std::string>> lines;
    FoundRows rows;

    scan_rows(cluster, tables.order_line, copy, [&](uint64_t key, const OrderLineRow &row) {
        uint32_t o = static_cast<uint32_t>(key >> 4);

        if (o > parameters.customers)
            lines[order_key(district_of(key), o)][key & 0xf] =
                line_text(row.i_id, row.supply_w_id, row.quantity);
    });
    scan_rows(cluster, tables.order, copy, [&](uint64_t key, const OrderRow &row) {
        std::string text = order_text(district_of(key), row.c_id, row.entry_date);

        if ((key & 0xffffffff) <= parameters.customers)
            return; /* inserted by the load */
        for (const auto &[number, line] : lines[key])
            text += line;
        rows.emplace(text, key & 0xffffffff);
    });
    return rows;
}

FoundRows found_payments(const Cluster &cluster, uint32_t copy, const Tables &tables)
{
    FoundRows rows;

    scan_rows(cluster, tables.history, copy, [&](uint64_t, const HistoryRow &row) {
        if (row.date != load_date())
            rows.emplace(payment_text({ row.w_id, row.d_id }, { row.c_w_id, row.c_d_id },
                                      row.amount, row.date),
                         row.c_id);
    });
    return rows;
}

class Audit
{
  public:
    Audit(const char *what, FoundRows rows) : what_(what), rows_(std::move(rows)) {}

    /* A transaction that was reported as committed: its row must exist. Removes the row. */
    void acknowledged(const Receipt &receipt, Findings &found)
    {
        std::string text = joined(receipt.begun);
        auto range = rows_.equal_range(text);
        auto at = std::find_if(range.first, range.second, [&](const auto &one) {
            return receipt.reported.size() == 1 &&
                   std::to_string(one.second) == receipt.reported[0];
        });

        found.add_if(at == range.second, std::string("acknowledged ") + what_,
                     "line " + std::to_string(receipt.line) + ": " + text + ", reported " +
                         joined(receipt.reported) + ": missing or incomplete");
        if (at != range.second)
            rows_.erase(at);
    }
    /* A transaction of unknown outcome: its row may exist. Removes the row. */
    void open(const Receipt &receipt)
    {
        auto at = rows_.find(joined(receipt.begun));

        if (at == rows_.end())
            return;
        happened_++;
        rows_.erase(at);
    }
    /* No transaction can have made the rows that are left. */
    void end(Findings &found)
    {
        std::string rule = std::string("other ") + what_;

        found.checked(rule, happened_);
        for (const auto &[text, number] : rows_)
            found.add(rule, text + ", number " + std::to_string(number) +
                                ": incomplete, or no transaction began it, or it was reported "
                                "as aborted");
    }

  private:
    const char *what_;
    FoundRows rows_;
    uint64_t happened_ = 0;
};

} // namespace

std::string begun(const NewOrderInput &input)
{
    std::string text = order_text(input.home, input.c_id, input.date);

    for (uint32_t i = 0; i < input.count; i++)
        text += line_text(input.line[i].i_id, input.line[i].supply_w_id, input.line[i].quantity);
    return text;
}

std::string begun(const PaymentInput &input)
{
    return payment_text(input.home, input.who.at, input.amount, input.date);
}

Findings check_receipts(const Cluster &cluster, uint32_t copy, const Parameters &parameters,
                        const Tables &tables, const std::vector<Receipt> &receipts)
{
    Audit orders("orders", found_orders(cluster, copy, parameters, tables));
    Audit payments("payments", found_payments(cluster, copy, tables));
    auto audit_of = [&](const Receipt &receipt) -> Audit & {
        if (receipt.begun[0] != "order" && receipt.begun[0] != "payment")
            throw Error(0, "receipts: line " + std::to_string(receipt.line) + ": '" +
                               receipt.begun[0] +
                               "' is not a transaction of TPC-C; expected order or payment");
        return receipt.begun[0] == "order" ? orders : payments;
    };
    Findings found;

    found.rule("acknowledged orders", "each order that was reported as committed is complete");
    found.rule("other orders", "each other order is of unknown outcome and complete");
    found.rule("acknowledged payments", "each payment that was reported as committed exists");
    found.rule("other payments", "each other payment is of unknown outcome");
    for (const Receipt &receipt : receipts)
        if (receipt.ended && receipt.status == Status::committed)
            audit_of(receipt).acknowledged(receipt, found);
    for (const Receipt &receipt : receipts)
        if (receipt.open())
            audit_of(receipt).open(receipt);
    orders.end(found);
    payments.end(found);
    return found;
}

} // namespace dtx::tpcc
