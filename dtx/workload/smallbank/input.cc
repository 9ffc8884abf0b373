/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input.cc: draws the programs of SmallBank and their parameters.
 */
#include "workload/smallbank/input.h"

namespace dtx::smallbank
{

const std::vector<std::string> &program_names()
{
    static const std::vector<std::string> names = { "balance",          "deposit_checking",
                                                    "transact_savings", "amalgamate",
                                                    "write_check",      "send_payment" };

    return names;
}

Program Inputs::program()
{
    uint32_t percent = static_cast<uint32_t>(random_.below(100));

    if (!parameters_.send_payment)
        return static_cast<Program>(percent / 20);
    return percent >= 75 ? kSendPayment : static_cast<Program>(percent / 15);
}

uint32_t Inputs::customer()
{
    if (random_.below(100) < parameters_.hot_percent)
        return static_cast<uint32_t>(random_.below(parameters_.hot));
    return parameters_.hot +
           static_cast<uint32_t>(random_.below(parameters_.accounts - parameters_.hot));
}

Input Inputs::next()
{
    Input input{ program(), customer(), 0, 0 };

    if (input.program == kAmalgamate || input.program == kSendPayment) {
        input.other = customer();
        while (input.other == input.customer)
            input.other = customer();
    }
    switch (input.program) {
    case kDepositChecking:
        input.cents = kDeposit;
        break;
    case kTransactSavings:
        input.cents = random_.below(2) == 0 ? kSaving : -kSaving;
        break;
    case kWriteCheck:
        input.cents = kCheck;
        break;
    case kSendPayment:
        input.cents = kPayment;
        break;
    default:
        break;
    }
    return input;
}

} // namespace dtx::smallbank
