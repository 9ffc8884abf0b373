/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tpcc.cc: the workload and its terminals. Each terminal belongs to one district.
 */
#include "workload/tpcc/tpcc.h"

#include "workload/tpcc/check.h"
#include "workload/tpcc/input.h"
#include "workload/tpcc/load.h"
#include "workload/tpcc/receipts.h"
#include "workload/tpcc/transactions.h"

namespace dtx::tpcc
{

namespace
{

/* The district of a terminal. Terminals are numbered over all threads: consecutive ones are in
 * different warehouses, and those of one warehouse in different districts. */
District home_of(const Parameters &parameters, const TerminalPlace &place)
{
    uint64_t number = place.thread + uint64_t{ place.threads } * place.coroutine;

    return { static_cast<uint32_t>(number % parameters.warehouses) + 1,
             static_cast<uint32_t>(number / parameters.warehouses % kDistricts) + 1 };
}

class Clerk : public Terminal
{
  public:
    Clerk(Session &session, Tally &tally, const Parameters &parameters, const Tables &tables,
          const TerminalPlace &place)
        : session_(session), tally_(tally),
          inputs_(parameters, run_constants(parameters.load_seed, place.seed),
                  home_of(parameters, place), place.own_seed()),
          context_{ parameters, tables }
    {
    }

    Task<Ended> next() override
    {
        Kind kind = inputs_.next();

        switch (kind) {
        case kNewOrder:
            return new_order();
        case kPayment:
            return payment();
        case kOrderStatus:
            return order_status();
        case kDelivery:
            return delivery();
        default:
            return stock_level();
        }
    }

  private:
    Ended ended(Kind kind, const Outcome &outcome, const Totals &change = {})
    {
        tally_.ledger.add(outcome.status, change);
        return { kind, outcome };
    }

    Task<Ended> new_order()
    {
        NewOrderInput input = inputs_.new_order();
        NewOrderOutput output{};
        uint64_t receipt = tally_.receipts != nullptr ? tally_.receipts->begin(begun(input)) : 0;
        Outcome outcome = co_await session_.transact(
            [&](Txn &txn) { return tpcc::new_order(txn, context_, input, output); });

        if (receipt != 0)
            tally_.receipts->end(receipt, outcome.status, std::to_string(output.o_id));
        co_return ended(kNewOrder, outcome, { 1, 0, 0, 0 });
    }

    Task<Ended> payment()
    {
        PaymentInput input = inputs_.payment();
        PaymentOutput output{};
        uint64_t receipt = tally_.receipts != nullptr ? tally_.receipts->begin(begun(input)) : 0;
        Outcome outcome = co_await session_.transact(
            [&](Txn &txn) { return tpcc::payment(txn, context_, input, output); });

        if (receipt != 0)
            tally_.receipts->end(receipt, outcome.status, std::to_string(output.c_id));
        co_return ended(kPayment, outcome, { 0, 0, static_cast<uint64_t>(input.amount), 1 });
    }

    Task<Ended> order_status()
    {
        OrderStatusInput input = inputs_.order_status();
        OrderStatusOutput output{};
        Outcome outcome = co_await session_.transact(
            [&](Txn &txn) { return tpcc::order_status(txn, context_, input, output); });

        co_return ended(kOrderStatus, outcome);
    }

    /* A delivery: one transaction of the workload, ten of the database. */
    Task<Ended> delivery()
    {
        DeliveryInput input = inputs_.delivery();
        Outcome all{ Status::committed, 0 };

        for (uint32_t d = 1; d <= kDistricts; d++) {
            DeliveryOutput output{};
            Outcome outcome = co_await session_.transact(
                [&](Txn &txn) { return deliver(txn, context_, input, d, output); });

            ended(kDelivery, outcome, { 0, output.o_id != 0, 0, 0 });
            tally_.skipped += output.o_id == 0 ? 1 : 0;
            all.conflicts += outcome.conflicts;
            if (outcome.status != Status::committed)
                all.status = outcome.status;
        }
        co_return Ended{ kDelivery, all };
    }

    Task<Ended> stock_level()
    {
        StockLevelInput input = inputs_.stock_level();
        StockLevelOutput output{};
        Outcome outcome = co_await session_.transact(
            [&](Txn &txn) { return tpcc::stock_level(txn, context_, input, output); });

        co_return ended(kStockLevel, outcome);
    }

    Session &session_;
    Tally &tally_;
    Inputs inputs_;
    Context context_;
};

} // namespace

const std::vector<std::string> &Tpcc::kinds() const
{
    return kind_names();
}

void Tpcc::load(Session &session, const Share &share)
{
    tpcc::load(session, parameters_, tables_, share);
}

std::unique_ptr<Terminal> Tpcc::terminal(Session &session, Tally &tally, const TerminalPlace &place)
{
    return std::make_unique<Clerk>(session, tally, parameters_, tables_, place);
}

Findings Tpcc::examine(const Cluster &cluster, uint32_t copy)
{
    return tpcc::check(facts_of(cluster, copy, parameters_, tables_), parameters_);
}

Findings Tpcc::audit(const Cluster &cluster, uint32_t copy, const std::vector<Receipt> &receipts)
{
    return check_receipts(cluster, copy, parameters_, tables_, receipts);
}

Totals Tpcc::totals(const Cluster &cluster, uint32_t copy)
{
    return tpcc::totals(facts_of(cluster, copy, parameters_, tables_));
}

Totals Tpcc::loaded()
{
    return tpcc::loaded(parameters_);
}

} // namespace dtx::tpcc
