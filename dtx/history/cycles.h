/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cycles.h: parts of a graph in which everything comes before everything, and in each a cycle that
 * shows it.
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

/* Strongly connected components of more than one node, over the edges that @mask allows. Tarjan,
 * with a stack of its own: histories are deeper than a thread's. */
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

    /* The shortest cycle inside @component, counted in transactions, of the simplest class that it
     * has: ww alone; with wr; with one rw; with more. @mask adds rt or not. In a component too
     * large to try every start the shortest of those tried. */
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
    std::vector<uint32_t> member_; /* number of the component that find() looks at */
    uint32_t component_ = 0;
    uint32_t round_ = 0;
    uint64_t spent_ = 0;         /* edges visited */
    std::vector<uint32_t> now_;  /* nodes at the present number of hops */
    std::vector<uint32_t> next_; /* and at one more */
};

} // namespace dtx::history
#endif
