/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transactions.h: the seven transactions of TATP. They return true to commit, whether rows
 * were found or not. They return false to abort: an insert lacks its parent row or its key exists
 * already, which the benchmark counts separately.
 *
 * UPDATE_SUBSCRIBER_DATA has two statements, and the second may find no row. In the reference SQL
 * that is no error and the first one's change is committed; FORD and SMART abort. The default
 * is the reference; Parameters::abort_rule selects the other rule.
 */
#ifndef DTX_WORKLOAD_TATP_TRANSACTIONS_H
#define DTX_WORKLOAD_TATP_TRANSACTIONS_H

#include "workload/tatp/input.h"
#include "workload/workload.h"
#include <dtx/txn.h>

namespace dtx::tatp
{

/* Changes of totals by one transaction, for the ledger; each attempt sets them anew. */
struct Change {
    int64_t forwarding = 0; /* rows of call forwarding */
    int64_t locations = 0;  /* sum of vlr_location */
    int64_t bits = 0;       /* sum of bit_1 */
    int64_t data_a = 0;     /* sum of data_a of special facilities */
    uint64_t found = 0;     /* rows that a query found; not for the ledger */
};

class Transactions
{
  public:
    Transactions(const Parameters &parameters, const Tables &tables)
        : parameters_(parameters), tables_(tables)
    {
    }
    Task<bool> run(Txn &txn, const Input &input, Change &change);

  private:
    Task<bool> get_subscriber_data(Txn &txn, const Input &input, Change &change);
    Task<bool> get_new_destination(Txn &txn, const Input &input, Change &change);
    Task<bool> get_access_data(Txn &txn, const Input &input, Change &change);
    Task<bool> update_subscriber_data(Txn &txn, const Input &input, Change &change);
    Task<bool> update_location(Txn &txn, const Input &input, Change &change);
    Task<bool> insert_call_forwarding(Txn &txn, const Input &input, Change &change);
    Task<bool> delete_call_forwarding(Txn &txn, const Input &input, Change &change);
    /* The subscriber with these 15 digits as number. */
    Task<uint32_t> subscriber_by_digits(Txn &txn, const Input &input);

    const Parameters &parameters_;
    const Tables &tables_;
};

} // namespace dtx::tatp
#endif
