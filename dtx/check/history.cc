/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * history.cc: dtx-check history: reads one or several files, checks them as one history, and prints
 * the violations.
 */
#include "check/command.h"

#include "cli.h"
#include "history/check.h"
#include "history/elle.h"
#include "history/reader.h"
#include "history/report.h"

#include <chrono>
#include <cinttypes>
#include <memory>

namespace dtx::checks
{

namespace
{

const char *const kHistoryExamples =
    "Exit codes: 0 serialisable, 1 a violation, 2 wrong usage or an invalid or truncated file.\n"
    "Examples:\n"
    "  dtx-bench smallbank --history run.jsonl && dtx-check history run.jsonl\n"
    "  dtx-check history killed.jsonl final.jsonl --partial\n"
    "  dtx-check history run.jsonl --elle run.edn\n";

struct HistoryOptions {
    std::vector<std::string> files;
    std::string elle;
    history::CheckOptions check;
    bool json = false;
};

double seconds_since(std::chrono::steady_clock::time_point start)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int run(const HistoryOptions &options)
{
    auto start = std::chrono::steady_clock::now();
    history::History all;

    for (const std::string &file : options.files)
        history::read_history(file, options.check.partial, all);
    if (!options.elle.empty()) {
        history::ElleResult elle = history::write_elle(all, options.check.partial, options.elle);
        fprintf(stderr,
                "%s: %" PRIu64 " operations; the lists of %" PRIu64
                " objects lack versions from before the history; %" PRIu64
                " writers are not in the history and have an unknown outcome\n",
                options.elle.c_str(), elle.operations, elle.partial_objects, elle.absent_writers);
    }
    history::CheckResult result = history::check(all, options.check);
    auto report = options.json ? history::report_json : history::report_text;
    report(stdout, result, options.check, seconds_since(start));
    return result.good() ? cli::kDone : cli::kFailed;
}

} // namespace

Body add_history(CLI::App &app)
{
    auto options = std::make_shared<HistoryOptions>();

    app.footer(kHistoryExamples);
    app.add_option("file", options->files,
                   "History files; several files, from several processes, are one history")
        ->required()
        ->type_name("FILE");
    app.add_flag("--strict,!--no-strict", options->check.strict,
                 "A transaction that ended before another began comes before it (default on)");
    app.add_flag("--partial", options->check.partial,
                 "The run was killed: accept a history without an end line, with lines missing");
    app.add_option("--elle", options->elle,
                   "Write the history in the list-append form that Elle reads")
        ->type_name("FILE");
    app.add_option("--limit", options->check.limit,
                   "Violations of each kind to print (default 20)");
    app.add_flag("--json", options->json, "Report as JSON");
    return [options] {
        try {
            return run(*options);
        } catch (const history::Failure &failure) {
            fflush(stdout);
            fprintf(stderr, "dtx-check: %s\n", failure.what());
            return static_cast<int>(cli::kUsage);
        }
    };
}

} // namespace dtx::checks
