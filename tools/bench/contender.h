/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * contender.h: the interface of a library under comparison, which appends records in short bursts.
 */
#ifndef RPM_TOOLS_BENCH_CONTENDER_H
#define RPM_TOOLS_BENCH_CONTENDER_H

#include "bench/bench.h"

#include <memory>

namespace bench
{

struct Shape {
    uint64_t bytes;
    uint32_t depth; /* records that share one flush */
};

class Contender
{
  public:
    virtual ~Contender() = default;
    /* @n records, a multiple of the depth. */
    virtual void append(uint64_t n) = 0;
    /* Not timed: make room for burst_max() records and prepare for them. */
    virtual void reset() {}
    /* Not timed: stop using CPUs while other contenders are timed. */
    virtual void pause() {}
    /* Records that fit between two resets. */
    virtual uint64_t burst_max() const = 0;
};

/* The target of asynchronous appends: their time as a multiple of the time of batches with the same
 * number of records. */
constexpr double kAsyncTarget = 1.2;

using ContenderPtr = std::unique_ptr<Contender>;

/* Options for librpm; the defaults are those of the library. */
struct ClientOptions {
    uint32_t method = 0; /* enum rpm_method */
    uint32_t pace = 0;   /* enum rpm_pace */
    uint32_t level = 0;  /* enum rpm_level */
    const char *hints = "all";
};

/* A log of librpm over @url, created there with its own name. */
ContenderPtr make_ours(const std::string &url, const std::string &name, Shape shape,
                       uint64_t capacity, const ClientOptions &options = {});
/* The same with asynchronous appends, with as many outstanding as the depth says, which share
 * flushes by group commit.
 */
ContenderPtr make_ours_async(const std::string &url, const std::string &name, Shape shape,
                             uint64_t capacity, const ClientOptions &options = {});
/* @connections of these, each with its own thread and connection; the depth is that of each.
 */
ContenderPtr make_parallel(const std::string &url, Shape shape, uint64_t capacity,
                           uint32_t connections, const ClientOptions &options = {});
/* The limit: a hand-written loop; nullptr if there is none for this CPU. */
ContenderPtr make_limit(const MemoryDir &dir, Shape shape, uint64_t capacity);
/* The hand-written ring to a thread on @cpu. */
ContenderPtr make_bare_ring(const MemoryDir &dir, Shape shape, uint64_t capacity, int cpu);
/* libpmemlog; nullptr if it is not installed. */
ContenderPtr make_pmemlog(const MemoryDir &dir, Shape shape, uint64_t capacity);

/* Nanoseconds per record of @n records, after a few that are not timed. */
double burst(Contender &contender, uint64_t n, uint32_t depth);

/* The number of records that take about a millisecond. */
uint64_t burst_records(Contender &contender, uint32_t depth);

} // namespace bench
#endif
