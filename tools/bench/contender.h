/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * contender.h: a library that appends records, compared with another in short bursts.
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
    /* Not timed: make room for burst_max() records and whatever else they need. */
    virtual void reset() {}
    /* Not timed: others are about to be timed. */
    virtual void rest() {}
    /* Records that fit between two resets. */
    virtual uint64_t burst_max() const = 0;
};

/* What appends that share flushes as they come may take, as a multiple of the time of as many that
 * were given to share one. */
constexpr double kAsyncTarget = 1.2;

using ContenderPtr = std::unique_ptr<Contender>;

/* What is asked of ours; none of it: what a program gets that asks for nothing. */
struct Asked {
    uint32_t method = 0; /* enum rpm_method */
    uint32_t pace = 0;   /* enum rpm_pace */
    uint32_t level = 0;  /* enum rpm_level */
    const char *hints = "all";
};

/* Our log over @url, created there under a name of its own. */
ContenderPtr make_ours(const std::string &url, const std::string &name, Shape shape,
                       uint64_t capacity, const Asked &asked = {});
/* The same, record by record, as many under way as the depth says: they share flushes as they come.
 */
ContenderPtr make_ours_async(const std::string &url, const std::string &name, Shape shape,
                             uint64_t capacity, const Asked &asked = {});
/* So many of the latter, each in a thread and over a connection of its own; the depth is of each.
 */
ContenderPtr make_crowd(const std::string &url, Shape shape, uint64_t capacity,
                        uint32_t connections, const Asked &asked = {});
/* The hand-written loop; nullptr if this CPU has none. */
ContenderPtr make_limit(const MemoryDir &dir, Shape shape, uint64_t capacity);
/* The hand-written ring to a thread that runs on @cpu. */
ContenderPtr make_bare_ring(const MemoryDir &dir, Shape shape, uint64_t capacity, int cpu);
/* libpmemlog, if there is one. */
ContenderPtr make_pmemlog(const MemoryDir &dir, Shape shape, uint64_t capacity);

/* Nanoseconds per record of @n records, behind a few that are not timed. */
double burst(Contender &contender, uint64_t n, uint32_t depth);

/* Records that take about a millisecond. */
uint64_t burst_records(Contender &contender, uint32_t depth);

} // namespace bench
#endif
