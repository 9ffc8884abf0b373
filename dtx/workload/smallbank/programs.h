/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * programs.h: the six programs of SmallBank (Alomari and others, ICDE 2008; SendPayment is
 * H-Store's). They return false if the rules of the bank forbid it: then the transaction aborts.
 */
#ifndef DTX_WORKLOAD_SMALLBANK_PROGRAMS_H
#define DTX_WORKLOAD_SMALLBANK_PROGRAMS_H

#include "workload/smallbank/input.h"
#include "workload/workload.h"
#include <dtx/txn.h>

namespace dtx::smallbank
{

/* Changes of totals by one program, for the ledger; each attempt sets them anew. */
struct Change {
    int64_t money;   /* of the sum of all balances, from the amounts of the input */
    int64_t savings; /* of the sum of all savings, from the balances read */
};

class Programs
{
  public:
    explicit Programs(const Tables &tables) : tables_(tables) {}
    Task<bool> run(Txn &txn, const Input &input, Change &change);

    /* Sets @cents to the sum of the customer's two balances. */
    Task<bool> balance(Txn &txn, uint32_t customer, int64_t &cents);
    Task<bool> deposit_checking(Txn &txn, const Input &input, Change &change);
    Task<bool> transact_savings(Txn &txn, const Input &input, Change &change);
    /* Moves both balances of the customer to the checking account of the other one. */
    Task<bool> amalgamate(Txn &txn, const Input &input, Change &change);
    Task<bool> write_check(Txn &txn, const Input &input, Change &change);
    Task<bool> send_payment(Txn &txn, const Input &input, Change &change);

  private:
    const Tables &tables_;
    int64_t balance_ = 0;
};

} // namespace dtx::smallbank
#endif
