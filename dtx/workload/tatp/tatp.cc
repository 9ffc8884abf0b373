/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tatp.cc: the workload and its terminals.
 */
#include "workload/tatp/tatp.h"

#include "workload/tatp/check.h"
#include "workload/tatp/load.h"
#include "workload/tatp/transactions.h"

namespace dtx::tatp
{

namespace
{

class Caller : public Terminal
{
  public:
    Caller(Session &session, Tally &tally, const Parameters &parameters, const Tables &tables,
           uint64_t seed)
        : session_(session), tally_(tally), inputs_(parameters, seed),
          transactions_(parameters, tables)
    {
    }

    Task<Ended> next() override
    {
        Input input = inputs_.next();
        Change change;
        Outcome outcome = co_await session_.transact(
            [&](Txn &txn) { return transactions_.run(txn, input, change); });

        tally_.ledger.add(outcome.status, { static_cast<uint64_t>(change.forwarding),
                                            static_cast<uint64_t>(change.locations),
                                            static_cast<uint64_t>(change.bits),
                                            static_cast<uint64_t>(change.data_a) });
        co_return Ended{ input.kind, outcome };
    }

  private:
    Session &session_;
    Tally &tally_;
    Inputs inputs_;
    Transactions transactions_;
};

} // namespace

const std::vector<std::string> &Tatp::kinds() const
{
    return kind_names();
}

void Tatp::load(Session &session, const Share &share)
{
    tatp::load(session, parameters_, tables_, share);
}

std::unique_ptr<Terminal> Tatp::terminal(Session &session, Tally &tally, const TerminalPlace &place)
{
    return std::make_unique<Caller>(session, tally, parameters_, tables_, place.own_seed());
}

Findings Tatp::examine(const Cluster &cluster, uint32_t copy)
{
    return tatp::check(cluster, copy, parameters_, tables_);
}

Totals Tatp::totals(const Cluster &cluster, uint32_t copy)
{
    return tatp::totals(cluster, copy, tables_);
}

Totals Tatp::loaded()
{
    return tatp::loaded(parameters_);
}

} // namespace dtx::tatp
