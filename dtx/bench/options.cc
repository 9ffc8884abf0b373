/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options.cc: the options of dtx-bench. Options common to all workloads belong to the program and
 * may also follow the name of a workload; a configuration file has them at its top, and the options
 * of a workload in a section with the workload's name.
 */
#include "bench/options.h"

#include "cli.h"
#include "engine/base/canaries.h"
#include "workload/smallbank/smallbank.h"
#include "workload/tatp/tatp.h"
#include "workload/tpcc/tpcc.h"
#include "workload/ycsb/ycsb.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace dtx::bench
{

namespace
{

constexpr uint32_t kThreadsMax = 1024; /* on the performance model; on servers --coordinators
                                          limits them further */
constexpr uint32_t kCoroutinesMax = 1024;

/* A share in per cent, kept in ten-thousandths. */
void percent_option(CLI::App *app, const std::string &name, uint32_t &value,
                    const std::string &text)
{
    app->add_option_function<double>(
           name,
           [&value](const double &percent) {
               value = static_cast<uint32_t>(std::lround(percent * 100));
           },
           text)
        ->type_name("PERCENT")
        ->check(CLI::Range(0.0, 100.0));
}

template <class Value>
CLI::Option *number(CLI::App &app, const std::string &name, Value &value, const std::string &text,
                    double least, double most)
{
    auto range = [name, least, most](const std::string &word) {
        char *end = nullptr;
        double given = std::strtod(word.c_str(), &end);
        char wrong[160];

        if (*end == '\0' && !word.empty() && given >= least && given <= most)
            return std::string();
        std::snprintf(wrong, sizeof(wrong), "%s is not between %.10g and %.10g", word.c_str(),
                      least, most);
        return std::string(wrong);
    };

    return app.add_option(name, value, text)->check(CLI::Validator(range, ""));
}

void add_servers(CLI::App &app, Options &options)
{
    app.add_option("--url", options.urls,
                   "URL of a server, repeated for each (local servers are started); or sim:, "
                   "the performance model")
        ->type_name("URL");
    number(app, "--servers", options.servers, "Number of local servers to start (3)", 1, 64);
    app.add_option("--link", options.link, "How clients reach the local servers (direct)")
        ->check(CLI::IsMember({ "direct", "ring", "unix", "tcp" }));
    app.add_option("--domain", options.domain,
                   "Persistence domain that the local servers declare (adr)")
        ->check(CLI::IsMember({ "adr", "eadr" }));
    app.add_flag("--load", options.load,
                 "Create and load the database first, as on local servers in any case");
    app.add_flag("--keep", options.keep, "Keep the pools of the local servers and print where");
    cli::secret_option(&app);
}

/* Accepts the words that @parse accepts. */
template <class Parse> CLI::Validator parsed_by(Parse parse)
{
    return CLI::Validator(
        [parse](const std::string &words) {
            try {
                (void)parse(words);
            } catch (const Error &error) {
                return std::string(error.what());
            }
            return std::string();
        },
        "");
}

void add_database(CLI::App &app, Options &options)
{
    number(app, "--replicas", options.replicas, "Copies of a row and of a log record (2)", 1, 64);
    cli::offer(app.add_option("--phases", options.phases,
                              "fewest, one-sided, call, hybrid, or the phases that call the "
                              "server CPU: lock,commit (fewest)"),
               Phases::words(), cli::Value::kList)
        ->check(parsed_by(Phases::parse));
    cli::offer(app.add_option("--techniques", options.techniques,
                              "all, none, those to switch on: throttle,backoff,depth,guesses, or "
                              "those to switch off: -depth (all)"),
               Techniques::words(), cli::Value::kList)
        ->check(parsed_by(Techniques::parse));
    app.add_option_function<std::string>(
           "--durability", [&options](const std::string &word) { options.durable = word == "on"; },
           "on, or off: write no redo log and flush nothing (on)")
        ->check(CLI::IsMember({ "on", "off" }));
    number(app, "--coordinators", options.coordinators,
           "Sessions that the database has logs for, at most " + std::to_string(kCoordinatorsMax) +
               " (64)",
           1, kCoordinatorsMax);
    cli::size_option(&app, "--log-size", options.log_bytes,
                     "Size of a session's log on a server (8M)");
    cli::hints_option(app.add_option("--hints", options.hints,
                                     "Hints that the library applies, as in rpm-explain (all)"));
    app.add_option("--load-seed", options.load_seed, "Seed of the load (1)");
    /* A rule that the engine violates, so that tests see whether the checks detect it. */
    app.add_option("--canary", options.canary)
        ->transform(CLI::CheckedTransformer(kCanaryNames))
        ->group("");
    /* For tests: in how many of 256 steps another coroutine runs first, so that more transactions
     * are unfinished at any time. */
    number(app, "--interleave", options.interleave, "", 0, 255)->group("");
}

void add_run(CLI::App &app, Options &options)
{
    number(app, "--threads,-t", options.threads, "Threads, each with a session (2)", 1,
           kThreadsMax);
    number(app, "--coroutines,-c", options.coroutines, "Coroutines of each thread (8)", 1,
           kCoroutinesMax);
    number(app, "--seconds,-s", options.seconds, "Duration of the run (10)", 0.01, 1e6);
    number(app, "--transactions,-n", options.transactions,
           "Number of transactions by all threads together, instead of a duration", 1, 1e15);
    number(app, "--interval", options.interval, "Seconds between samples (1)", 0.01, 1e6);
    app.add_option("--seed", options.seed, "Seed of the run (1)")->check(CLI::NonNegativeNumber);
    number(app, "--coordinator", options.coordinator,
           "Session number of the first thread; unique among processes (0)", 0,
           kCoordinatorsMax - 1);
    app.add_flag(
        "--shared", [&options](int64_t) { options.alone = false; },
        "Other processes use the database too: do not check it, record no final state");
    number(app, "--lease-ms", options.lease_us,
           "Take a lock from a connected session that holds it for longer (2000)", 1, 3600000)
        ->each([&options](const std::string &) { options.lease_us *= 1000; });
    app.add_flag("--check,!--no-check", options.check,
                 "Check the rows on every copy afterwards (on)");
}

void add_output(CLI::App &app, Options &options)
{
    app.add_option("--history", options.history,
                   "Write the reads and writes of each transaction, for dtx-check")
        ->type_name("FILE");
    app.add_option("--receipts", options.receipts,
                   "Append outcomes of TPC-C transactions as they are reported, for dtx-check")
        ->type_name("FILE");
    app.add_flag("--unbuffered", options.unbuffered,
                 "Write each line of the history at once, for a run that will be killed");
    app.add_option("--trace", options.trace,
                   "Write which remote objects attempts access, for dtx-model; with -t 1 -c 1")
        ->type_name("FILE");
    app.add_option("--json", options.json, "Write all measurements; - is standard output")
        ->type_name("FILE");
    app.add_option("--csv", options.csv,
                   "Append a row whose first ten columns are SMART's; - is standard output")
        ->type_name("FILE");
    app.add_option("--prefix", options.prefix, "First column of that row (dtx)");
    app.set_config("--config", "", "Read options from a file")->type_name("FILE");
    app.allow_config_extras(false); /* a misspelt key must be an error */
}

void add_smallbank(CLI::App &app, Options &options)
{
    CLI::App *sub = app.add_subcommand("smallbank", "Six short programs of a bank");
    smallbank::Parameters &parameters = options.smallbank;

    sub->fallthrough();
    number(*sub, "--accounts", parameters.accounts, "Customers (100000)", 2, 1 << 30);
    number(*sub, "--hot", parameters.hot, "Customers in the hot set (4000)", 2, 1 << 30);
    number(*sub, "--hot-percent", parameters.hot_percent, "Accesses that go to the hot set (90)", 0,
           100);
    sub->add_flag("--low-balances", parameters.low_balances,
                  "Balances of 0 to 50 instead of 10,000 to 50,000");
    sub->add_flag("--send-payment,!--no-send-payment", parameters.send_payment,
                  "Run the sixth program, SendPayment (on)");
}

void add_tpcc(CLI::App &app, Options &options)
{
    CLI::App *sub = app.add_subcommand("tpcc", "TPC-C-derived: five transactions of a wholesaler");
    tpcc::Parameters &parameters = options.tpcc;

    sub->fallthrough();
    number(*sub, "--warehouses,-w", parameters.warehouses, "Warehouses (one for each thread)", 1,
           10000)
        ->each([&options](const std::string &) { options.warehouses_given = true; });
    number(*sub, "--items", parameters.items, "Items (100000)", 15, 1000000);
    number(*sub, "--customers", parameters.customers, "Customers of a district (3000)", 10, 3000);
    percent_option(sub, "--remote-lines", parameters.remote_lines,
                   "Order lines from another warehouse (1)");
    percent_option(sub, "--remote-payments", parameters.remote_payments,
                   "Payments of another warehouse's customers (15)");
    percent_option(sub, "--rollbacks", parameters.rollbacks,
                   "New orders of an item that does not exist (1)");
    sub->add_option_function<std::string>(
           "--mix",
           [&parameters](const std::string &word) {
               parameters.percentages = word == "percent";
               parameters.new_order_only = word == "new-order";
           },
           "deck: shuffled cards, 10 10 1 1 1; percent: 45 43 4 4 4; new-order: no others (deck)")
        ->check(CLI::IsMember({ "deck", "percent", "new-order" }));
    number(*sub, "--room", parameters.room,
           "New orders of a warehouse that memory is allocated for (100000)", 1, 100000000);
}

void add_tatp(CLI::App &app, Options &options)
{
    CLI::App *sub = app.add_subcommand("tatp", "Seven short transactions of a telephone network");
    tatp::Parameters &parameters = options.tatp;

    sub->fallthrough();
    number(*sub, "--subscribers", parameters.subscribers, "Subscribers (100000)", 1, 1 << 30);
    sub->add_flag("--uniform", parameters.uniform,
                  "Draw subscribers uniformly, unlike the specification");
    sub->add_option_function<std::string>(
           "--update-rule",
           [&parameters](const std::string &word) { parameters.abort_rule = word == "abort"; },
           "If an update finds no special facility: commit the rest, or abort (commit)")
        ->check(CLI::IsMember({ "commit", "abort" }));
}

void add_ycsb(CLI::App &app, Options &options)
{
    CLI::App *sub =
        app.add_subcommand("ycsb", "YCSB: a remote hash table or B+tree as a key-value store");
    ycsb::Parameters &parameters = options.ycsb;

    sub->fallthrough();
    sub->add_option_function<std::string>(
           "--workload", [&parameters](const std::string &word) { parameters.workload = word[0]; },
           "Core workload: a update-heavy, b read-mostly, c reads, d latest, e scans, "
           "f read-modify-write (a)")
        ->check(CLI::IsMember({ "a", "b", "c", "d", "e", "f" }));
    sub->add_option_function<std::string>(
           "--index",
           [&parameters](const std::string &word) { parameters.ordered = word == "ordered"; },
           "hash, or ordered: a B+tree, as workload e needs (hash)")
        ->check(CLI::IsMember({ "hash", "ordered" }));
    sub->add_option_function<double>(
           "--theta",
           [&parameters](const double &theta) {
               parameters.theta = static_cast<uint32_t>(std::lround(theta * 10000));
           },
           "Skew of the Zipf distribution of records; 0: uniform (0.99)")
        ->check(CLI::Range(0.0, 0.9999));
    number(*sub, "--keys", parameters.keys, "Records of the load (100000)", 2, 4294967296.0);
    number(*sub, "--value", parameters.value_bytes, "Bytes of a value (8)", ycsb::kValueLeast,
           ycsb::kValueMost);
    number(*sub, "--room", parameters.room, "Inserts that memory is allocated for (100000)", 0,
           4294967296.0);
}

} // namespace

void add_options(CLI::App &app, Options &options)
{
    app.require_subcommand(1);
    add_servers(app, options);
    add_database(app, options);
    add_run(app, options);
    add_output(app, options);
    add_smallbank(app, options);
    add_tpcc(app, options);
    add_tatp(app, options);
    add_ycsb(app, options);
}

/* The performance model carries out a trace, so these options would have no effect. */
static void refuse_beside_sim(const Options &options)
{
    if (options.urls.size() != 1)
        throw CLI::ValidationError("--url",
                                   "sim: excludes other URLs; --servers sets how many it models");
    if (options.load || options.keep)
        throw CLI::ValidationError("--url", "sim: excludes --load and --keep");
    if (!options.history.empty() || !options.receipts.empty())
        throw CLI::ValidationError("--url", "sim: excludes --history and --receipts");
    if (!options.json.empty() || !options.csv.empty())
        throw CLI::ValidationError("--url", "sim: excludes --json and --csv; use dtx-model --csv");
    if (options.techniques != "all")
        throw CLI::ValidationError("--url", "sim: excludes --techniques: it models no conflicts");
}

/* The threads take consecutive coordinator numbers, from options.coordinator on. */
static void expect_coordinators(const Options &options)
{
    uint32_t needed = options.coordinator + options.threads;
    std::string text = "sessions " + std::to_string(options.coordinator) + " to " +
                       std::to_string(needed - 1) + " need ";

    if (needed > kCoordinatorsMax)
        text += "more than the " + std::to_string(kCoordinatorsMax) + " that a database allows";
    else
        text += "--coordinators " + std::to_string(needed);
    if (needed > options.coordinators)
        throw CLI::ValidationError(
            options.threads > options.coordinators ? "--threads" : "--coordinator", text);
}

/* Throws Error if the file could not be written at the end of the run. Does not open the file: the
 * path may be a named pipe, whose reader would see an end of file when this closes it. */
static void expect_place(const std::string &path)
{
    std::filesystem::path folder = std::filesystem::path(path).parent_path();
    bool there = access(path.c_str(), F_OK) == 0;
    std::error_code ignored;
    std::string asked = there ? path : folder.empty() ? "." : folder.string();

    if (path.empty() || path == "-")
        return;
    if (std::filesystem::is_directory(path, ignored))
        throw Error(0, path + ": " + strerror(EISDIR));
    if (access(asked.c_str(), there ? W_OK : W_OK | X_OK) != 0)
        throw Error(0, path + ": " + strerror(errno));
}

void expect_places(const Options &options)
{
    for (const std::string *path :
         { &options.history, &options.receipts, &options.trace, &options.json, &options.csv })
        expect_place(*path);
}

std::unique_ptr<Sim> settle(Options &options)
{
    std::unique_ptr<Sim> sim;

    if (std::any_of(options.urls.begin(), options.urls.end(), is_sim)) {
        refuse_beside_sim(options);
        sim = std::make_unique<Sim>(options);
        options.tpcc.warehouses =
            options.warehouses_given ? options.tpcc.warehouses : options.servers;
        options.warehouses_given = true;
    }

    uint32_t servers = options.shards();

    expect_coordinators(options);
    if (!options.receipts.empty() && options.workload != "tpcc")
        throw CLI::ValidationError("--receipts", "only the workload tpcc writes receipts");
    if (options.replicas > servers)
        throw CLI::ValidationError("--replicas",
                                   std::to_string(options.replicas) +
                                       " copies need as many servers; here, at most " +
                                       std::to_string(servers));
    if (!options.trace.empty() && (options.threads != 1 || options.coroutines != 1))
        throw CLI::ValidationError("--trace", "needs one thread of one coroutine (-t 1 -c 1)");
    if (!options.trace.empty() && !options.history.empty())
        throw CLI::ValidationError("--trace", "excludes --history");
    if (!options.own_servers() && options.keep)
        throw CLI::ValidationError("--keep", "is for local servers only, without --url");
    if (!options.warehouses_given)
        options.tpcc.warehouses = options.threads;
    options.load = options.load || options.own_servers();
    options.smallbank.servers = options.tpcc.servers = options.tatp.servers = options.ycsb.servers =
        servers;
    options.smallbank.load_seed = options.tpcc.load_seed = options.tatp.load_seed =
        options.load_seed;
    if (options.workload == "smallbank")
        options.smallbank.verify();
    else if (options.workload == "tpcc")
        options.tpcc.verify();
    else if (options.workload == "tatp")
        options.tatp.verify();
    else
        options.ycsb.verify();
    return sim;
}

std::unique_ptr<Workload> make_workload(const Options &options)
{
    if (options.workload == "smallbank")
        return std::make_unique<smallbank::SmallBank>(options.smallbank);
    if (options.workload == "tpcc")
        return std::make_unique<tpcc::Tpcc>(options.tpcc);
    if (options.workload == "tatp")
        return std::make_unique<tatp::Tatp>(options.tatp);
    return std::make_unique<ycsb::Ycsb>(options.ycsb);
}

std::vector<std::pair<std::string, Parameter>> parameters_of(const Options &options)
{
    const smallbank::Parameters &bank = options.smallbank;
    const tpcc::Parameters &trade = options.tpcc;

    if (options.workload == "smallbank")
        return { { "accounts", bank.accounts },
                 { "hot", bank.hot },
                 { "hot_percent", bank.hot_percent },
                 { "low_balances", uint64_t{ bank.low_balances } },
                 { "send_payment", uint64_t{ bank.send_payment } } };
    if (options.workload == "tpcc")
        return { { "warehouses", trade.warehouses },
                 { "items", trade.items },
                 { "customers", trade.customers },
                 { "remote_lines_of_10000", trade.remote_lines },
                 { "remote_payments_of_10000", trade.remote_payments },
                 { "rollbacks_of_10000", trade.rollbacks },
                 { "percentages", uint64_t{ trade.percentages } },
                 { "new_order_only", uint64_t{ trade.new_order_only } } };
    if (options.workload == "tatp")
        return { { "subscribers", options.tatp.subscribers },
                 { "uniform", uint64_t{ options.tatp.uniform } },
                 { "abort_rule", uint64_t{ options.tatp.abort_rule } } };
    return { { "core_workload", std::string(1, options.ycsb.workload) },
             { "keys", options.ycsb.keys },
             { "value_bytes", options.ycsb.value_bytes },
             { "index", std::string(options.ycsb.ordered ? "ordered" : "hash") },
             { "theta", options.ycsb.theta / 1e4 } };
}

dtx::Options cluster_options(const Options &options, const std::vector<std::string> &urls)
{
    dtx::Options made;

    made.urls = urls;
    made.replicas = options.replicas;
    made.phases = Phases::parse(options.phases);
    made.techniques = Techniques::parse(options.techniques);
    made.durable = options.durable;
    made.coordinators = options.coordinators;
    made.log_bytes = options.log_bytes;
    made.hints = options.hints;
    made.seed = options.seed;
    made.canary = options.canary;
    made.interleave = options.interleave;
    if (options.lease_us != 0)
        made.lease_us = options.lease_us;
    if (!cli::secret_file().empty())
        made.secret = cli::read_secret(cli::secret_file());
    return made;
}

} // namespace dtx::bench
