// SPDX-License-Identifier: BSD-3-Clause
// story.h: builds a history in a test with one call for each transaction.
#ifndef TESTS_UNIT_DTX_HISTORY_STORY_H
#define TESTS_UNIT_DTX_HISTORY_STORY_H

#include "history/check.h"
#include "history/history.h"
#include "support/catch.h"

#include <string>
#include <vector>

namespace story
{

using dtx::history::Access;
using dtx::history::CheckOptions;
using dtx::history::CheckResult;
using dtx::history::Entry;
using dtx::history::Header;
using dtx::history::History;
using dtx::history::Kind;
using dtx::history::Status;

struct Line {
    uint64_t txn;
    uint64_t begin_ns;
    uint64_t end_ns;
    std::vector<Access> reads;  // object, version, writer
    std::vector<Access> writes; // object, version
    Status status = Status::kCommitted;
    uint32_t session = 0;
};

struct Story {
    std::vector<Line> lines;
    std::vector<Access> final_state = {};
    bool fresh = false;

    History history() const
    {
        History history;
        Header header;

        header.fresh = fresh;
        history.header(header);
        for (const Line &line : lines) {
            Entry entry{ line.txn,    line.session, line.begin_ns, line.end_ns,
                         line.status, line.reads,   line.writes };
            REQUIRE(history.entry(entry) == "");
        }
        REQUIRE(history.final_state(final_state) == "");
        return history;
    }

    CheckResult check(bool strict = true, bool partial = false) const
    {
        CheckOptions options;

        options.strict = strict;
        options.partial = partial;
        return dtx::history::check(history(), options);
    }
};

// The texts of all violations, for the output of a failing test and for searches.
inline std::string words(const CheckResult &result)
{
    std::string text;

    for (const dtx::history::Violation &violation : result.violations.kept()) {
        text += std::string(kind_name(violation.kind)) + ": " + violation.text + "\n";
        for (const std::string &step : violation.steps)
            text += "    " + step + "\n";
    }
    return text;
}

// Requires exactly one violation, of this kind, whose text contains these words.
inline void require_one(const CheckResult &result, Kind kind, const std::string &part)
{
    std::string text = words(result);

    INFO(text);
    REQUIRE(result.violations.total() == 1);
    REQUIRE(result.violations.count(kind) == 1);
    REQUIRE(text.find(part) != std::string::npos);
}

inline void require_good(const CheckResult &result)
{
    INFO(words(result));
    REQUIRE(result.good());
}

} // namespace story
#endif
