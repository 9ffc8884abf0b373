/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpm_pathbench.cc: what operations cost on the paths of a server with a DPU, on the performance
 * model: a sweep over paths, operations, sizes and depths; the rules for users, on and off;
 * experiments with operations of several steps; and comparisons with limits and published figures.
 * With --url the sweep is measured on running servers.
 */
#include "calibrate.h"
#include "cases.h"
#include "check.h"
#include "cli.h"
#include "experiments.h"
#include "live.h"

namespace
{

using paths::Json;

const char kExamples[] = "Examples:\n"
                         "  rpm-pathbench --path 1,2 --op read --size 64,4K\n"
                         "  rpm-pathbench --preset bf3 --json\n"
                         "  rpm-pathbench --rules\n"
                         "  rpm-pathbench --experiment kv\n"
                         "  rpm-pathbench --url verbs://host:7471 --url tcp://dpu:7480\n"
                         "  rpm-pathbench --check paths     (published figures; in the sources)\n";

struct Options {
    std::string preset = "bf2";
    std::vector<std::string> paths = paths::path_names();
    std::vector<std::string> ops = paths::op_names();
    std::vector<std::string> sizes = { "64", "4K", "64K" };
    std::vector<uint32_t> depths = { 1, 16 };
    uint32_t threads = 1;
    uint64_t seed = 1;
    std::string check;
    std::vector<std::string> experiments;
    bool rules = false;
    bool json = false;
    std::string calibrate;
    paths::LiveOptions live;
};

/* Cores answer messages on paths 1 and 2 only. */
bool exists(const rpm_path_flow &flow)
{
    return flow.op != RPM_PATH_SEND || flow.path <= RPM_PATH_SOC;
}

std::string row_text(const Json &row)
{
    char text[160];

    std::snprintf(text, sizeof(text),
                  "%-4s %-6s %9llu B x%-3llu %10.3f M/s %9.3f GB/s  p50 %11.1f ns  p99 %11.1f ns\n",
                  row["path"].get<std::string>().c_str(), row["op"].get<std::string>().c_str(),
                  row["bytes"].get<unsigned long long>(), row["depth"].get<unsigned long long>(),
                  row["mops"].get<double>(), row["gbs"].get<double>(), row["p50_ns"].get<double>(),
                  row["p99_ns"].get<double>());
    return text;
}

Json row_of(const Options &options, const rpm_path_flow &flow)
{
    rpm_path_cost cost = paths::run(options.preset, { flow }, options.seed)[0];

    return { { "path", paths::path_name(flow.path) },
             { "op", paths::op_names()[flow.op] },
             { "bytes", flow.bytes },
             { "threads", flow.threads },
             { "depth", flow.depth },
             { "mops", paths::mops(cost) },
             { "gbs", paths::gbs(cost) },
             { "p50_ns", paths::ns(cost.p50_ps) },
             { "p99_ns", paths::ns(cost.p99_ps) },
             { "pcie0_bytes", cost.pcie0_bytes },
             { "pcie1_bytes", cost.pcie1_bytes },
             { "bytes_moved", cost.bytes } };
}

std::vector<uint64_t> sizes_of(const Options &options)
{
    std::vector<uint64_t> sizes;

    for (const std::string &text : options.sizes) {
        uint64_t bytes;

        if (!cli::parse_size(text, &bytes) || bytes == 0)
            throw cli::Failure("--size: not a size: " + text + "; " + cli::size_form());
        sizes.push_back(bytes);
    }
    return sizes;
}

std::vector<rpm_path_flow> flows_of(const Options &options)
{
    std::vector<rpm_path_flow> flows;

    for (const std::string &path : options.paths)
        for (const std::string &op : options.ops)
            for (uint64_t bytes : sizes_of(options))
                for (uint32_t depth : options.depths) {
                    rpm_path_flow flow = {};

                    flow.path = paths::path_of(path);
                    flow.op = paths::op_of(op);
                    flow.threads = options.threads;
                    flow.depth = depth;
                    flow.bytes = bytes;
                    if (exists(flow))
                        flows.push_back(flow);
                }
    return flows;
}

void sweep(const Options &options)
{
    Json rows = Json::array();

    for (const rpm_path_flow &flow : flows_of(options)) {
        rows.push_back(row_of(options, flow));
        if (!options.json)
            cli::print(row_text(rows.back()));
    }
    if (options.json)
        cli::print(Json{ { "preset", options.preset }, { "rows", rows } }.dump(2) + "\n");
}

/* On one path; adds to @rows and @skipped. */
void sweep_live(const Options &options, paths::LivePath &path, Json &rows, Json &skipped)
{
    Json what = path.description();

    if (!options.json)
        cli::print("path " + what["path"].get<std::string>() + ": " +
                   what["url"].get<std::string>() + ": READs and WRITEs by " +
                   what["reads_and_writes_by"].get<std::string>() + "\n");
    for (const std::string &op : options.ops)
        for (uint64_t bytes : sizes_of(options)) {
            std::string why = path.missing(paths::op_of(op), bytes);

            if (!why.empty()) {
                skipped.push_back(
                    { { "path", what["path"] }, { "op", op }, { "bytes", bytes }, { "why", why } });
                if (!options.json)
                    cli::print(what["path"].get<std::string>() + " " + op + " of " +
                               std::to_string(bytes) + " B is not measured: " + why + "\n");
                continue;
            }
            for (uint32_t depth : options.depths) {
                rows.push_back(path.row(paths::op_of(op), bytes, depth));
                if (!options.json)
                    cli::print(row_text(rows.back()));
            }
        }
}

/* One path after the other, so that none takes the CPUs of another. */
void measure_live(const Options &options)
{
    Json rows = Json::array();
    Json skipped = Json::array();
    Json described = Json::array();
    paths::LiveOptions live = options.live;

    live.threads = options.threads;
    live.depth_max = *std::max_element(options.depths.begin(), options.depths.end());
    for (uint64_t bytes : sizes_of(options))
        live.bytes_max = std::max(live.bytes_max, bytes);
    for (size_t i = 0; i < live.urls.size(); i++) {
        paths::LivePath path(live, i);

        described.push_back(path.description());
        sweep_live(options, path, rows, skipped);
    }
    if (options.json)
        cli::print(
            Json{ { "measured", described }, { "rows", rows }, { "skipped", skipped } }.dump(2) +
            "\n");
}

void show_calibration(const Options &options)
{
    paths::LiveOptions live = options.live;

    live.threads = options.threads;
    Json rows = paths::calibrate(live, options.calibrate);
    if (options.json) {
        cli::print(Json{ { "calibration", options.calibrate }, { "rows", rows } }.dump(2) + "\n");
        return;
    }
    for (const Json &row : rows) {
        char text[120];

        std::snprintf(text, sizeof(text), "%-6s %9llu B  %11llu ns  of %llu appends\n",
                      row["by"].get<std::string>().c_str(), row["bytes"].get<unsigned long long>(),
                      row["ns"].get<unsigned long long>(),
                      row["appends"].get<unsigned long long>());
        cli::print(text);
    }
}

/* The user says which path each URL is: from the SoC, the path to the host's server is 3R. */
void check_live(Options &options, bool named)
{
    paths::LiveOptions &live = options.live;

    if (named)
        live.paths = options.paths;
    for (const std::string &path : live.paths)
        if (path == "3D" || path == "4")
            throw cli::Failure("--path " + path +
                               " --url: no connection goes this way; it is "
                               "modelled only");
    if (named && live.paths.size() != live.urls.size())
        throw cli::Failure("--path names " + std::to_string(live.paths.size()) + " paths and " +
                           std::to_string(live.urls.size()) +
                           " --url are given: name one for each, in their order");
    if (live.urls.size() > 2 && !named)
        throw cli::Failure("more than two --url: the first is path 1, the second path 2; name "
                           "each by --path, in their order");
}

void show_rules(const Options &options)
{
    Json rows = Json::array();

    for (const paths::Rule &rule : paths::rules()) {
        double on = paths::measure(rule.on, rule.metric, options.seed);
        double off = paths::measure(rule.off, rule.metric, options.seed);
        char text[160];

        rows.push_back({ { "rule", rule.id },
                         { "what", rule.what },
                         { "number", rule.number },
                         { "on", on },
                         { "off", off },
                         { "gain", rule.less ? off / on : on / off } });
        std::snprintf(text, sizeof(text), "%s  on %12.3f  off %12.3f  x%-8.2f ", rule.id.c_str(),
                      on, off, rule.less ? off / on : on / off);
        if (!options.json)
            cli::print(text + rule.what + "; " + rule.number + "\n");
    }
    if (options.json)
        cli::print(Json{ { "rules", rows } }.dump(2) + "\n");
}

void show_experiments(const Options &options)
{
    Json rows = Json::array();

    for (const std::string &name : options.experiments)
        for (const Json &row : paths::experiment_rows(name, options.seed)) {
            rows.push_back(row);
            if (!options.json)
                cli::print(paths::experiment_text(row));
        }
    if (options.json)
        cli::print(Json{ { "runs", rows } }.dump(2) + "\n");
}

int dispatch(const Options &options)
{
    if (!options.experiments.empty()) {
        show_experiments(options);
        return cli::kDone;
    }
    if (!options.check.empty())
        return paths::check(options.check, options.seed) ? cli::kDone : cli::kFailed;
    if (options.rules)
        show_rules(options);
    else if (!options.calibrate.empty())
        show_calibration(options);
    else if (!options.live.urls.empty())
        measure_live(options);
    else
        sweep(options);
    return cli::kDone;
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app("Show what operations cost on the paths of a server with a DPU", "rpm-pathbench");
    Options options;

    app.footer(kExamples);
    app.add_option("--preset", options.preset,
                   "Platform: bf2, bf3, styx, wave, cx6 (path 1 alone), or a preset file");
    CLI::Option *path = app.add_option("--path", options.paths, "1, 2, 3R, 3D, 4")
                            ->delimiter(',')
                            ->check(CLI::IsMember(paths::path_names()));
    app.add_option("--op", options.ops, "read, write, send; of a copy: from or to the host")
        ->delimiter(',')
        ->check(CLI::IsMember(paths::op_names()));
    app.add_option("--size", options.sizes, "Bytes of one operation: 64,4K")->delimiter(',');
    app.add_option("--depth", options.depths, "Operations of a thread outstanding")
        ->delimiter(',')
        ->check(CLI::Range(1, 64));
    app.add_option("--threads", options.threads, "Threads of clients, or of the SoC")
        ->check(CLI::Range(1, 4096));
    app.add_option("--seed", options.seed, "Of every choice the model makes");
    app.add_flag("--json", options.json, "Write JSON");
    CLI::Option *rules =
        app.add_flag("--rules", options.rules, "Show each rule's effect on preset bf2, on and off");
    CLI::Option *check = app.add_option("--check", options.check,
                                        "Compare the presets with limits and published figures; "
                                        "exit code 1 if one is outside that is not listed")
                             ->type_name("FOLDER")
                             ->expected(0, 1)
                             ->default_str("paths")
                             ->excludes(rules);
    app.add_option("--experiment", options.experiments,
                   "Show the runs of experiments: kv (a Get's alternatives), styx, wave, agent")
        ->delimiter(',')
        ->check(CLI::IsMember(paths::experiment_names()))
        ->excludes(rules)
        ->excludes(check);
    CLI::Option *url =
        app.add_option("--url", options.live.urls,
                       "Measure the running server at URL; the first is path 1, the second path 2")
            ->expected(1)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
            ->type_name("URL")
            ->excludes(rules)
            ->excludes(check);
    app.add_option("--calibrate", options.calibrate,
                   "Measure agent and server of --url URL,agent=URL, and write FILE, with which a "
                   "connection with calibration=FILE begins")
        ->type_name("FILE")
        ->needs(url);
    app.add_option("--time", options.live.seconds, "With --url: seconds of each row")
        ->check(CLI::Range(0.001, 3600.0));
    app.add_option("--timeout", options.live.timeout, "With --url: seconds without an answer")
        ->check(CLI::Range(0.001, 3600.0));
    cli::secret_option(&app);
    return cli::run(app, argc, argv, [&] {
        if (!options.live.urls.empty())
            check_live(options, !path->empty());
        cli::catch_stop();
        return dispatch(options);
    });
}
