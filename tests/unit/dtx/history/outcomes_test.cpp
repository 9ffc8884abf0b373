// SPDX-License-Identifier: BSD-3-Clause
#include "history/outcomes.h"
#include "story.h"

using namespace story;
using dtx::history::Outcomes;

namespace
{

constexpr Status kUnknown = Status::kUnknown;

// The numbers of the unknown transactions that happened.
std::vector<uint64_t> happened(const Story &story, bool partial = false)
{
    History history = story.history();
    Outcomes outcomes(history, partial);
    std::vector<uint64_t> found;

    for (uint32_t txn = 0; txn < history.txns(); txn++)
        if (history.txn(txn).outcome == dtx::history::TxnOutcome::kUnknown &&
            outcomes.happened(txn))
            found.push_back(history.txn_id(txn));
    REQUIRE(found.size() == outcomes.proven());
    std::sort(found.begin(), found.end());
    return found;
}

using Ids = std::vector<uint64_t>;

} // namespace

TEST_CASE("outcomes: the committed happened, the aborted did not", "[unit]")
{
    Story story{ { { 1, 1, 2, {}, { { 5, 1 } } },
                   { 2, 1, 2, {}, { { 5, 2 } }, Status::kAborted } } };
    History history = story.history();
    Outcomes outcomes(history, false);

    REQUIRE_FALSE(outcomes.happened(dtx::history::kLoad));
    REQUIRE(outcomes.happened(1));
    REQUIRE_FALSE(outcomes.happened(2));
}

TEST_CASE("outcomes: a committed reader proves an unknown writer", "[unit]")
{
    Story story{ { { 1, 1, 2, {}, { { 5, 1 } }, kUnknown }, { 2, 3, 4, { { 5, 1, 1 } }, {} } } };

    REQUIRE(happened(story) == Ids{ 1 });
    REQUIRE(happened(story, true) == Ids{ 1 });
    story.lines[1].status = Status::kAborted;
    REQUIRE(happened(story) == Ids{});
    story.lines[1].status = kUnknown;
    REQUIRE(happened(story) == Ids{});
}

TEST_CASE("outcomes: the final state proves an unknown writer", "[unit]")
{
    Story story{ { { 1, 1, 2, {}, { { 5, 1 } }, kUnknown } }, { { 5, 1, 1 } } };

    REQUIRE(happened(story) == Ids{ 1 });
    story.final_state = { { 5, 1, 0 } };
    REQUIRE(happened(story) == Ids{});
}

TEST_CASE("outcomes: a later version proves the only possible writer", "[unit]")
{
    Story story{ { { 1, 1, 2, {}, { { 5, 1 } }, kUnknown }, { 2, 3, 4, {}, { { 5, 2 } } } } };

    REQUIRE(happened(story) == Ids{ 1 });
    REQUIRE(happened(story, true) == Ids{}); // the line of the writer may be lost
    story.lines.push_back({ 3, 1, 2, {}, { { 5, 1 } } });
    REQUIRE(happened(story) == Ids{});
}

TEST_CASE("outcomes: a version that two transactions can have written proves neither", "[unit]")
{
    Story story{ { { 1, 1, 2, {}, { { 5, 1 }, { 6, 1 } }, kUnknown },
                   { 2, 1, 2, {}, { { 5, 1 } }, kUnknown },
                   { 3, 3, 4, {}, { { 5, 2 } } } } };

    REQUIRE(happened(story) == Ids{});
    History history = story.history();
    Outcomes outcomes(history, false);
    uint32_t object = 0; // 5, the first seen
    REQUIRE(outcomes.open(object, 1));
    REQUIRE_FALSE(outcomes.open(object, 2));
    REQUIRE_FALSE(outcomes.open(object + 1, 1));
    // One of them is read elsewhere: then the other did not write the version.
    story.lines.push_back({ 4, 3, 4, { { 6, 1, 1 } }, {} });
    REQUIRE(happened(story) == Ids{ 1 });
    story.lines.pop_back();
    story.lines.push_back({ 4, 3, 4, { { 5, 1, 2 } }, {} });
    REQUIRE(happened(story) == Ids{ 2 });
}

TEST_CASE("outcomes: a proven transaction proves the writers that it read from", "[unit]")
{
    // 4 saw 3, 3 saw 2, and 2 overwrote 1.
    Story story{ { { 1, 1, 2, {}, { { 5, 1 } }, kUnknown },
                   { 2, 3, 4, {}, { { 5, 2 }, { 6, 1 } }, kUnknown },
                   { 3, 5, 6, { { 6, 1, 2 } }, { { 7, 1 } }, kUnknown } } };

    REQUIRE(happened(story) == Ids{});
    story.lines.push_back({ 4, 7, 8, { { 7, 1, 3 } }, {} });
    REQUIRE(happened(story) == Ids{ 1, 2, 3 });
    for (Line &line : story.lines) // in any order
        line.begin_ns = 100 - line.begin_ns, line.end_ns = 200;
    REQUIRE(happened(story) == Ids{ 1, 2, 3 });
}
