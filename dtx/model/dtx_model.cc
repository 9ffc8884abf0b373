/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtx_model.cc: prints what the transactions of a trace cost on a modelled platform: a row of CSV
 * for each combination of the given values.
 *
 * Exit codes: 0 done; 1 failed; 2 wrong usage.
 * Tests: tests/tools/dtx_model_test
 */
#include "cli.h"
#include "model/cost.h"

#include <algorithm>

namespace
{

using namespace dtx::model;

constexpr const char *kExamples =
    "Examples:\n"
    "  dtx-bench smallbank -t 1 -c 1 -n 2000 --trace bank.jsonl\n"
    "  dtx-model bank.jsonl                                     one client thread\n"
    "  dtx-model bank.jsonl -t 1,8,24,48,96 --machines 1 --csv - as in SMART's figure 10\n"
    "  dtx-model bank.jsonl --hints none --hints H1 --hints all the hints\n"
    "  dtx-model bank.jsonl --phases one-sided,call,hybrid      by the NIC or the server CPU\n";

constexpr uint32_t kRowMost = 4096; /* bytes of a row, for --only */

struct Options {
    std::vector<std::string> traces;
    Common common;
    std::vector<uint32_t> threads = { 1 };
    std::vector<uint32_t> coroutines = { 8 };
    std::vector<double> pauses_us = { 0 };
    std::vector<uint32_t> doorbells = { 0 };
    std::vector<uint32_t> outstanding = { 0 };
    std::vector<double> backoffs_us = { 0 };
    std::vector<std::string> hints;
    std::vector<std::string> phases = { "one-sided" };
    std::vector<std::string> durability = { "on" };
    bool cumulative = false;
    std::vector<std::string> labels;       /* empty: all rows */
    std::pair<std::string, uint32_t> only; /* a table, and the bytes of its rows; "": all tables */
    std::string csv;
};

std::string csv_of(const std::vector<Column> &columns, bool names)
{
    std::string line;

    for (const Column &column : columns)
        line += (line.empty() ? "" : ",") + (names ? std::string(column.name) : column.value);
    return line + "\n";
}

std::string csv_columns()
{
    Trace trace;

    return csv_of(columns_of({}, { &trace, "all", 0, "one-sided", true, 1, 1 }, rpm_cost_init()),
                  true);
}

std::vector<std::pair<std::string, uint32_t>> hint_sets(const Options &options)
{
    std::vector<std::pair<std::string, uint32_t>> sets;
    std::vector<std::string> given = options.hints;

    if (given.empty() && !options.cumulative)
        given.push_back("all");
    for (const std::string &text : given) {
        std::string name = text;

        std::replace(name.begin(), name.end(), ',', '+');
        sets.emplace_back(name, parse_hints(text));
    }
    if (options.cumulative)
        for (const auto &step : cumulative_hints())
            sets.push_back(step);
    return sets;
}

std::vector<Point> points_of(const Options &options, const std::vector<Trace> &traces)
{
    std::vector<Point> points;
    auto sets = hint_sets(options);
    auto shared = [&](Point point) {
        for (uint32_t doorbells : options.doorbells)
            for (uint32_t outstanding : options.outstanding)
                for (double backoff : options.backoffs_us) {
                    point.doorbells = doorbells;
                    point.outstanding = outstanding;
                    point.backoff_us = backoff;
                    points.push_back(point);
                }
    };
    auto each = [&](const Trace &trace, const std::string &phases, const std::string &durability) {
        for (const auto &[name, hints] : sets)
            for (uint32_t threads : options.threads)
                for (uint32_t coroutines : options.coroutines)
                    for (double pause : options.pauses_us)
                        shared({ &trace, name, hints, phases, durability == "on", threads,
                                 coroutines, pause });
    };

    for (const Trace &trace : traces)
        for (const std::string &phases : options.phases)
            for (const std::string &durability : options.durability)
                each(trace, phases, durability);
    return points;
}

/* Leaves the points that --labels names. */
void keep_labels(const std::vector<std::string> &labels, std::vector<Point> &points)
{
    auto named = [&labels](const Point &point) {
        return std::find(labels.begin(), labels.end(), label_of(point)) != labels.end();
    };

    for (const std::string &label : labels)
        if (std::none_of(points.begin(), points.end(),
                         [&label](const Point &point) { return label_of(point) == label; }))
            throw cli::Failure("--labels: no row is called " + label);
    if (!labels.empty())
        points.erase(std::stable_partition(points.begin(), points.end(), named), points.end());
}

/* Applies --only to the traces that have the table; the others stay unchanged. */
void keep_only(const Options &options, std::vector<Trace> &traces)
{
    const auto &[table, bytes] = options.only;
    bool known = table.empty();

    for (Trace &trace : traces)
        known = (!table.empty() && trace.keep_only(table, bytes)) || known;
    if (!known)
        throw cli::Failure("no trace has a table '" + table + "'");
}

int run(const Options &options)
{
    std::vector<Trace> traces;

    for (const std::string &path : options.traces)
        traces.push_back(read_trace(path));
    keep_only(options, traces);
    if (options.common.conflicts && options.phases != std::vector<std::string>{ "one-sided" })
        throw cli::Failure(
            "--conflicts needs --phases one-sided: calls are modelled without conflicts");
    Model model = open_model(options.common.preset);
    std::vector<Point> points = points_of(options, traces);

    keep_labels(options.labels, points);
    cli::OutFile file(options.csv.empty() ? "-" : options.csv);
    if (!options.csv.empty())
        file.write(csv_columns());
    for (const Point &point : points) {
        std::vector<Column> columns =
            columns_of(options.common, point, cost_of(model.get(), options.common, point));

        file.write(options.csv.empty() ? line_of(columns) + "\n" : csv_of(columns, false));
    }
    file.close();
    return cli::kDone;
}

void add_options(CLI::App &app, Options &options)
{
    app.add_option("TRACE", options.traces, "A trace that dtx-bench --trace has written")
        ->required()
        ->type_name("FILE");
    app.add_option("--preset", options.common.preset,
                   "Platform: a preset or its file, numbers replaced after commas (hints)")
        ->type_name("NAME");
    app.add_option("--threads,-t", options.threads, "Client threads, one value or several (1)")
        ->delimiter(',')
        ->check(CLI::Range(1, 4096));
    app.add_option("--coroutines,-c", options.coroutines, "Coroutines of each thread (8)")
        ->delimiter(',')
        ->check(CLI::Range(1, 64));
    app.add_option("--pause", options.pauses_us,
                   "Microseconds that a coroutine pauses after each transaction (0)")
        ->delimiter(',')
        ->check(CLI::Range(0.0, 1e6));
    app.add_flag("--conflicts", options.common.conflicts,
                 "Transactions conflict at the objects that the trace numbers");
    app.add_option("--backoff", options.backoffs_us,
                   "Microseconds of wait after a conflict, doubled after each further one (0)")
        ->delimiter(',')
        ->check(CLI::Range(0.0, 900.0));
    app.add_option("--doorbells", options.doorbells,
                   "Doorbell registers of a client machine, shared by threads (0: one a thread)")
        ->delimiter(',')
        ->check(CLI::Range(0, 4096));
    app.add_option("--outstanding", options.outstanding,
                   "Largest number of requests that a thread has outstanding (0: no limit)")
        ->delimiter(',')
        ->check(CLI::Range(0, 65536));
    cli::hints_option(
        app.add_option("--hints", options.hints, "A set of hints, as in rpm-explain (all)"))
        ->allow_extra_args(false);
    app.add_flag("--cumulative", options.cumulative, "Model no hints, then one more at a time");
    app.add_option("--phases", options.phases,
                   "How phases are carried out: one-sided, call, hybrid (one-sided)")
        ->delimiter(',')
        ->check(CLI::IsMember({ "one-sided", "call", "hybrid" }));
    app.add_option("--only", options.only,
                   "Model remote accesses to rows of this table only, of so many bytes (all)")
        ->type_name("TABLE BYTES")
        ->check([](const std::string &word) {
            bool number = word.find_first_not_of("0123456789") == std::string::npos;

            return !number || (word.size() < 6 && std::stoul(word) <= kRowMost)
                       ? ""
                       : "a row has at most " + std::to_string(kRowMost) + " bytes";
        });
    app.add_option("--durability", options.durability,
                   "on, or off: write no redo log and flush nothing (on)")
        ->delimiter(',')
        ->check(CLI::IsMember({ "on", "off" }));
    app.add_option("--machines", options.common.machines,
                   "Client machines, each with a NIC port (0: no limit)")
        ->check(CLI::Range(0, 4096));
    app.add_option("--cores", options.common.cores, "Cores of a server that serve calls (10)")
        ->check(CLI::Range(1, 64));
    app.add_option("--transactions,-n", options.common.transactions,
                   "Transactions to model for each row (5000, or 10 for each coroutine)")
        ->check(CLI::Range(uint64_t{ 1 }, uint64_t{ 1 } << 24));
    app.add_option("--seed", options.common.seed, "Seed of all random choices of the model (1)")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--labels", options.labels, "Model only the rows with these labels")
        ->delimiter(',');
    app.add_option("--csv", options.csv, "Write rows as CSV; - is standard output")
        ->type_name("FILE");
    app.add_option("--prefix", options.common.prefix, "First column of a row (model)");
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app("Compute what the transactions of a trace cost on a modelled platform",
                 "dtx-model");
    Options options;

    app.footer(kExamples);
    add_options(app, options);
    return cli::run(app, argc, argv, [&] { return run(options); });
}
