// SPDX-License-Identifier: BSD-3-Clause
// directed_test.cpp: each anomaly in a minimal history.
#include "story.h"

using namespace story;

TEST_CASE("history: two transactions in sequence are serialisable", "[unit]")
{
    Story story{ { { 1, 10, 20, { { 5, 1, 0 } }, { { 5, 2 } } },
                   { 2, 30, 40, { { 5, 2, 1 } }, { { 5, 3 } } } },
                 { { 5, 3, 2 } },
                 true };
    CheckResult result = story.check();

    require_good(result);
    REQUIRE(result.edges == std::array<uint64_t, 4>{ 1, 1, 0, 2 });
}

TEST_CASE("history: write skew is found", "[unit]")
{
    Story story{ { { 1, 10, 50, { { 5, 1, 0 }, { 6, 1, 0 } }, { { 5, 2 } } },
                   { 2, 10, 50, { { 5, 1, 0 }, { 6, 1, 0 } }, { { 6, 2 } } } } };

    require_one(story.check(), Kind::kCycle, "cycle of 2 (G2-item, write skew)");
    require_one(story.check(), Kind::kCycle,
                "transaction 1 (session 0) read version 1 of object 6, transaction 2 (session 0) "
                "made the next, version 2 (rw)");
}

TEST_CASE("history: the read-only anomaly is found", "[unit]")
{
    // 3 reads the deposit of 1 but not the withdrawal of 2, and 2 did not read the deposit.
    Story story{ { { 1, 20, 30, { { 6, 1, 0 } }, { { 6, 2 } } },
                   { 2, 10, 60, { { 5, 1, 0 }, { 6, 1, 0 } }, { { 5, 2 } } },
                   { 3, 40, 50, { { 5, 1, 0 }, { 6, 2, 1 } }, {} } } };

    require_one(story.check(false), Kind::kCycle, "cycle of 3 (G2-item, read-only anomaly)");
    story.lines.pop_back();
    require_good(story.check());
}

TEST_CASE("history: a phantom is a cycle over the index node", "[unit]")
{
    // 1 scans leaf 100 and writes row 7; 2 reads row 7 and inserts row 8 into the leaf.
    Story story{ { { 1, 10, 50, { { 100, 4, 0 }, { 7, 1, 0 } }, { { 7, 2 } } },
                   { 2, 10, 50, { { 7, 1, 0 }, { 100, 4, 0 } }, { { 100, 5 }, { 8, 1 } } } } };

    require_one(story.check(), Kind::kCycle, "version 4 of object 100");
}

TEST_CASE("history: an update between read and write is lost", "[unit]")
{
    Story story{ { { 1, 10, 50, { { 5, 1, 0 } }, { { 5, 3 } } },
                   { 2, 10, 50, { { 5, 1, 0 } }, { { 5, 2 } } } } };

    require_one(story.check(), Kind::kCycle, "G-single, lost update");
}

TEST_CASE("history: two transactions that make the same version are a lost update", "[unit]")
{
    Story story{ { { 1, 10, 50, { { 5, 1, 0 } }, { { 5, 2 } } },
                   { 2, 10, 50, { { 5, 1, 0 } }, { { 5, 2 } } } } };

    require_one(story.check(), Kind::kLostUpdate,
                "version 2 of object 5 was made twice, by transaction 1 and by transaction 2");
    // A reader of the second one's version is not reported.
    story.lines.push_back({ 3, 60, 70, { { 5, 2, 2 } }, {} });
    require_one(story.check(), Kind::kLostUpdate, "made twice");
}

TEST_CASE("history: a read of an aborted write is found", "[unit]")
{
    Story story{ { { 1, 10, 20, {}, { { 5, 2 } }, Status::kAborted },
                   { 2, 30, 40, { { 5, 2, 1 } }, {} } } };

    require_one(story.check(), Kind::kAbortedRead,
                "transaction 2 read version 2 of object 5 by transaction 1, which aborted");
}

