/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtx_model.cc: what the transactions of a trace cost on a modelled platform: every combination of
 * the values that are given, a row of CSV for each.
 *
 * Exit codes: 0 done; 1 failed; 2 wrong usage.
 * Tests: tests/tools/dtx_model_test
 */
#include "cli.h"
#include "model/footprint.h"

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
    "  dtx-model bank.jsonl --phases one-sided,call,hybrid      who does it\n";

/* The published order, in which H2 is absent. */
constexpr const char *kCumulative[][2] = {
    { "none", "none" },
    { "+H1", "H1" },
    { "+H3", "H1,H3" },
    { "+H4", "H1,H3,H4" },
    { "+H5", "H1,H3,H4,H5" },
    { "+H6+H7", "H1,H3,H4,H5,H6,H7" },
    { "+H8", "H1,H3,H4,H5,H6,H7,H8" },
    { "+H9", "H1,H3,H4,H5,H6,H7,H8,H9" },
};

struct Options {
    std::vector<std::string> traces;
    std::string preset = "hints";
    std::vector<uint32_t> threads = { 1 };
    std::vector<uint32_t> coroutines = { 8 };
    std::vector<double> pauses_us = { 0 };
    std::vector<std::string> hints;
    std::vector<std::string> phases = { "one-sided" };
    std::vector<std::string> durability = { "on" };
    bool cumulative = false;
    uint32_t machines = 0;
    uint32_t cores = 10;
    uint64_t transactions = 0;
    uint64_t seed = 1;
    std::string csv;
    std::string prefix = "model";
};

struct Point {
    const Trace *trace;
    std::string hints_name;
    uint32_t hints;
    std::string phases;
    bool durable;
    uint32_t threads;
    uint32_t coroutines;
    double pause_us;
};

struct Column {
    const char *name;
    std::string value;
};

struct ModelClose {
    void operator()(rpm_model *model) const
    {
        rpm_model_close(&model);
    }
};
using Model = std::unique_ptr<rpm_model, ModelClose>;

std::string fixed(double value)
{
    char text[64];

    std::snprintf(text, sizeof(text), "%.6f", value);
    return text;
}

double us(uint64_t ps)
{
    return static_cast<double>(ps) * 1e-6;
}

std::string label_of(const Point &point)
{
    char pause[32];

    std::snprintf(pause, sizeof(pause), "%g", point.pause_us);
    return point.trace->workload + "/" + point.phases + "/" + point.hints_name + "/" +
           (point.durable ? "on" : "off") + "/" + std::to_string(point.threads) + "x" +
           std::to_string(point.coroutines) + (point.pause_us > 0 ? std::string("/") + pause : "");
}

/* All attempts of the trace, with their servers turned in each way. */
std::vector<Script> scripts_of(const Trace &trace, const Setting &setting, const Carried &carried)
{
    std::vector<Script> scripts;

    for (const Attempt &attempt : trace.attempts)
        for (uint32_t turn = 0; turn < trace.servers; turn++) {
            Script script = script_of(attempt, trace, setting, carried, turn);

            if (!script.empty())
                scripts.push_back(std::move(script));
        }
    return scripts;
}

rpm_cost run_point(const rpm_model *model, const Options &options, const Point &point)
{
    rpm_facts facts = rpm_facts_init();
    rpm_script_load load = rpm_script_load_init();
    rpm_cost cost = rpm_cost_init();
    Setting setting{ point.hints, parse_phases(point.phases), point.durable };

    rpm_model_facts(model, &facts);
    Carried carried = carry(facts, setting);
    std::vector<Script> scripts = scripts_of(*point.trace, setting, carried);
    std::vector<rpm_script> refs;
    uint64_t under_way = uint64_t{ point.threads } * point.coroutines;

    for (const Script &script : scripts)
        refs.push_back({ script.data(), static_cast<uint32_t>(script.size()), 1 });
    load.scripts = refs.data();
    load.count = static_cast<uint32_t>(refs.size());
    load.servers = point.trace->servers;
    load.threads = point.threads;
    load.coroutines = point.coroutines;
    load.machines = std::min(options.machines, point.threads);
    load.cores = options.cores;
    load.far = carried.far ? 1 : 0;
    load.ddio = carried.ddio;
    load.writers_max = carried.writers_max;
    load.pause_ns = static_cast<uint64_t>(point.pause_us * 1000);
    load.transactions =
        options.transactions != 0 ? options.transactions : std::max<uint64_t>(5000, 10 * under_way);
    load.seed = options.seed;
    cli::check(label_of(point), rpm_model_run_scripts(model, &load, &cost));
    return cost;
}

