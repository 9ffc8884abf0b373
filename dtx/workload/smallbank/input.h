/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * input.h: SmallBank: draws the next program, its customers and the amount.
 *
 * The mix is that of FaSST, FORD and SMART: SendPayment 25 %, the five others 15 % each. Amounts
 * are those of H-Store. TransactSavings adds or withdraws 20.20 with equal probability: by the
 * original specification the amount is signed and the program must not let savings become negative,
 * a rule that deposits alone would never test.
 */
#ifndef DTX_WORKLOAD_SMALLBANK_INPUT_H
#define DTX_WORKLOAD_SMALLBANK_INPUT_H

#include "workload/random.h"
#include "workload/smallbank/schema.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dtx::smallbank
{

enum Program : uint32_t {
    kBalance,
    kDepositChecking,
    kTransactSavings,
    kAmalgamate,
    kWriteCheck,
    kSendPayment,
    kPrograms
};

const std::vector<std::string> &program_names();

inline constexpr int64_t kDeposit = 130;
inline constexpr int64_t kSaving = 2020;
inline constexpr int64_t kCheck = 500;
inline constexpr int64_t kPenalty = 100;
inline constexpr int64_t kPayment = 500;

struct Input {
    Program program;
    uint32_t customer;
    uint32_t other; /* another customer; of Amalgamate and SendPayment */
    int64_t cents;
};

class Inputs
{
  public:
    Inputs(const Parameters &parameters, uint64_t seed) : parameters_(parameters), random_(seed) {}
    Input next();

  private:
    Program program();
    uint32_t customer();

    Parameters parameters_;
    Random random_;
};

} // namespace dtx::smallbank
#endif
