/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtx_bench.cc: runs SmallBank, TPC-C, TATP or YCSB on given servers, or on local ones that it
 * starts, and checks afterwards that the rows are what the committed transactions must have left.
 *
 * Exit codes: 0 done and, if checked, correct; 1 failed or a check failed; 2 wrong usage.
 * Tests: tests/tools/dtx_bench_test
 */
#include "bench/history.h"
#include "bench/report.h"
#include "bench/servers.h"
#include "bench/trace.h"
#include "cli.h"
#include "progress.h"

#include <chrono>
#include <optional>

namespace
{

using namespace dtx;

constexpr const char *kExamples =
    "Examples:\n"
    "  dtx-bench smallbank                            ten seconds on three local servers\n"
    "  dtx-bench tpcc -t 2 -w 2 --json -              two warehouses, all numbers as JSON\n"
    "  dtx-bench tpcc --mix new-order --remote-lines 100 -w 4\n"
    "  dtx-bench tatp --url tcp://a:7430/pool --url tcp://b:7430/pool --load\n"
    "  dtx-bench ycsb --workload b --index ordered --keys 1000000 --value 100\n"
    "  dtx-bench smallbank -n 20000 --history run.jsonl && dtx-check history run.jsonl\n"
    "  dtx-bench smallbank --url sim: -t 96           each hint on a modelled platform\n"
    "  dtx-bench --config nightly.toml tpcc           threads = 4 ... and [tpcc] warehouses = 8\n";

std::atomic<bool> stop_run = false;

double seconds_since(std::chrono::steady_clock::time_point start)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/* Creates and loads the database if asked to; returns its totals before the run. */
Totals prepare(const bench::Options &options, Workload &workload, const Cluster &cluster)
{
    if (!options.load) {
        cluster.verify();
        return options.check && options.alone ? workload.totals(cluster, 0) : Totals{};
    }
    /* Load without the canary, so that the run begins with the rows that the checks expect. */
    dtx::Options complete = cluster.options();

    complete.canary = kCanaryNone;
    Cluster loaded(cluster.schema(), complete);

    loaded.create();
    cli::Progress progress;

    dtx::load(workload, loaded, options.threads, &stop_run, [&](double part) {
        progress.show([&] {
            return "loading " + options.workload + ": " +
                   std::to_string(static_cast<int>(part * 100)) + " %";
        });
    });
    return workload.loaded();
}

RunOptions run_options(const bench::Options &options, bench::History *history,
                       bench::Tracer *tracer)
{
    RunOptions made;

    made.threads = options.threads;
    made.coroutines = options.coroutines;
    made.seconds = options.transactions != 0 ? 0 : options.seconds;
    made.transactions = options.transactions;
    made.interval = options.interval;
    made.seed = options.seed;
    made.coordinator = options.coordinator;
    made.stop = &stop_run;
    if (history != nullptr)
        made.listener = [history](uint32_t thread) { return history->listener(thread); };
    if (tracer != nullptr)
        made.listener = [tracer](uint32_t) { return tracer; };
    if (isatty(STDERR_FILENO) != 0)
        made.on_sample = [before = Sample()](const Sample &now) mutable {
            bench::print_progress(now, before);
            before = now;
        };
    return made;
}

bench::Verified verify(const bench::Options &options, Workload &workload, const Cluster &cluster,
                       const Totals &before, const Tally &tally)
{
    bench::Verified verified;

    if (!options.check || !options.alone)
        return verified;
    /* Dozens of tables are read: over one connection to each server. */
    Cluster::Reading reading(cluster);

    verified.done = true;
    for (uint32_t copy = 0; copy < options.replicas; copy++)
        for (const std::string &wrong : workload.check_run(cluster, copy, before, tally))
            verified.wrong.push_back("copy " + std::to_string(copy) + ": " + wrong);
    return verified;
}

int run_on(const bench::Options &options, Workload &workload, const Cluster &cluster)
{
    auto start = std::chrono::steady_clock::now();
    Totals before = prepare(options, workload, cluster);
    double load_seconds = seconds_since(start);
    std::optional<bench::History> history;
    std::optional<Receipts> receipts;
    std::optional<bench::Tracer> tracer;

    if (!options.receipts.empty())
        receipts.emplace(options.receipts);
    if (!options.trace.empty())
        tracer.emplace(options, cluster);
    if (!options.history.empty())
        /* Not "fresh": the file lacks the transactions that loaded the database. */
        history.emplace(options.history, history::Header{ options.workload, options.seed, false },
                        bench::History::Options{ options.coordinator, options.threads,
                                                 options.coroutines, !options.unbuffered });
    RunOptions how =
        run_options(options, history ? &*history : nullptr, tracer ? &*tracer : nullptr);

    how.receipts = receipts ? &*receipts : nullptr;

    RunResult result = dtx::run(workload, cluster, how);

    if (isatty(STDERR_FILENO) != 0)
        fprintf(stderr, "\n");
    if (history && options.alone)
        history->final_state(cluster);
    if (history)
        history->close();
    if (tracer)
        tracer->close(result);
    bench::Report report{ options, workload.kinds(), result, load_seconds,
                          verify(options, workload, cluster, before, result.tally) };

    if (options.json != "-" && !options.quiet)
        bench::print_report(report);
    if (!options.json.empty())
        bench::write_json(report);
    if (!options.csv.empty())
        bench::append_csv(report);
    return report.verified.wrong.empty() && result.full.empty() ? cli::kDone : cli::kFailed;
}

int run(bench::Options &options)
{
    std::optional<bench::Servers> servers;
    std::unique_ptr<bench::Sim> sim;

    try {
        sim = bench::settle(options);
    } catch (const std::exception &wrong) {
        fprintf(stderr, "dtx-bench: %s\nTry 'dtx-bench --help'.\n", wrong.what());
        return cli::kUsage;
    }
    bench::expect_places(options);

    std::unique_ptr<Workload> workload = bench::make_workload(options);

    if (options.own_servers())
        servers.emplace(options, workload->schema());
    cli::catch_stop([] { stop_run = true; });
    Cluster cluster(workload->schema(),
                    bench::cluster_options(options, servers ? servers->urls() : options.urls));
    int code = run_on(options, *workload, cluster);

    if (sim)
        sim->carry_out();
    if (servers && options.keep)
        fprintf(stderr, "the pools are kept in %s\n", servers->folder().c_str());
    return code;
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app("Run transactions by the specifications of benchmarks", "dtx-bench");
    bench::Options options;

    app.footer(kExamples);
    bench::add_options(app, options);
    app.add_flag_callback(
        "--columns",
        [&app] {
            bool chosen = !app.get_subcommands().empty();
            std::string workload = chosen ? app.get_subcommands().front()->get_name() : "";

            printf("%s\n", bench::csv_columns(workload).c_str());
            throw CLI::Success();
        },
        "Print the names of the columns of --csv, also behind the name of a workload");
    return cli::run(app, argc, argv, [&] {
        options.workload = app.get_subcommands().front()->get_name();
        try {
            return run(options);
        } catch (const Error &error) {
            std::string name = error.code() == 0 ? "" : rpm_error_name(error.code());

            throw cli::Failure(name + (name.empty() ? "" : ": ") + error.what());
        }
    });
}
