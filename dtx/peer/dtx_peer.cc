/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtx_peer.cc: runs SmallBank on an embedded transactional store, for comparison with dtx-bench:
 * the same programs and customers, in the same file system in memory.
 */
#include "peer/bank.h"

#include "cli.h"
#include <dtx/error.h>

int main(int argc, char **argv)
{
    CLI::App app("Run SmallBank on an embedded store, for comparison with dtx-bench", "dtx-peer");
    dtx::peer::Options options;
    dtx::smallbank::Parameters &bank = options.parameters;

    app.add_option("store", options.store, "sqlite (write-ahead log, synchronous=FULL), or lmdb")
        ->check(CLI::IsMember({ "sqlite", "lmdb" }))
        ->required();
    app.add_option("-t,--threads", options.threads, "Threads (1)")->check(CLI::Range(1, 256));
    app.add_option("-s,--seconds", options.seconds, "Duration of the run (5)")
        ->check(CLI::Range(0.01, 1e6));
    app.add_option("--accounts", bank.accounts, "Customers (100000)");
    app.add_option("--hot", bank.hot, "Customers in the hot set (4000)");
    app.add_option("--hot-percent", bank.hot_percent,
                   "Per cent of the accesses that go to the hot set (90)");
    app.add_option("--seed", options.seed, "Seed of the run (1)")->check(CLI::NonNegativeNumber);
    app.add_flag("--json", options.json, "Print one line of JSON");
    return cli::run(app, argc, argv, [&] {
        try {
            return dtx::peer::run_bank(options);
        } catch (const dtx::Error &error) {
            throw cli::Failure(error.what());
        }
    });
}
