// SPDX-License-Identifier: BSD-3-Clause
#include "history/cycles.h"
#include "story.h"
#include "support/rounds.h"

using namespace story;
using namespace dtx::history;

namespace
{

// A graph and its history. Each edge has an object of its own.
struct StoryGraph {
    explicit StoryGraph(const Story &story, bool strict)
        : history(story.history()), outcomes(history, false), versions(history, outcomes, false),
          graph(history, versions, strict)
    {
    }

    size_t shortest(unsigned mask)
    {
        auto found = components(graph, mask);

        REQUIRE(found.size() == 1);
        return CycleFinder(graph).find(found[0], mask).size();
    }

    History history;
    Outcomes outcomes;
    Versions versions;
    Graph graph;
};

constexpr unsigned kPlain = kAllDeps & ~mask_of(Dep::kRt);

// A ring of @count transactions, each of which reads a version that its predecessor made.
Story ring(uint64_t count)
{
    Story story;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t before = (i + count - 1) % count;
        story.lines.push_back({ i + 1, 1, 2, { { before, 1, before + 1 } }, { { i, 1 } } });
    }
    return story;
}

} // namespace

TEST_CASE("cycles: a path has no cycle, a ring is one", "[unit]")
{
    Story story = ring(5);
    StoryGraph closed(story, true);

    REQUIRE(closed.shortest(kPlain) == 5);
    story.lines[0].reads.clear();
    StoryGraph open(story, true);
    REQUIRE(components(open.graph, kAllDeps).empty());
}

TEST_CASE("cycles: a ring of a million is found without a deep stack", "[unit]")
{
    constexpr uint64_t kLength = rounds(1000000);
    StoryGraph drawn(ring(kLength), true);
    auto found = components(drawn.graph, kPlain);

    REQUIRE(found.size() == 1);
    REQUIRE(found[0].size() == kLength);
}

TEST_CASE("cycles: separate rings are separate components", "[unit]")
{
    Story story = ring(3);
    Story other = ring(4);

    for (Line &line : other.lines) {
        line.txn += 100;
        line.reads[0] = { line.reads[0].object + 100, 1, line.reads[0].writer + 100 };
        line.writes[0].object += 100;
        story.lines.push_back(line);
    }
    StoryGraph drawn(story, true);
    auto found = components(drawn.graph, kPlain);
    REQUIRE(found.size() == 2);
    REQUIRE(found[0].size() + found[1].size() == 7);
}

TEST_CASE("cycles: the shortest of several is reported", "[unit]")
{
    Story story = ring(9);

    // 3 reads a version that 6 made: a shorter cycle from 3 to 6 and back.
    story.lines[2].reads.push_back({ 5, 1, 6 });
    StoryGraph drawn(story, true);
    REQUIRE(drawn.shortest(kPlain) == 4);
}

TEST_CASE("cycles: a cycle that is shorter by one is reported, in whatever order they are searched",
          "[unit]")
{
    constexpr uint64_t kCount = 5;

    for (uint64_t skipped = 0; skipped < kCount; skipped++) {
        Story story = ring(kCount);
        uint64_t before = (skipped + kCount - 1) % kCount;

        // The successor of @skipped also depends on its predecessor.
        story.lines[(skipped + 1) % kCount].reads.push_back({ before, 1, before + 1 });
        StoryGraph drawn(story, true);
        CAPTURE(skipped);
        REQUIRE(drawn.shortest(kPlain) == kCount - 1);
    }
}

TEST_CASE("cycles: a simpler class is preferred to a shorter cycle", "[unit]")
{
    Story story = ring(5);

    // Between 1 and 2 also write skew, a cycle of two.
    story.lines[0].reads.push_back({ 100, 1, 0 });
    story.lines[0].writes.push_back({ 101, 2 });
    story.lines[1].reads.push_back({ 101, 1, 0 });
    story.lines[1].writes.push_back({ 100, 2 });
    StoryGraph drawn(story, true);
    REQUIRE(drawn.shortest(kPlain) == 5);
    story.lines[4].reads.clear();
    StoryGraph skew(story, true);
    REQUIRE(skew.shortest(kPlain) == 2);
}

TEST_CASE("cycles: a cycle with one rw edge is preferred to one with two", "[unit]")
{
    Story story = ring(5);

    // 5 comes before 1 by rw; 6 stands between 1 and 2, and in write skew with 7.
    story.lines[0].reads = {};
    story.lines[0].writes.push_back({ 102, 2 });
    story.lines[4].reads.push_back({ 102, 1, 0 });
    story.lines[1].reads.push_back({ 50, 1, 6 });
    story.lines.push_back({ 6, 1, 2, { { 0, 1, 1 }, { 100, 1, 0 } }, { { 50, 1 }, { 101, 2 } } });
    story.lines.push_back({ 7, 1, 2, { { 101, 1, 0 } }, { { 100, 2 } } });
    StoryGraph drawn(story, true);
    REQUIRE(drawn.shortest(kPlain) == 5);
}

TEST_CASE("cycles: points in time do not count as hops", "[unit]")
{
    // 1 reads a version of 2, although 2 began after 1 had ended; others begin and end in between.
    Story story{ { { 1, 1, 2, { { 5, 1, 2 } }, {} }, { 2, 1000, 1001, {}, { { 5, 1 } } } } };

    for (uint64_t i = 0; i < 100; i++)
        story.lines.push_back({ 10 + i, 10 + 3 * i, 11 + 3 * i, {}, {} });
    StoryGraph drawn(story, true);
    REQUIRE(components(drawn.graph, kPlain).empty());
    REQUIRE(drawn.shortest(kAllDeps) == 2);
    // A path of three hops beside them is not shorter.
    story.lines[0].writes.push_back({ 6, 1 });
    story.lines.push_back({ 3, 1, 2000, { { 6, 1, 1 } }, { { 7, 1 } } });
    story.lines.push_back({ 4, 1, 2000, { { 7, 1, 3 } }, { { 8, 1 } } });
    story.lines[1].reads.push_back({ 8, 1, 4 });
    StoryGraph beside(story, true);
    REQUIRE(beside.shortest(kAllDeps) == 2);
}
