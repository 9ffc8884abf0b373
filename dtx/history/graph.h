/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * graph.h: the direct serialisation graph (Adya): an edge from A to B says that A comes before B in
 * every serial order that explains the history.
 *
 *   ww  A made a version, B the next
 *   wr  A made a version, B read it
 *   rw  A read a version, B made the next
 *   rt  A had ended when B began (strict only)
 *
 * An rt edge for each pair of transactions would be quadratic. Extra nodes, points in time, replace
 * them: an edge leads from A to the next point after its end, from each point to the next, and from
 * the last point before its begin to B. So the number of edges is linear in the history.
 *
 * Tests: tests/unit/dtx/history/graph_test.cpp
 */
#ifndef DTX_HISTORY_GRAPH_H
#define DTX_HISTORY_GRAPH_H

#include "history/history.h"
#include "history/versions.h"

#include <array>
#include <span>
#include <vector>

namespace dtx::history
{

enum class Dep : uint8_t { kWw, kWr, kRw, kRt };

inline constexpr unsigned kDeps = 4;
inline constexpr unsigned kAllDeps = 15; /* as a mask: 1 << Dep */

inline constexpr unsigned mask_of(Dep dep)
{
    return 1u << static_cast<unsigned>(dep);
}

struct Edge {
    uint32_t packed;

    uint32_t to() const
    {
        return packed >> 2;
    }

    Dep dep() const
    {
        return static_cast<Dep>(packed & 3);
    }
};

class Graph
{
  public:
    Graph(const History &history, const Versions &versions, bool strict);

    std::span<const Edge> from(uint32_t node) const
    {
        return std::span(edges_).subspan(start_[node], start_[node + 1] - start_[node]);
    }

    uint32_t nodes() const
    {
        return static_cast<uint32_t>(start_.size() - 1);
    }

    bool is_point(uint32_t node) const
    {
        return node >= txns_;
    }

    uint64_t edges(Dep dep) const
    {
        return counts_[static_cast<size_t>(dep)];
    }

  private:
    /* The begin or the end of a transaction. */
    struct Moment {
        uint64_t at_ns;
        uint32_t txn;
    };
    struct Link {
        uint32_t from;
        uint32_t to;
    };

    void link_times(const History &history, const Versions &versions);
    template <typename Take>
    void each(const History &history, const Versions &versions, Take take) const;

    uint32_t txns_;
    uint32_t points_ = 0;
    std::vector<Link> times_; /* rt edges */
    std::vector<uint64_t> start_;
    std::vector<Edge> edges_;
    std::array<uint64_t, kDeps> counts_ = {};
};

} // namespace dtx::history
#endif
