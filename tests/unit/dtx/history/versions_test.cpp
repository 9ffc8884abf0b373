// SPDX-License-Identifier: BSD-3-Clause
#include "history/versions.h"
#include "story.h"

using namespace story;
using dtx::history::Outcomes;
using dtx::history::Versions;

namespace
{

struct Order {
    explicit Order(const Story &story, bool partial = false)
        : history(story.history()), outcomes(history, partial), versions(history, outcomes, partial)
    {
    }

    // "version:writer ..." of the first object of the story.
    std::string list() const
    {
        std::string text;

        for (const dtx::history::Made &made : versions.of(0))
            text += std::to_string(made.version) + ":" +
                    std::to_string(history.txn_id(made.writer)) + " ";
        return text;
    }

    History history;
    Outcomes outcomes;
    Versions versions;
};

} // namespace

TEST_CASE("versions: stand in order, each once", "[unit]")
{
    Story story{ { { 1, 1, 2, {}, { { 5, 4 } } },
                   { 2, 1, 2, {}, { { 5, 2 } } },
                   { 3, 1, 2, {}, { { 5, 3 } } },
                   { 4, 1, 2, {}, { { 5, 3 } } },
                   { 5, 1, 2, {}, { { 5, 9 } }, Status::kAborted } } };
    Order order(story);

    REQUIRE(order.list() == "2:2 3:3 4:1 ");
    REQUIRE(order.versions.base(0) == 1);
    CheckResult result = story.check();
    REQUIRE(result.violations.count(Kind::kLostUpdate) == 1);
}

TEST_CASE("versions: place() is the index of the version or the next one", "[unit]")
{
    Story story{ { { 1, 1, 2, {}, { { 5, 3 } } },
                   { 2, 1, 2, {}, { { 5, 4 } } },
                   { 3, 1, 2, {}, { { 5, 7 } } },
                   { 4, 1, 2, {}, { { 5, 8 } } } } };
    Order order(story);
    const size_t places[] = { 0, 0, 0, 0, 1, 2, 2, 2, 3, 4, 4 };

    for (uint64_t version = 0; version < std::size(places); version++) {
        CAPTURE(version);
        REQUIRE(order.versions.place(0, version) == places[version]);
    }
    REQUIRE(order.versions.place(0, UINT64_MAX) == 4);
}

TEST_CASE("versions: the base is the version that was read and is older than all made", "[unit]")
{
    Story story{ { { 1, 1, 2, { { 5, 7, 99 } }, { { 5, 8 } } } } };

    REQUIRE(Order(story).versions.base(0) == 7);
    require_good(story.check());
    story.lines[0].writes = {};
    REQUIRE(Order(story).versions.base(0) == 7);
    story.lines[0] = { 1, 1, 2, {}, { { 5, 8 } } };
    REQUIRE(Order(story).versions.base(0) == 7);
}

TEST_CASE("versions: in a partial history the writer that a read names counts", "[unit]")
{
    Story story{ { { 1, 1, 2, { { 5, 7, 99 } }, {} },
                   { 2, 1, 2, { { 5, 7, 99 } }, {} },
                   { 3, 1, 2, { { 5, 4, 98 } }, {} } },
                 { { 5, 8, 97 } } };

    REQUIRE(Order(story).list() == "");
    REQUIRE(Order(story, true).list() == "4:98 7:99 8:97 ");
    require_good(story.check(true, true));
    // Two writers of one version are a fault even then.
    story.lines[1].reads[0].writer = 96;
    REQUIRE(story.check(true, true).violations.count(Kind::kLostUpdate) == 1);
}

TEST_CASE("versions: an unknown transaction's version fills a gap", "[unit]")
{
    Story story{ { { 1, 1, 2, {}, { { 5, 2 } } },
                   { 2, 1, 2, {}, { { 5, 3 } }, Status::kUnknown },
                   { 3, 1, 2, {}, { { 5, 3 } }, Status::kUnknown },
                   { 4, 1, 2, {}, { { 5, 4 } } } } };

    require_good(story.check());
    REQUIRE(Order(story).list() == "2:1 4:4 ");
    story.lines[2].status = Status::kAborted;
    require_good(story.check());
    REQUIRE(Order(story).list() == "2:1 3:2 4:4 ");
    story.lines[1].status = Status::kAborted;
    require_one(story.check(), Kind::kGap, "no transaction made version 3");
}

TEST_CASE("versions: a transaction that skips a version has lost an update", "[unit]")
{
    Story story{ { { 1, 1, 2, { { 5, 2, 0 } }, { { 5, 4 } } },
                   { 2, 1, 2, {}, { { 5, 3 } }, Status::kUnknown },
                   { 3, 1, 2, {}, { { 5, 3 } }, Status::kUnknown } } };

    require_one(story.check(), Kind::kLostUpdate, "the versions between them are lost");
    require_one(story.check(true, true), Kind::kLostUpdate, "the versions between them are lost");
}
