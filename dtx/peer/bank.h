/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bank.h: SmallBank on another embedded store.
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

/* In a folder of its own in memory, which goes with it; prints what it measured. Throws Error and
 * cli::Failure, also if the money does not add up afterwards. */
int run_bank(const Options &options);

} // namespace dtx::peer
#endif
