/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cycles.cc: Tarjan's algorithm for components, and breadth-first search inside a component.
 */
#include "history/cycles.h"

#include <algorithm>
#include <utility>

namespace dtx::history
{

namespace
{

/* Limit of edges visited for one class in one component: about a second. It suffices to try every
 * start in a component of some thousand transactions. */
constexpr uint64_t kBudget = 50'000'000;

constexpr unsigned kWw = mask_of(Dep::kWw);
constexpr unsigned kWr = mask_of(Dep::kWr);
constexpr unsigned kRw = mask_of(Dep::kRw);
constexpr unsigned kRt = mask_of(Dep::kRt);

class Tarjan
{
  public:
    Tarjan(const Graph &graph, unsigned mask)
        : graph_(graph), mask_(mask), order_(graph.nodes()), low_(graph.nodes())
    {
    }

    std::vector<std::vector<uint32_t>> run()
    {
        for (uint32_t node = 0; node < graph_.nodes(); node++)
            if (order_[node] == 0)
                walk(node);
        return std::move(found_);
    }

  private:
    struct Frame {
        uint32_t node;
        uint32_t edge; /* next edge to follow */
    };

    void enter(uint32_t node)
    {
        order_[node] = low_[node] = ++count_;
        open_.push_back(node);
        frames_.push_back({ node, 0 });
    }

    void walk(uint32_t root)
    {
        enter(root);
        while (!frames_.empty()) {
            Frame &frame = frames_.back();
            std::span<const Edge> edges = graph_.from(frame.node);

            if (frame.edge == edges.size()) {
                leave(frame.node);
                continue;
            }
            Edge edge = edges[frame.edge++];
            if ((mask_of(edge.dep()) & mask_) == 0)
                continue;
            if (order_[edge.to()] == 0)
                enter(edge.to());
            else /* a node whose component is complete has a low of kNone */
                low_[frame.node] = std::min(low_[frame.node], low_[edge.to()]);
        }
    }

    void leave(uint32_t node)
    {
        frames_.pop_back();
        if (!frames_.empty()) {
            uint32_t parent = frames_.back().node;
            low_[parent] = std::min(low_[parent], low_[node]);
        }
        if (low_[node] != order_[node])
            return;
        auto first = open_.end();
        do
            low_[*--first] = kNone;
        while (*first != node);
        if (open_.end() - first > 1)
            found_.emplace_back(first, open_.end());
        open_.erase(first, open_.end());
    }

    const Graph &graph_;
    unsigned mask_;
    uint32_t count_ = 0;
    std::vector<uint32_t> order_;
    std::vector<uint32_t> low_;
    std::vector<uint32_t> open_;
    std::vector<Frame> frames_;
    std::vector<std::vector<uint32_t>> found_;
};

} // namespace

std::vector<std::vector<uint32_t>> components(const Graph &graph, unsigned mask)
{
    return Tarjan(graph, mask).run();
}

CycleFinder::CycleFinder(const Graph &graph)
    : graph_(graph), seen_(graph.nodes()), member_(graph.nodes())
{
}

std::vector<Hop> CycleFinder::find(const std::vector<uint32_t> &component, unsigned mask)
{
    unsigned rt = mask & kRt;
    const std::pair<unsigned, unsigned> classes[] = {
        { kWw | rt, kWw | rt },
        { kWw | kWr | rt, kWw | kWr | rt },
        { kRw, kWw | kWr | rt },
        { mask, mask },
    };

    component_++;
    for (uint32_t node : component)
        member_[node] = component_;
    for (auto [first, rest] : classes) {
        std::vector<Hop> cycle = shortest(component, first, rest);
        if (!cycle.empty())
            return cycle;
    }
    return {};
}

std::vector<Hop> CycleFinder::shortest(const std::vector<uint32_t> &component, unsigned first,
                                       unsigned rest)
{
    std::vector<Hop> best;

    spent_ = 0;
    for (uint32_t node : component) {
        uint32_t below = best.empty() ? kNone : static_cast<uint32_t>(best.size());

        if (graph_.is_point(node) || below == 2)
            continue;
        if (search(node, first, rest, below))
            best = path(node, first, rest);
        if (spent_ > kBudget)
            break;
    }
    return best;
}

/* Is there a path from @start back to itself in fewer than @below hops? An edge to a transaction
 * counts as a hop, an edge to a point in time does not. */
bool CycleFinder::search(uint32_t start, unsigned first, unsigned rest, uint32_t below)
{
    round_++;
    now_.assign(1, start);
    next_.clear();
    for (uint32_t hops = 0; !now_.empty() && hops + 1 < below; hops++) {
        for (size_t i = 0; i < now_.size(); i++) /* the list grows by points in time */
            if (reach(start, now_[i], now_[i] == start ? first : rest))
                return true;
        std::swap(now_, next_);
        next_.clear();
    }
    return false;
}

bool CycleFinder::reach(uint32_t start, uint32_t node, unsigned mask)
{
    for (Edge edge : graph_.from(node)) {
        uint32_t to = edge.to();

        spent_++;
        if ((mask_of(edge.dep()) & mask) == 0 || member_[to] != component_ ||
            seen_[to].round == round_)
            continue;
        seen_[to] = { round_, node };
        if (to == start)
            return true;
        (graph_.is_point(to) ? now_ : next_).push_back(to);
    }
    return false;
}

std::vector<Hop> CycleFinder::path(uint32_t start, unsigned first, unsigned rest) const
{
    std::vector<Hop> hops;
    uint32_t node = start;

    do {
        node = seen_[node].parent;
        bool later = graph_.is_point(node);
        while (graph_.is_point(node))
            node = seen_[node].parent;
        hops.push_back({ node, later ? kRt : (node == start ? first : rest) & ~kRt });
    } while (node != start);
    std::reverse(hops.begin(), hops.end());
    return hops;
}

} // namespace dtx::history
