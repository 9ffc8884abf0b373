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

/* The counts of a run so far. */
struct Sample {
    double seconds = 0;
    KindCounts counts; /* of all kinds */
};

struct RunOptions {
    uint32_t threads = 1;
    uint32_t coroutines = 8;
    double seconds = 0;        /* how long, */
    uint64_t transactions = 0; /* or how many in all; with both, the first limit reached ends it */
    double interval = 1;       /* between samples, in seconds */
    uint32_t coordinator = 0;  /* of the first thread */
    uint64_t seed = 1;
    std::function<Listener *(uint32_t thread)> listener; /* of a thread's session */
    std::function<void(const Sample &)> on_sample; /* called by the thread that called run() */
    Receipts *receipts = nullptr;                  /* of workloads that give any */
    const std::atomic<bool> *stop = nullptr;       /* set: the run ends early */
};

struct RunResult {
    explicit RunResult(size_t kinds);

    Tally tally;
    rpm_hist latency; /* ns from the first attempt to the end, also of those given up */
    Counters counters;
    double seconds = 0;
    std::vector<Sample> samples;
    std::string full; /* if not empty, the run ended before its time: a table has no room left */
};

/* Join as @coordinator. A server learns a moment late that a session has ended: if another session
 * still owns the coordinator, try again for some seconds. Throws Error. */
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
