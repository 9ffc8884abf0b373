/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zipf.h: the Zipf distribution: rank r is drawn in proportion to 1 / (r + 1)^theta.
 *
 * The method is that of Gray et al., "Quickly generating billion-record synthetic databases"
 * (SIGMOD 1994), as YCSB has it: exact for the two most popular ranks, an approximation by an
 * integral for the others. Constants that depend on the number of ranks are computed once: the sum
 * of the first thousand terms, and the rest by the formula of Euler and Maclaurin.
 *
 * Tests: tests/unit/dtx/workload/ycsb_test.cpp
 */
#ifndef DTX_WORKLOAD_YCSB_ZIPF_H
#define DTX_WORKLOAD_YCSB_ZIPF_H

#include "workload/random.h"

#include <cstdint>

namespace dtx::ycsb
{

/* 1 / 1^theta + ... + 1 / many^theta, to 12 digits; 0 <= theta < 1. */
double zeta(uint64_t many, double theta);

class Zipf
{
  public:
    /* Ranks 0 to @many - 1; @many is at least 2, 0 <= @theta < 1. */
    Zipf(uint64_t many, double theta);

    uint64_t draw(Random &random) const;

  private:
    uint64_t many_;
    double theta_;
    double zeta_;
    double alpha_;
    double eta_;
};

/* A bijection of ranks to records that maps neighbours far apart, so that the popular records are
 * neither adjacent nor all on one server. */
class Spread
{
  public:
    explicit Spread(uint64_t many);

    uint64_t place(uint64_t rank) const
    {
        return static_cast<uint64_t>(static_cast<unsigned __int128>(rank) * step_ % many_);
    }

  private:
    uint64_t many_;
    uint64_t step_; /* has no factor in common with many_ */
};

} // namespace dtx::ycsb
#endif
