/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * programs.cc: the programs, as their papers define them.
 */
#include "workload/smallbank/programs.h"

namespace dtx::smallbank
{

Task<bool> Programs::run(Txn &txn, const Input &input, Change &change)
{
    change = Change{ 0, 0 };
    switch (input.program) {
    case kBalance:
        return balance(txn, input.customer, balance_);
    case kDepositChecking:
        return deposit_checking(txn, input, change);
    case kTransactSavings:
        return transact_savings(txn, input, change);
    case kAmalgamate:
        return amalgamate(txn, input, change);
    case kWriteCheck:
        return write_check(txn, input, change);
    default:
        return send_payment(txn, input, change);
    }
}

Task<bool> Programs::balance(Txn &txn, uint32_t customer, int64_t &cents)
{
    co_await txn.prefetch(tables_.savings.at(customer), tables_.checking.at(customer));

    auto savings = co_await txn.read(tables_.savings, customer);
    auto checking = co_await txn.read(tables_.checking, customer);

    cents = need(savings, "a savings account is missing").cents;
    cents += need(checking, "a checking account is missing").cents;
    co_return true;
}

Task<bool> Programs::deposit_checking(Txn &txn, const Input &input, Change &change)
{
    if (input.cents < 0)
        co_return false;
    auto found = co_await txn.read(tables_.checking, input.customer);
    Account checking = need(found, "a checking account is missing");

    checking.cents += input.cents;
    change.money = input.cents;
    co_return co_await txn.write(tables_.checking, input.customer, checking);
}

Task<bool> Programs::transact_savings(Txn &txn, const Input &input, Change &change)
{
    auto found = co_await txn.read(tables_.savings, input.customer);
    Account savings = need(found, "a savings account is missing");

    savings.cents += input.cents;
    if (savings.cents < 0)
        co_return false;
    change.money = input.cents;
    change.savings = input.cents;
    co_return co_await txn.write(tables_.savings, input.customer, savings);
}

Task<bool> Programs::amalgamate(Txn &txn, const Input &input, Change &change)
{
    co_await txn.prefetch(tables_.savings.at(input.customer), tables_.checking.at(input.customer),
                          tables_.checking.at(input.other));

    auto savings = co_await txn.read(tables_.savings, input.customer);
    auto checking = co_await txn.read(tables_.checking, input.customer);
    auto found = co_await txn.read(tables_.checking, input.other);
    Account other = need(found, "a checking account is missing");
    const Account none{ 0 };

    change.savings = -need(savings, "a savings account is missing").cents;
    other.cents += savings->cents + need(checking, "a checking account is missing").cents;
    co_await txn.write(tables_.savings, input.customer, none);
    co_await txn.write(tables_.checking, input.customer, none);
    co_return co_await txn.write(tables_.checking, input.other, other);
}

Task<bool> Programs::write_check(Txn &txn, const Input &input, Change &change)
{
    co_await txn.prefetch(tables_.savings.at(input.customer), tables_.checking.at(input.customer));

    auto savings = co_await txn.read(tables_.savings, input.customer);
    auto found = co_await txn.read(tables_.checking, input.customer);
    Account checking = need(found, "a checking account is missing");
    int64_t total = need(savings, "a savings account is missing").cents + checking.cents;
    int64_t taken = total < input.cents ? input.cents + kPenalty : input.cents;

    checking.cents -= taken;
    change.money = -taken;
    co_return co_await txn.write(tables_.checking, input.customer, checking);
}

Task<bool> Programs::send_payment(Txn &txn, const Input &input, Change &)
{
    co_await txn.prefetch(tables_.checking.at(input.customer), tables_.checking.at(input.other));

    auto from = co_await txn.read(tables_.checking, input.customer);
    auto to = co_await txn.read(tables_.checking, input.other);
    Account payer = need(from, "a checking account is missing");
    Account payee = need(to, "a checking account is missing");

    if (payer.cents < input.cents)
        co_return false;
    payer.cents -= input.cents;
    payee.cents += input.cents;
    co_await txn.write(tables_.checking, input.customer, payer);
    co_return co_await txn.write(tables_.checking, input.other, payee);
}

} // namespace dtx::smallbank
