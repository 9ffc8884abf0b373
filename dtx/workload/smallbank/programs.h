/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * programs.h: the six programs of SmallBank (Alomari and others, ICDE 2008; SendPayment is
 * H-Store's). False: the rules of the bank do not allow it, and nothing is to be done.
 */
#ifndef DTX_WORKLOAD_SMALLBANK_PROGRAMS_H
#define DTX_WORKLOAD_SMALLBANK_PROGRAMS_H

#include "workload/smallbank/input.h"
#include "workload/workload.h"
#include <dtx/txn.h>

namespace dtx::smallbank
{

/* What a program did, for the ledger; set anew by each attempt. */
struct Change {
    int64_t money;   /* all accounts, by the amounts that are given and counted */
    int64_t savings; /* all savings, by what was read */
};

class Programs
{
  public:
    explicit Programs(const Tables &tables) : tables_(tables) {}
    Task<bool> run(Txn &txn, const Input &input, Change &change);

    /* What customer @customer has, in @cents. */
    Task<bool> balance(Txn &txn, uint32_t customer, int64_t &cents);
    Task<bool> deposit_checking(Txn &txn, const Input &input, Change &change);
    Task<bool> transact_savings(Txn &txn, const Input &input, Change &change);
    /* All that the customer has into the checking account of the other. */
    Task<bool> amalgamate(Txn &txn, const Input &input, Change &change);
    Task<bool> write_check(Txn &txn, const Input &input, Change &change);
    Task<bool> send_payment(Txn &txn, const Input &input, Change &change);

  private:
    const Tables &tables_;
    int64_t balance_ = 0;
};

} // namespace dtx::smallbank
#endif
