/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options.h: the options of dtx-bench.
 */
#ifndef DTX_BENCH_OPTIONS_H
#define DTX_BENCH_OPTIONS_H

#include "bench/sim.h"
#include "workload/smallbank/schema.h"
#include "workload/tatp/schema.h"
#include "workload/tpcc/schema.h"
#include "workload/workload.h"
#include "workload/ycsb/schema.h"
#include <dtx/cluster.h>

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace CLI
{
class App;
}

namespace dtx::bench
{

struct Options {
    std::string workload;
    std::vector<std::string> urls; /* empty: start local servers */
    uint32_t servers = 3;          /* local ones to start */
    std::string link = "direct";   /* to local servers: direct, ring, unix, tcp */
    std::string domain = "adr";    /* persistence domain that local servers declare */
    uint32_t threads = 2;
    uint32_t coroutines = 8;
    double seconds = 10;
    uint64_t transactions = 0;
    double interval = 1;
    uint32_t replicas = 2;
    std::string phases = "fewest";
    bool durable = true;
    uint32_t coordinators = 64;
    uint64_t log_bytes = 8ull << 20;
    std::string techniques = "all";
    std::string hints = "all";
    uint64_t seed = 1;
    uint64_t load_seed = 1;
    bool load = false;
    bool keep = false;
    bool check = true;
    bool alone = true;        /* no other process uses the database */
    uint32_t coordinator = 0; /* number of the first thread's session */
    uint64_t lease_us = 0;    /* 0: the engine's default */
    uint32_t canary = 0;
    uint32_t interleave = 0;
    std::string history;
    bool unbuffered = false; /* write each line of the history at once */
    std::string receipts;
    std::string trace;
    std::string json;
    std::string csv;
    std::string prefix = "dtx";
    bool quiet = false; /* no report: the run is for its trace */

    smallbank::Parameters smallbank;
    tpcc::Parameters tpcc;
    tatp::Parameters tatp;
    ycsb::Parameters ycsb;
    bool warehouses_given = false;

    bool own_servers() const
    {
        return urls.empty();
    }
    uint32_t shards() const
    {
        return own_servers() ? servers : static_cast<uint32_t>(urls.size());
    }
};

/* All options of the program; filled in when the app parses. */
void add_options(CLI::App &app, Options &options);

/* Checks options that depend on each other and sets the defaults that follow from others. Returns
 * the run on the performance model if the URL is sim:, else null. Throws CLI::ParseError or
 * Error. */
std::unique_ptr<Sim> settle(Options &options);

/* Before anything runs: throws Error if an output file cannot be written. */
void expect_places(const Options &options);

std::unique_ptr<Workload> make_workload(const Options &options);

/* Name and value of each parameter of the workload, for reports. */
using Parameter = std::variant<uint64_t, double, std::string>;
std::vector<std::pair<std::string, Parameter>> parameters_of(const Options &options);

dtx::Options cluster_options(const Options &options, const std::vector<std::string> &urls);

} // namespace dtx::bench
#endif