TEST_CASE("history: reads of aborted transactions are not checked", "[unit]")
{
    Story story{ { { 1, 10, 20, { { 5, 1, 0 } }, { { 5, 2 } } },
                   { 2, 15, 40, { { 5, 9, 1 }, { 5, 1, 0 } }, { { 5, 2 } }, Status::kAborted } } };

    require_good(story.check());
}

TEST_CASE("history: a version whose named writer made another is a dirty read", "[unit]")
{
    Story story{ { { 1, 10, 20, { { 5, 1, 0 } }, { { 5, 2 } } },
                   { 2, 30, 40, { { 5, 3, 1 } }, {} } } };

    require_one(story.check(), Kind::kWrongWriter, "by transaction 1, which did not make it");
    story.lines[1].reads = { { 5, 2, 0 } };
    require_one(story.check(), Kind::kWrongWriter, "by the load, but transaction 1 made it");
}

TEST_CASE("history: a version without a writer is found", "[unit]")
{
    Story story{ { { 1, 10, 20, { { 5, 1, 0 } }, { { 5, 2 } } },
                   { 2, 30, 40, { { 5, 3, 77 } }, {} } } };

    require_one(story.check(), Kind::kUnwritten, "that transaction is not in it");
    require_good(story.check(true, true)); // a lost line would explain it
    story.lines[1].reads = { { 5, 3, 0 } };
    require_one(story.check(), Kind::kUnwritten, "by the load");
    require_one(story.check(true, true), Kind::kUnwritten, "by the load");
}

TEST_CASE("history: an object has one base version", "[unit]")
{
    Story story{ { { 1, 10, 20, { { 5, 3, 70 } }, {} }, { 2, 10, 20, { { 5, 4, 71 } }, {} } } };

    require_one(story.check(), Kind::kUnwritten, "the history begins with version 3");
    story.lines[1].reads = { { 5, 3, 71 } };
    require_one(story.check(), Kind::kUnwritten, "version 3 of object 5 by transaction 71");
    story.lines.pop_back();
    require_good(story.check());
    story.fresh = true;
    REQUIRE(story.check().violations.count(Kind::kUnwritten) == 1);
}

TEST_CASE("history: a stale read is serialisable but not strictly", "[unit]")
{
    Story story{ { { 1, 10, 20, { { 5, 1, 0 } }, { { 5, 2 } } },
                   { 2, 30, 40, { { 5, 1, 0 } }, {} } } };

    require_one(story.check(), Kind::kRealTimeCycle,
                "transaction 1 (session 0) ended at 20, before transaction 2 (session 0) began at "
                "30 (real time)");
    require_good(story.check(false));
    story.lines[1].begin_ns = 20; // in the same nanosecond: they may have overlapped
    require_good(story.check());
}

TEST_CASE("history: a read from a transaction that begins later is found", "[unit]")
{
    Story story{ { { 1, 10, 20, { { 5, 2, 2 } }, {} },
                   { 2, 30, 40, { { 5, 1, 0 } }, { { 5, 2 } } } } };

    require_one(story.check(), Kind::kRealTimeCycle, "G1c, only with real time");
}

TEST_CASE("history: a dropped commit shows in the final state", "[unit]")
{
    Story story{ { { 1, 10, 20, { { 5, 1, 0 } }, { { 5, 2 } } } }, { { 5, 1, 0 } } };

    require_one(story.check(), Kind::kDropped,
                "the final state has version 1 of object 5, but transaction 1 made version 2");
    story.final_state = { { 5, 3, 1 } };
    require_one(story.check(), Kind::kWrongWriter, "the final state has version 3");
    story.final_state = { { 5, 2, 1 } };
    require_good(story.check());
}

TEST_CASE("history: a dropped commit shows as a gap", "[unit]")
{
    Story story{ { { 1, 10, 20, { { 5, 1, 0 } }, { { 5, 2 } } },
                   { 3, 50, 60, {}, { { 5, 4 } } } } };

    require_one(story.check(), Kind::kGap, "no transaction made version 3 of object 5");
    require_good(story.check(true, true));
    story.lines.erase(story.lines.begin());
    require_good(story.check()); // the history may begin with version 3
    story.fresh = true;
    require_one(story.check(), Kind::kGap, "just loaded");
}

