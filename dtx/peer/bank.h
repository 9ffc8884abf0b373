/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bank.h: SmallBank on an embedded store, for comparison with dtx.
 */
#ifndef DTX_PEER_BANK_H
#define DTX_PEER_BANK_H

#include "workload/smallbank/schema.h"

#include <cstdint>
#include <string>

namespace dtx::peer
{

struct Options {
    std::string store = "sqlite";
    uint32_t threads = 1;
    double seconds = 5;
    uint64_t seed = 1;
    bool json = false;
    smallbank::Parameters parameters;
};

/* Runs in a temporary folder in memory and prints its measurements. Throws Error and cli::Failure,
 * also if the sum of all accounts is wrong afterwards. */
int run_bank(const Options &options);

} // namespace dtx::peer
#endif
