// SPDX-License-Identifier: BSD-3-Clause
#include "file.h"
#include "history/report.h"

using namespace story;

namespace
{

const Story kGood{ { { 1, 10, 20, { { 5, 1, 0 } }, { { 5, 2 } } } } };
const Story kSkew{ { { 1, 10, 50, { { 5, 1, 0 }, { 6, 1, 0 } }, { { 5, 2 } } },
                     { 2, 10, 50, { { 5, 1, 0 }, { 6, 1, 0 } }, { { 6, 2 } } } } };

using Report = void (*)(FILE *, const CheckResult &, const CheckOptions &, double);

std::string said(Report report, const CheckResult &result, const CheckOptions &options)
{
    char *text = nullptr;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    report(out, result, options, 1.5);
    fclose(out);
    std::string all(text, bytes);
    free(text);
    return all;
}

bool has(const std::string &text, const std::string &part)
{
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("report: the numbers in one line", "[unit]")
{
    CheckOptions options;

    REQUIRE(said(dtx::history::report_text, kGood.check(), options) ==
            "strictly serialisable: committed 1 aborted 0 unknown 0 (happened 0) objects 1 reads 1 "
            "writes 1 final 0 edges ww 0 wr 0 rw 0 rt 0 components 0 violations 0 seconds 1.50\n");
    options.strict = false;
    options.partial = true;
    REQUIRE(has(said(dtx::history::report_text, kGood.check(false, true), options),
                "serialisable (partial): "));
}

TEST_CASE("report: each violation with its steps", "[unit]")
{
    std::string text = said(dtx::history::report_text, kSkew.check(), {});

    REQUIRE(has(text, "cycle: cycle of 2 (G2-item, write skew) among 2 transactions\n    trans"));
    REQUIRE(has(text, "\nnot serialisable: "));
}

TEST_CASE("report: a violation of real time alone is reported as such", "[unit]")
{
    Story story{ { { 1, 10, 20, { { 5, 1, 0 } }, { { 5, 2 } } },
                   { 2, 30, 40, { { 5, 1, 0 } }, {} } } };

    REQUIRE(has(said(dtx::history::report_text, story.check(), {}),
                "serialisable, but not in real time: "));
}

TEST_CASE("report: more than the limit are counted", "[unit]")
{
    Story story;
    CheckOptions options;

    for (uint64_t i = 0; i < 10; i++)
        story.lines.push_back({ i + 1, 1, 2, {}, { { 5, 1 } } });
    options.limit = 4;
    CheckResult result = dtx::history::check(story.history(), options);
    REQUIRE(result.violations.kept().size() == 4);
    REQUIRE(has(said(dtx::history::report_text, result, options),
                "lost update: 9 in all, the first 4 are above\n"));
}

TEST_CASE("report: the result is written as JSON", "[unit]")
{
    std::string text = said(dtx::history::report_json, kSkew.check(), {});

    REQUIRE(has(text, "\"verdict\": \"not serialisable\""));
    REQUIRE(has(text, "\"good\": false"));
    REQUIRE(has(text, "\"violation_count\": 1"));
    REQUIRE(has(text, "\"kind\": \"cycle\""));
    REQUIRE(has(text, "made the next, version 2 (rw)\""));
}