TEST_CASE("history: an unknown transaction that nothing proves did not happen", "[unit]")
{
    Story story{ { { 1, 10, 20, { { 5, 1, 0 } }, { { 5, 2 } }, Status::kUnknown },
                   { 2, 30, 40, { { 5, 1, 0 } }, { { 5, 2 } } } },
                 { { 5, 2, 2 }, { 6, 1, 0 } },
                 true };
    CheckResult result = story.check();

    require_good(result);
    REQUIRE(result.proven == 0);
}

TEST_CASE("history: an unknown transaction that was read from happened", "[unit]")
{
    Story story{ { { 1, 10, 20, { { 5, 1, 0 } }, { { 5, 2 }, { 6, 2 } }, Status::kUnknown },
                   { 2, 30, 40, { { 5, 2, 1 } }, {} } },
                 { { 5, 2, 1 }, { 6, 2, 1 } },
                 true };
    CheckResult result = story.check();

    require_good(result);
    REQUIRE(result.proven == 1);
    story.final_state[1] = { 6, 1, 0 };
    require_one(story.check(), Kind::kTorn, "of unknown outcome but seen elsewhere");
}

TEST_CASE("history: an unknown transaction that happened in part is torn", "[unit]")
{
    Story story{ { { 1, 10, 20, {}, { { 5, 2 }, { 6, 2 } }, Status::kUnknown },
                   { 2, 30, 40, { { 5, 2, 1 } }, {} },
                   { 3, 30, 40, { { 6, 1, 0 } }, { { 6, 2 } } } } };

    CheckResult result = story.check();
    INFO(words(result));
    REQUIRE(result.violations.count(Kind::kTorn) == 1);
}

TEST_CASE("history: an unknown transaction may take effect after its end", "[unit]")
{
    // 2 does not read the write of 1, although 1 ended before 2 began, as the outcome of 1 is
    // unknown.
    Story story{ { { 1, 10, 20, { { 5, 1, 0 } }, { { 5, 2 } }, Status::kUnknown },
                   { 2, 30, 40, { { 5, 1, 0 } }, {} } },
                 { { 5, 2, 1 } } };

    require_good(story.check());
    story.lines[0].status = Status::kCommitted;
    require_one(story.check(), Kind::kRealTimeCycle, "real time");
}

TEST_CASE("history: two transactions that overwrite each other are a cycle", "[unit]")
{
    Story story{ { { 1, 10, 20, {}, { { 5, 2 }, { 6, 3 } } },
                   { 2, 10, 20, {}, { { 5, 3 }, { 6, 2 } } } } };

    require_one(story.check(), Kind::kCycle, "(G0)");
}

TEST_CASE("history: two transactions that read from each other are a cycle", "[unit]")
{
    Story story{ { { 1, 10, 20, { { 6, 2, 2 } }, { { 5, 2 } } },
                   { 2, 10, 20, { { 5, 2, 1 } }, { { 6, 2 } } } } };

    require_one(story.check(), Kind::kCycle, "(G1c)");
}

TEST_CASE("history: a read of half of a commit is a cycle", "[unit]")
{
    Story story{ { { 1, 10, 50, {}, { { 5, 2 }, { 6, 2 } } },
                   { 2, 10, 50, { { 5, 2, 1 }, { 6, 1, 0 } }, {} } } };

    require_one(story.check(), Kind::kCycle, "(G-single)");
}

TEST_CASE("history: a read that does not repeat is a cycle", "[unit]")
{
    Story story{ { { 1, 10, 50, {}, { { 5, 2 } } },
                   { 2, 10, 50, { { 5, 1, 0 }, { 5, 2, 1 } }, {} } } };

    require_one(story.check(), Kind::kCycle, "(G-single)");
}
