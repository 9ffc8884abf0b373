// SPDX-License-Identifier: BSD-3-Clause
#include "history/graph.h"
#include "history/versions.h"
#include "story.h"

#include <set>

using namespace story;
using dtx::history::Dep;
using dtx::history::Edge;
using dtx::history::Graph;
using dtx::history::Outcomes;
using dtx::history::Versions;

namespace
{

// Every edge as "FROM kind TO"; for rt, from transaction to transaction, over points in time.
struct Edges {
    explicit Edges(const Story &story, bool strict = true)
        : history(story.history()), outcomes(history, false), versions(history, outcomes, false),
          graph(history, versions, strict)
    {
    }

    std::multiset<std::string> all() const
    {
        static const char *const names[] = { " ww ", " wr ", " rw " };
        std::multiset<std::string> found;

        for (uint32_t txn = 0; txn < history.txns(); txn++) {
            std::string from = std::to_string(history.txn_id(txn));
            for (Edge edge : graph.from(txn))
                if (edge.dep() != Dep::kRt)
                    found.insert(from + names[static_cast<size_t>(edge.dep())] +
                                 std::to_string(history.txn_id(edge.to())));
            for (uint32_t to : after(txn))
                found.insert(from + " rt " + std::to_string(history.txn_id(to)));
        }
        return found;
    }

    std::set<uint32_t> after(uint32_t txn) const
    {
        std::set<uint32_t> found;
        std::vector<uint32_t> ways;

        auto look = [&](uint32_t node) {
            for (Edge edge : graph.from(node))
                if (edge.dep() == Dep::kRt && graph.is_point(edge.to()))
                    ways.push_back(edge.to());
                else if (edge.dep() == Dep::kRt)
                    found.insert(edge.to());
        };
        for (look(txn); !ways.empty();) {
            uint32_t node = ways.back();
            ways.pop_back();
            look(node);
        }
        return found;
    }

    History history;
    Outcomes outcomes;
    Versions versions;
    Graph graph;
};

using Set = std::multiset<std::string>;

} // namespace

TEST_CASE("graph: writers, readers and overwriters have edges ww, wr and rw", "[unit]")
{
    Story story{ { { 1, 1, 2, { { 5, 1, 0 } }, { { 5, 2 } } },
                   { 2, 1, 2, { { 5, 2, 1 } }, {} },
                   { 3, 1, 2, {}, { { 5, 3 } } },
                   { 4, 1, 2, { { 5, 1, 0 } }, {} } } };

    REQUIRE(Edges(story).all() == Set{ "1 ww 3", "1 wr 2", "2 rw 3", "4 rw 1" });
}

TEST_CASE("graph: no transaction has an edge to itself", "[unit]")
{
    Story story{ { { 1, 1, 2, { { 5, 1, 0 }, { 5, 2, 1 } }, { { 5, 2 }, { 5, 3 } } } } };

    REQUIRE(Edges(story).all() == Set{});
}

TEST_CASE("graph: an aborted transaction, or one without a trace, has no edges", "[unit]")
{
    Story story{ { { 1, 1, 2, { { 5, 1, 0 } }, { { 5, 2 } }, Status::kAborted },
                   { 2, 1, 2, { { 5, 1, 0 } }, { { 5, 2 } }, Status::kUnknown },
                   { 3, 5, 6, { { 5, 1, 0 } }, { { 5, 2 } } } } };

    REQUIRE(Edges(story).all() == Set{});
}

TEST_CASE("graph: a real-time edge leads from each transaction to those that began after its end",
          "[unit]")
{
    Story story{ { { 1, 10, 20, {}, {} },
                   { 2, 20, 25, {}, {} },
                   { 3, 21, 30, {}, {} },
                   { 4, 26, 40, {}, {} },
                   { 5, 41, 41, {}, {} } } };

    REQUIRE(Edges(story).all() ==
            Set{ "1 rt 3", "1 rt 4", "1 rt 5", "2 rt 4", "2 rt 5", "3 rt 5", "4 rt 5" });
    REQUIRE(Edges(story, false).all() == Set{});
}

TEST_CASE("graph: an unknown transaction follows others in real time, and precedes none", "[unit]")
{
    Story story{ { { 1, 10, 20, {}, {} },
                   { 2, 30, 40, {}, { { 5, 1 } }, Status::kUnknown },
                   { 3, 50, 60, {}, {} } },
                 { { 5, 1, 2 } } };

    REQUIRE(Edges(story).all() == Set{ "1 rt 2", "1 rt 3" });
}

TEST_CASE("graph: real time has at most three edges a transaction", "[unit]")
{
    Story story;

    for (uint64_t i = 0; i < 500; i++)
        story.lines.push_back({ i + 1, 10 * i, 10 * i + 25, {}, {} });
    Edges edges(story);
    REQUIRE(edges.graph.edges(Dep::kRt) <= 3 * 500);
    REQUIRE(edges.after(1).size() == 497);
}