/* Columns as dtx-bench has them; a transaction of the workload may be several of the database. */
std::vector<Column> columns_of(const Options &options, const Point &point, const rpm_cost &cost)
{
    const Trace &trace = *point.trace;
    double attempts = static_cast<double>(std::max<size_t>(trace.attempts.size(), 1));
    double each = attempts / static_cast<double>(std::max<uint64_t>(trace.transactions, 1));
    double seconds = static_cast<double>(std::max<uint64_t>(cost.duration_ps, 1)) * 1e-12;
    double mtxns = static_cast<double>(cost.ops) / seconds * 1e-6 / each;
    double given_up = static_cast<double>(
        std::count_if(trace.attempts.begin(), trace.attempts.end(),
                      [](const Attempt &attempt) { return !attempt.committed; }));
    double aborts = given_up / attempts;
    double ops = static_cast<double>(std::max<uint64_t>(cost.ops, 1));
    double requests = static_cast<double>(cost.requests) / ops * each;

    return {
        { "prefix", options.prefix },
        { "threads", std::to_string(point.threads) },
        { "coroutines", std::to_string(point.coroutines) },
        { "attempted_mtxns", fixed(mtxns) },
        { "committed_mtxns", fixed(mtxns * (1 - aborts)) },
        { "p50_us", fixed(us(cost.p50_ps)) },
        { "p99_us", fixed(us(cost.p99_ps)) },
        { "abort_rate", fixed(aborts) },
        { "remote_ops_per_attempt", fixed(requests) },
        { "remote_mops", fixed(requests * mtxns) },
        { "label", label_of(point) },
        { "workload", trace.workload },
        { "servers", std::to_string(trace.servers) },
        { "replicas", std::to_string(trace.replicas) },
        { "durability", point.durable ? "on" : "off" },
        { "hints", point.hints_name },
        { "phases", point.phases },
        { "machines", std::to_string(options.machines) },
        { "cores", std::to_string(options.cores) },
        { "pause_us", fixed(point.pause_us) },
        { "preset", "\"" + options.preset + "\"" },
        { "seed", std::to_string(options.seed) },
        { "transactions", std::to_string(cost.ops) },
        { "mean_us", fixed(us(cost.mean_ps)) },
        { "p90_us", fixed(us(cost.p90_ps)) },
        { "p999_us", fixed(us(cost.p999_ps)) },
        { "max_us", fixed(us(cost.max_ps)) },
        { "media_read_bytes", fixed(static_cast<double>(cost.media_read_bytes) / ops * each) },
        { "media_write_bytes", fixed(static_cast<double>(cost.media_write_bytes) / ops * each) },
        { "partial_words", fixed(static_cast<double>(cost.partial_words) / ops * each) },
    };
}

std::string line_of(const std::vector<Column> &columns, bool names)
{
    std::string line;

    for (const Column &column : columns)
        line += (line.empty() ? "" : ",") + (names ? std::string(column.name) : column.value);
    return line + "\n";
}

std::string csv_columns()
{
    Trace trace;

    return line_of(
        columns_of({}, { &trace, "all", 0, "one-sided", true, 1, 1, 0 }, rpm_cost_init()), true);
}

std::vector<std::pair<std::string, uint32_t>> hint_sets(const Options &options)
{
    std::vector<std::pair<std::string, uint32_t>> sets;
    std::vector<std::string> given = options.hints;
    uint32_t hints;

    if (given.empty() && !options.cumulative)
        given.push_back("all");
    for (const std::string &text : given) {
        std::string name = text;

        cli::check("--hints " + text, rpm_hints_parse(text.c_str(), &hints));
        std::replace(name.begin(), name.end(), ',', '+');
        sets.emplace_back(name, hints);
    }
    for (const auto &step : kCumulative) {
        if (!options.cumulative)
            break;
        cli::check(step[1], rpm_hints_parse(step[1], &hints));
        sets.emplace_back(step[0], hints);
    }
    return sets;
}

