/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace.h: which remote objects attempts access, for dtx-model. model/trace.h describes the file.
 */
#ifndef DTX_BENCH_TRACE_H
#define DTX_BENCH_TRACE_H

#include "workload/run.h"
#include <dtx/session.h>

#include <cstdio>
#include <string>
#include <unordered_map>
#include <vector>

namespace dtx::bench
{

struct Options;

/* Traces a run of one thread with one coroutine, in which transactions do not conflict. */
class Tracer : public Listener
{
  public:
    /* Throws Error. */
    Tracer(const Options &options, const Cluster &cluster);
    ~Tracer() override;
    Tracer(const Tracer &) = delete;
    Tracer &operator=(const Tracer &) = delete;

    void ended(const Attempt &attempt) override;
    /* The run is over. Throws Error: the file could not be written, or there were conflicts. */
    void close(const RunResult &result);

  private:
    void put(const std::string &line);
    std::string line_of(const Attempt &attempt);

    const Cluster &cluster_;
    std::string path_;
    std::vector<uint32_t> log_servers_;
    FILE *file_;
    uint64_t attempts_ = 0;
    std::vector<Access *> writes_;
    std::unordered_map<uint64_t, uint64_t> numbers_; /* number of each object, by its address */
    std::vector<std::string> held_; /* lines that wait for a later transaction, see ended() */
};

} // namespace dtx::bench
#endif
