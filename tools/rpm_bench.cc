/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpm_bench.cc: rpm-bench, the benchmark. This file has the options; the work is in tools/bench/.
 *
 * Tests: tests/tools/
 */
#include "bench/bench.h"
#include "cli.h"

#include <algorithm>

using namespace bench;

static const char *const kExamples =
    "Examples:\n"
    "  rpm-bench run shm:pool --bs 64,256,4k --depth 1,32\n"
    "  rpm-bench run shm:pool,mode=ring --rw mixed --mix 70 --bs 4k --threads 1,2 --json "
    "o.json\n"
    "  rpm-bench compare --json compare.json          needs no server\n"
    "  rpm-bench compare --only \"append direct\" --rounds 3\n"
    "  rpm-bench agent --json agent.json              needs no server or agent\n"
    "  rpm-bench compare --peer librpma --memory /dev/dax0.0\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage. A target that is missed is no failure.";

static std::vector<uint64_t> parse_sizes(const std::vector<std::string> &texts)
{
    std::vector<uint64_t> sizes;

    for (const std::string &text : texts) {
        uint64_t bytes;

        if (!cli::parse_size(text, &bytes) || bytes == 0)
            throw CLI::ValidationError("--bs", "not a size: " + text + "; " + cli::size_form());
        sizes.push_back(bytes);
    }
    return sizes;
}

static uint32_t parse_pace(const std::vector<std::string> &words)
{
    uint32_t pace = 0;

    for (const std::string &word : words)
        pace |= word == "throttle" ? RPM_PACE_THROTTLE : RPM_PACE_EAGER;
    return pace;
}

/* Options of the work to measure. */
static void add_work(CLI::App *sub, RunOptions &options)
{
    CLI::Option *op = sub->add_option("--op", options.op, "append, cas or lock (append)")
                          ->check(CLI::IsMember({ "append", "cas", "lock" }));

    sub->add_option("--rw", options.op, "region writes or reads instead: write, read or mixed")
        ->check(CLI::IsMember({ "write", "read", "mixed" }))
        ->excludes(op);
    sub->add_option("--mix", options.mix, "percent of mixed that are reads (70)")
        ->check(CLI::Range(0u, 100u));
    sub->add_option("--locks", options.locks, "in the table that all threads share (1)")
        ->check(CLI::Range(1u, 65536u));
    sub->add_option_function<std::vector<std::string>>(
           "--bs",
           [&options](const std::vector<std::string> &texts) {
               options.sizes = parse_sizes(texts);
           },
           "block sizes (64,256,4k,64k)")
        ->delimiter(',')
        ->type_name("SIZE,...");
    sub->add_option("--depth", options.depths, "operations outstanding at once (1)")
        ->delimiter(',')
        ->check(CLI::Range(1u, 4096u));
    sub->add_option("--batch", options.batch, "records that share one flush (1)")
        ->check(CLI::Range(1u, 4096u));
    sub->add_option("--threads", options.threads, "each with a connection and an object (1)")
        ->delimiter(',')
        ->check(CLI::Range(1u, 64u));
    sub->add_option("--wait", options.wait, "poll or block (block at depth 1, else poll)")
        ->check(CLI::IsMember({ "poll", "block" }));
}

static void check_run(const RunOptions &options)
{
    bool deep = *std::max_element(options.depths.begin(), options.depths.end()) > 1;
    bool writes = options.op == "append" || options.op == "write" || options.op == "mixed";

    if (options.wait == "poll" && !writes)
        throw CLI::ValidationError(
            "--wait", "poll: only append, write and mixed can be polled, not " + options.op);
    if (options.wait == "block" && deep && (options.op == "write" || options.op == "mixed"))
        throw CLI::ValidationError("--wait",
                                   "block: at depth 1 only; writes at larger depths are polled");
    if (options.batch > 1 && options.op != "append")
        throw CLI::ValidationError("--batch",
                                   "only appends share a flush: use it with --op append");
}