std::vector<Point> points_of(const Options &options, const std::vector<Trace> &traces)
{
    std::vector<Point> points;
    auto sets = hint_sets(options);
    auto each = [&](const Trace &trace, const std::string &phases, const std::string &durability) {
        for (const auto &[name, hints] : sets)
            for (uint32_t threads : options.threads)
                for (uint32_t coroutines : options.coroutines)
                    for (double pause : options.pauses_us)
                        points.push_back({ &trace, name, hints, phases, durability == "on", threads,
                                           coroutines, pause });
    };

    for (const Trace &trace : traces)
        for (const std::string &phases : options.phases)
            for (const std::string &durability : options.durability)
                each(trace, phases, durability);
    return points;
}

void print_row(const Point &point, const std::vector<Column> &columns)
{
    printf("%-48s %10s M/s  p50 %s us  p99 %s us  %s requests each\n", label_of(point).c_str(),
           columns[3].value.c_str(), columns[5].value.c_str(), columns[6].value.c_str(),
           columns[8].value.c_str());
    fflush(stdout);
}

int run(const Options &options)
{
    std::vector<Trace> traces;
    rpm_model *model = nullptr;
    FILE *file = options.csv.empty() || options.csv == "-" ? stdout : nullptr;

    for (const std::string &path : options.traces)
        try {
            traces.push_back(read_trace(path));
        } catch (const std::exception &wrong) {
            throw cli::Failure(wrong.what());
        }
    cli::check("preset " + options.preset, rpm_model_open(options.preset.c_str(), &model));
    Model closes(model);

    if (file == nullptr && (file = fopen(options.csv.c_str(), "w")) == nullptr)
        throw cli::Failure(options.csv + ": " + strerror(errno));
    if (!options.csv.empty())
        fputs(csv_columns().c_str(), file);
    for (const Point &point : points_of(options, traces)) {
        std::vector<Column> columns = columns_of(options, point, run_point(model, options, point));

        if (options.csv.empty())
            print_row(point, columns);
        else
            fputs(line_of(columns, false).c_str(), file);
    }
    if (file != stdout && fclose(file) != 0)
        throw cli::Failure(options.csv + ": " + strerror(errno));
    return cli::kDone;
}

void add_options(CLI::App &app, Options &options)
{
    auto words = [](const std::vector<std::string> &all) { return CLI::IsMember(all); };

    app.add_option("TRACE", options.traces, "Written by dtx-bench --trace")->required();
    app.add_option("--preset", options.preset,
                   "Platform: a preset or its file, numbers replaced after commas (hints)")
        ->type_name("NAME");
    app.add_option("--threads,-t", options.threads, "Client threads, one value or several (1)")
        ->delimiter(',')
        ->check(CLI::Range(1, 4096));
    app.add_option("--coroutines,-c", options.coroutines, "Coroutines of a thread (8)")
        ->delimiter(',')
        ->check(CLI::Range(1, 64));
    app.add_option("--pause", options.pauses_us,
                   "Microseconds that a coroutine rests after each transaction (0)")
        ->delimiter(',')
        ->check(CLI::Range(0.0, 1e6));
    app.add_option("--hints", options.hints, "A set of hints, as rpm-explain has them (all)")
        ->allow_extra_args(false);
    app.add_flag("--cumulative", options.cumulative, "None, and then one after another");
    app.add_option("--phases", options.phases,
                   "Who carries phases out: one-sided, call, hybrid (one-sided)")
        ->delimiter(',')
        ->check(words({ "one-sided", "call", "hybrid" }));
    app.add_option("--durability", options.durability, "on, off (on)")
        ->delimiter(',')
        ->check(words({ "on", "off" }));
    app.add_option("--machines", options.machines,
                   "Client machines, each with a port of its own (0: no limit)")
        ->check(CLI::Range(0, 4096));
    app.add_option("--cores", options.cores, "Cores of a server that serve calls (10)")
        ->check(CLI::Range(1, 64));
    app.add_option("--transactions,-n", options.transactions,
                   "To measure for each row (5000, or 10 for each coroutine)")
        ->check(CLI::Range(uint64_t{ 1 }, uint64_t{ 1 } << 24));
    app.add_option("--seed", options.seed, "Of every choice the model makes (1)");
    app.add_option("--csv", options.csv, "Write rows as CSV; - is standard output")
        ->type_name("FILE");
    app.add_option("--prefix", options.prefix, "First column of a row (model)");
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app("What the transactions of a trace cost on a modelled platform", "dtx-model");
    Options options;

    app.footer(kExamples);
    add_options(app, options);
    return cli::run(app, argc, argv, [&] { return run(options); });
}
