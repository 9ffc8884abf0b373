/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cycles.h: the strongly connected components of a graph, and in each a short cycle as proof that
 * no serial order exists.
 *
 * Tests: tests/unit/dtx/history/cycles_test.cpp
 */
#ifndef DTX_HISTORY_CYCLES_H
#define DTX_HISTORY_CYCLES_H

#include "history/graph.h"

#include <cstdint>
#include <vector>

namespace dtx::history
{

/* Strongly connected components of more than one node, over the edges that @mask allows. Tarjan's
 * algorithm with an explicit stack: recursion would overflow that of a thread. */
std::vector<std::vector<uint32_t>> components(const Graph &graph, unsigned mask);

/* A cycle: each hop's transaction, and the kinds of edge that may lead to the next hop. */
struct Hop {
    uint32_t txn;
    unsigned mask;
};

/* Finds cycles in one graph. */
class CycleFinder
{
  public:
    explicit CycleFinder(const Graph &graph);

    /* The shortest cycle, counted in transactions, of the simplest class in @component: ww alone;
     * with wr; with one rw; with more. @mask may allow rt edges too. In a large component not every
     * start is tried, and the result is the shortest cycle of those tried. */
    std::vector<Hop> find(const std::vector<uint32_t> &component, unsigned mask);

  private:
    struct Seen {
        uint32_t round = 0;
        uint32_t parent = 0;
    };

    std::vector<Hop> shortest(const std::vector<uint32_t> &component, unsigned first,
                              unsigned rest);
    bool search(uint32_t start, unsigned first, unsigned rest, uint32_t below);
    bool reach(uint32_t start, uint32_t node, unsigned mask);
    std::vector<Hop> path(uint32_t start, unsigned first, unsigned rest) const;

    const Graph &graph_;
    std::vector<Seen> seen_;
    std::vector<uint32_t> member_; /* of each node: the last component_ that it was in */
    uint32_t component_ = 0;
    uint32_t round_ = 0;
    uint64_t spent_ = 0;         /* edges visited */
    std::vector<uint32_t> now_;  /* nodes reached by the current number of hops */
    std::vector<uint32_t> next_; /* nodes reached by one hop more */
};

} // namespace dtx::history
#endif
