/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report.cc: prints each violation, then a line of counts.
 */
#include "history/report.h"

#include <cinttypes>
#include <nlohmann/json.hpp>
#include <string>

namespace dtx::history
{

namespace
{

std::string verdict(const CheckResult &result, const CheckOptions &options)
{
    if (result.good())
        return options.strict ? "strictly serialisable" : "serialisable";
    uint64_t late = result.violations.count(Kind::kRealTimeCycle);
    return late == result.violations.total() ? "serialisable, but not in real time"
                                             : "not serialisable";
}

} // namespace

void report_text(FILE *out, const CheckResult &result, const CheckOptions &options, double seconds)
{
    for (const Violation &violation : result.violations.kept()) {
        fprintf(out, "%s: %s\n", kind_name(violation.kind), violation.text.c_str());
        for (const std::string &step : violation.steps)
            fprintf(out, "    %s\n", step.c_str());
    }
    for (size_t i = 0; i < kKinds; i++) {
        uint64_t count = result.violations.count(static_cast<Kind>(i));
        if (count > options.limit)
            fprintf(out, "%s: %" PRIu64 " in all, the first %" PRIu64 " are above\n",
                    kind_name(static_cast<Kind>(i)), count, options.limit);
    }
    fprintf(out,
            "%s%s: committed %" PRIu64 " aborted %" PRIu64 " unknown %" PRIu64 " (happened %" PRIu64
            ") objects %" PRIu64 " reads %" PRIu64 " writes %" PRIu64 " final %" PRIu64
            " edges ww %" PRIu64 " wr %" PRIu64 " rw %" PRIu64 " rt %" PRIu64 " components %" PRIu64
            " violations %" PRIu64 " seconds %.2f\n",
            verdict(result, options).c_str(), options.partial ? " (partial)" : "",
            result.by_status[0], result.by_status[1], result.by_status[2], result.proven,
            result.objects, result.reads, result.writes, result.final_objects, result.edges[0],
            result.edges[1], result.edges[2], result.edges[3], result.components,
            result.violations.total(), seconds);
}

void report_json(FILE *out, const CheckResult &result, const CheckOptions &options, double seconds)
{
    nlohmann::ordered_json json = {
        { "verdict", verdict(result, options) },
        { "good", result.good() },
        { "strict", options.strict },
        { "partial", options.partial },
        { "committed", result.by_status[0] },
        { "aborted", result.by_status[1] },
        { "unknown", result.by_status[2] },
        { "happened", result.proven },
        { "objects", result.objects },
        { "reads", result.reads },
        { "writes", result.writes },
        { "final", result.final_objects },
        { "edges",
          { { "ww", result.edges[0] },
            { "wr", result.edges[1] },
            { "rw", result.edges[2] },
            { "rt", result.edges[3] } } },
        { "components", result.components },
        { "violation_count", result.violations.total() },
        { "violations", nlohmann::ordered_json::array() },
        { "seconds", seconds },
    };

    for (const Violation &violation : result.violations.kept())
        json["violations"].push_back({ { "kind", kind_name(violation.kind) },
                                       { "text", violation.text },
                                       { "steps", violation.steps } });
    fprintf(out, "%s\n", json.dump(2).c_str());
}

} // namespace dtx::history
