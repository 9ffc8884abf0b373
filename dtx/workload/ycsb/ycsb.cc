/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ycsb.cc: terminals of YCSB.
 */
#include "workload/ycsb/ycsb.h"

#include "workload/ycsb/check.h"
#include "workload/ycsb/load.h"
#include "workload/ycsb/operations.h"

namespace dtx::ycsb
{

namespace
{

/* Numbers of the records that one terminal inserts. An earlier run may have inserted some of them,
 * so the steps to the next number double while records exist already. */
class FreshRecords
{
  public:
    FreshRecords(uint64_t keys, const TerminalPlace &place)
        : next_(keys + ((uint64_t{ place.thread } << 12 | place.coroutine) << 40))
    {
    }
    uint64_t next() const
    {
        return next_;
    }
    void tried(bool taken)
    {
        step_ = taken ? 2 * step_ : 1;
        next_ += step_;
    }

  private:
    uint64_t next_;
    uint64_t step_ = 1;
};

class Client : public Terminal
{
  public:
    Client(Session &session, Tally &tally, const Tables &tables, Inputs inputs, Latest &latest,
           FreshRecords fresh)
        : session_(session), tally_(tally), inputs_(std::move(inputs)), operations_(tables),
          latest_(latest), fresh_(fresh)
    {
    }

    Task<Ended> next() override
    {
        Input input = inputs_.next();

        if (input.kind == kInsert)
            input.record = fresh_.next();

        Outcome outcome = co_await session_.transact([&](Txn &txn) { return operate(txn, input); });

        count(input, outcome.status);
        co_return Ended{ input.kind, outcome };
    }

  private:
    Task<bool> operate(Txn &txn, const Input &input)
    {
        switch (input.kind) {
        case kUpdate:
        case kReadModifyWrite:
            return operations_.update(txn, input.record);
        case kInsert:
            return operations_.insert(txn, input.record);
        case kScan:
            return operations_.scan(txn, input.record, input.length);
        default:
            return operations_.read(txn, input.record);
        }
    }

    void count(const Input &input, Status status)
    {
        uint64_t key = key_of(input.record);

        if (input.kind == kUpdate || input.kind == kReadModifyWrite)
            tally_.ledger.add(status, change_of_update(key));
        if (input.kind != kInsert)
            return;
        tally_.ledger.add(status, change_of_insert(key));
        fresh_.tried(status == Status::aborted);
        if (status == Status::committed)
            latest_.inserted(input.record);
    }

    Session &session_;
    Tally &tally_;
    Inputs inputs_;
    Operations operations_;
    Latest &latest_;
    FreshRecords fresh_;
};

} // namespace

Ycsb::Ycsb(const Parameters &parameters)
    : WorkloadOn(parameters), zipf_(parameters.keys, parameters.theta / 1e4),
      latest_(parameters.keys)
{
}

const std::vector<std::string> &Ycsb::kinds() const
{
    return kind_names();
}

void Ycsb::load(Session &session, const Share &share)
{
    ycsb::load(session, parameters_, tables_, share);
}

std::unique_ptr<Terminal> Ycsb::terminal(Session &session, Tally &tally, const TerminalPlace &place)
{
    return std::make_unique<Client>(session, tally, tables_,
                                    Inputs(parameters_, zipf_, latest_, place.own_seed()), latest_,
                                    FreshRecords(parameters_.keys, place));
}

Findings Ycsb::examine(const Cluster &cluster, uint32_t copy)
{
    return ycsb::check(cluster, copy, parameters_, tables_);
}

Totals Ycsb::totals(const Cluster &cluster, uint32_t copy)
{
    return ycsb::totals(cluster, copy, tables_);
}

Totals Ycsb::loaded()
{
    return ycsb::loaded(parameters_);
}

} // namespace dtx::ycsb