static void add_run(CLI::App &app, RunOptions &options)
{
    CLI::App *sub = app.add_subcommand("run", "Measure a server");

    sub->add_option("URL,--url", options.url, "where, such as shm:NAME")->required();
    cli::secret_option(sub);
    add_work(sub, options);
    sub->add_option("--time", options.seconds, "seconds for each line (1)")
        ->check(CLI::Range(0.01, 1e5));
    sub->add_option("--ramp", options.ramp,
                    "seconds before them that are not measured (a fifth of them, at most 0.2)")
        ->check(CLI::Range(0.0, 1e5));
    sub->add_option("--timeout", options.timeout, "seconds that one call may take (5)")
        ->check(CLI::Range(0.001, 1e6));
    cli::level_option(sub, options.level, "what a completion promises (durable)");
    cli::method_option(sub, options.method,
                       "how bytes become durable (the cheapest that is legal)");
    cli::hints_option(
        sub->add_option("--hints", options.hints, "hints in force: all, none, -H6, H6,H9 (all)"));
    sub->add_option_function<std::vector<std::string>>(
           "--pace",
           [&options](const std::vector<std::string> &words) { options.pace = parse_pace(words); },
           "throttle: find a limit below the depth; eager: no back-off from held locks")
        ->delimiter(',')
        ->check(CLI::IsMember({ "throttle", "eager" }))
        ->type_name("WORD,...");
    sub->add_option("--csv", options.csv, "write the lines to this file, - for standard output")
        ->type_name("FILE");
    sub->add_option("--json", options.json, "the same as JSON")->type_name("FILE");
    sub->final_callback([&options] { check_run(options); });
}

/* Options of all comparisons. */
static void add_rows(CLI::App *sub, CompareOptions &options)
{
    sub->add_option("--rounds", options.rounds, "rounds, librpm and the other in turn (9)")
        ->check(CLI::Range(1u, 1000u));
    sub->add_option("--json", options.json, "write the rows to this file, - for standard output")
        ->type_name("FILE");
    sub->add_option("--only", options.only, "rows whose what and against contain this");
    sub->add_option("--dir", options.dir, "where memory comes from (/dev/shm)")->type_name("DIR");
}

static void add_compare(CLI::App &app, CompareOptions &options)
{
    CLI::App *sub = app.add_subcommand("compare", "Compare the library with the limit and others");

    add_rows(sub, options);
    cli::size_option(sub, "--scan-bytes", options.scan_bytes,
                     "size of the log that is scanned (1G)");
    CLI::Option *peer =
        sub->add_option(
               "--peer", options.peer,
               "against librpma, verbs or libfabric instead; self: ours with one thing changed")
            ->check(CLI::IsMember({ "librpma", "verbs", "libfabric", "self" }));
    sub->add_option("--scheme", options.scheme,
                    "of the link with --peer self: verbs, tcp, ring (verbs)")
        ->check(CLI::IsMember({ "verbs", "tcp", "ring" }))
        ->needs(peer);
    sub->add_option("--address", options.address,
                    "of the peer's server and ours (an RDMA device's; tcp: 127.0.0.1)")
        ->needs(peer);
    sub->add_option("--port", options.port, "of the peer's server; ours takes the next (7204)")
        ->check(CLI::Range(1u, 65534u))
        ->needs(peer);
    sub->add_option("--memory", options.memory,
                    "device both servers lend; what it holds is lost (files in --dir)")
        ->type_name("PATH")
        ->needs(peer);
    cli::method_option(sub, options.method, "ours against a peer (the cheapest that is legal)")
        ->needs(peer);
}

int main(int argc, char **argv)
{
    CLI::App app("Measure librpm, alone or against others.", "rpm-bench");
    RunOptions run_options;
    CompareOptions compare_options;
    CompareOptions agent_options;

    app.footer(kExamples);
    app.require_subcommand(1);
    add_run(app, run_options);
    add_compare(app, compare_options);
    add_rows(app.add_subcommand("agent", "Measure what an agent saves and costs"), agent_options);
    cli::catch_stop();
    return cli::run(app, argc, argv, [&] {
        if (app.got_subcommand("agent"))
            return compare_agent(agent_options);
        return app.got_subcommand("run") ? run(run_options) : compare(compare_options);
    });
}
