/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run.h: runs a workload: a session for each thread, a terminal for each of its coroutines.
 *
 * Tests: tests/unit/dtx/workload/run_test.cpp
 */
#ifndef DTX_WORKLOAD_RUN_H
#define DTX_WORKLOAD_RUN_H

#include "workload/workload.h"

#include <atomic>
#include <functional>
#include <librpm.h>
#include <string>
#include <vector>

namespace dtx
{

/* The counts of a run up to a time. */
struct Sample {
    double seconds = 0;
    KindCounts counts; /* all kinds together */
};

struct RunOptions {
    uint32_t threads = 1;
    uint32_t coroutines = 8;
    double seconds = 0;        /* duration; 0: no limit */
    uint64_t transactions = 0; /* of all threads; 0: no limit. The first limit reached ends it */
    double interval = 1;       /* seconds between samples */
    uint32_t coordinator = 0;  /* number of the first thread's session */
    uint64_t seed = 1;
    std::function<Listener *(uint32_t thread)> listener; /* of a thread's session */
    std::function<void(const Sample &)> on_sample; /* called by the thread that called run() */
    Receipts *receipts = nullptr;            /* for workloads that write receipts; may be null */
    const std::atomic<bool> *stop = nullptr; /* set to end the run early; may be null */
};

struct RunResult {
    explicit RunResult(size_t kinds);

    Tally tally;
    rpm_hist latency; /* ns from the first attempt to the outcome, also of aborted transactions */
    Counters counters;
    double seconds = 0;
    std::vector<Sample> samples;
    std::string full; /* not empty: the run ended early, as this table is full */
};

/* Joins as @coordinator. A server may notice late that an earlier session has ended, so if a
 * session still owns the coordinator, this retries for some seconds. Throws Error. */
std::unique_ptr<Session> join(const Cluster &cluster, uint32_t coordinator,
                              Listener *listener = nullptr);

/* Load a database that has been created. @stop: set to end the load early; may be null.
 * @on_progress: called by the calling thread about ten times a second, with the part that is
 * loaded, 0 to 1. Throws Error. */
void load(Workload &workload, const Cluster &cluster, uint32_t threads,
          const std::atomic<bool> *stop = nullptr,
          const std::function<void(double part)> &on_progress = {});

/* Run transactions on a loaded database. A full table ends the run, and its result says so. Throws
 * Error for any other failure; transactions committed until then stay committed. */
RunResult run(Workload &workload, const Cluster &cluster, const RunOptions &options);

} // namespace dtx
#endif
