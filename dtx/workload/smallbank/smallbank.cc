/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * smallbank.cc: terminals and checks of SmallBank.
 */
#include "workload/smallbank/smallbank.h"

#include "workload/smallbank/check.h"
#include "workload/smallbank/load.h"
#include "workload/smallbank/programs.h"

namespace dtx::smallbank
{

namespace
{

class Customer : public Terminal
{
  public:
    Customer(Session &session, Tally &tally, const Parameters &parameters, const Tables &tables,
             uint64_t seed)
        : session_(session), tally_(tally), inputs_(parameters, seed), programs_(tables)
    {
    }

    Task<Ended> next() override
    {
        Input input = inputs_.next();
        Change change{ 0, 0 };
        Outcome outcome =
            co_await session_.transact([&](Txn &txn) { return programs_.run(txn, input, change); });

        tally_.ledger.add(outcome.status, { static_cast<uint64_t>(change.money),
                                            static_cast<uint64_t>(change.savings) });
        co_return Ended{ input.program, outcome };
    }

  private:
    Session &session_;
    Tally &tally_;
    Inputs inputs_;
    Programs programs_;
};

} // namespace

const std::vector<std::string> &SmallBank::kinds() const
{
    return program_names();
}

void SmallBank::load(Session &session, const Share &share)
{
    smallbank::load(session, parameters_, tables_, share);
}

std::unique_ptr<Terminal> SmallBank::terminal(Session &session, Tally &tally,
                                              const TerminalPlace &place)
{
    return std::make_unique<Customer>(session, tally, parameters_, tables_, place.own_seed());
}

Findings SmallBank::examine(const Cluster &cluster, uint32_t copy)
{
    return smallbank::check(cluster, copy, parameters_, tables_);
}

Totals SmallBank::totals(const Cluster &cluster, uint32_t copy)
{
    return smallbank::totals(cluster, copy, tables_);
}

Totals SmallBank::loaded()
{
    uint64_t savings = 0;
    uint64_t checking = 0;

    for (uint32_t i = 0; i < parameters_.accounts; i++) {
        savings += static_cast<uint64_t>(opening_savings(parameters_, i).cents);
        checking += static_cast<uint64_t>(opening_checking(parameters_, i).cents);
    }
    return { savings + checking, savings };
}

} // namespace dtx::smallbank
