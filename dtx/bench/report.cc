/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report.cc: print results as text, JSON or CSV.
 */
#include "bench/report.h"

#include "output.h"

#include <nlohmann/json.hpp>

namespace dtx::bench
{

namespace
{

using Json = nlohmann::ordered_json;

double ratio(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

double millions(uint64_t count, double seconds)
{
    return seconds > 0 ? static_cast<double>(count) / seconds / 1e6 : 0;
}

double us(uint64_t ns)
{
    return static_cast<double>(ns) / 1e3;
}

double mean_us(const rpm_hist &hist)
{
    return hist.count == 0 ? 0 : us(hist.sum) / static_cast<double>(hist.count);
}

struct Column {
    const char *name;
    std::string value;
};

std::string fixed(double value)
{
    char text[64];

    std::snprintf(text, sizeof(text), "%.6f", value);
    return text;
}

/* Columns of SMART's programs for its hash table and its B+tree. */
std::vector<Column> smart_index_columns(const Report &report)
{
    const Options &options = report.options;
    const RunResult &result = report.result;

    return {
        { "name", options.prefix },
        { "dataset", std::string("ycsb-") + options.ycsb.workload },
        { "threads", std::to_string(options.threads) },
        { "coroutines", std::to_string(options.coroutines) },
        { "key_bytes", std::to_string(sizeof(uint64_t)) },
        { "value_bytes", std::to_string(options.ycsb.value_bytes) },
        { "keys", std::to_string(options.ycsb.keys) },
        { "mops", fixed(millions(report.all().committed, result.seconds)) },
        { "p50_us", fixed(us(rpm_hist_percentile(&result.latency, 500))) },
        { "p99_us", fixed(us(rpm_hist_percentile(&result.latency, 990))) },
    };
}

/* Columns of SMART's program for transactions. */
std::vector<Column> smart_columns(const Report &report)
{
    const RunResult &result = report.result;
    uint64_t attempts = report.all().attempts();
    uint64_t committed = report.all().committed;

    return {
        { "prefix", report.options.prefix },
        { "threads", std::to_string(report.options.threads) },
        { "coroutines", std::to_string(report.options.coroutines) },
        { "attempted_mtxns", fixed(millions(attempts, result.seconds)) },
        { "committed_mtxns", fixed(millions(committed, result.seconds)) },
        { "p50_us", fixed(us(rpm_hist_percentile(&result.latency, 500))) },
        { "p99_us", fixed(us(rpm_hist_percentile(&result.latency, 990))) },
        { "abort_rate", fixed(attempts == 0 ? 0 : 1 - ratio(committed, attempts)) },
        { "remote_ops_per_attempt", fixed(ratio(result.counters.remote, attempts)) },
        { "remote_mops", fixed(millions(result.counters.remote, result.seconds)) },
    };
}

std::vector<Column> own_columns(const Report &report)
{
    const Options &options = report.options;
    const RunResult &result = report.result;
    KindCounts all = report.all();

    return {
        { "workload", options.workload },
        { "servers", std::to_string(options.shards()) },
        { "own_servers", options.own_servers() ? "yes" : "no" },
        { "replicas", std::to_string(options.replicas) },
        { "link", options.own_servers() ? options.link : "url" },
        { "phases", options.phases },
        { "techniques", options.techniques },
        { "durability", options.durable ? "on" : "off" },
        { "hints", options.hints },
        { "seed", std::to_string(options.seed) },
        { "seconds", fixed(result.seconds) },
        { "committed", std::to_string(all.committed) },
        { "business_aborts", std::to_string(all.aborted) },
        { "conflicts", std::to_string(all.conflicts) },
        { "unknown", std::to_string(all.unknown) },
        { "mean_us", fixed(mean_us(result.latency)) },
        { "p90_us", fixed(us(rpm_hist_percentile(&result.latency, 900))) },
        { "p999_us", fixed(us(rpm_hist_percentile(&result.latency, 999))) },
        { "max_us", fixed(us(result.latency.max)) },
        { "verified", !report.verified.done           ? "no"
                      : report.verified.wrong.empty() ? "right"
                                                      : "wrong" },
    };
}

std::string text_of(const Parameter &value)
{
    if (const std::string *word = std::get_if<std::string>(&value))
        return *word;
    if (const double *real = std::get_if<double>(&value))
        return fixed(*real);
    return std::to_string(std::get<uint64_t>(value));
}

std::vector<Column> columns_of(const Report &report)
{
    std::vector<Column> all =
        report.options.workload == "ycsb" ? smart_index_columns(report) : smart_columns(report);
    std::vector<Column> own = own_columns(report);
    std::string parameters;

    all.insert(all.end(), own.begin(), own.end());
    for (const auto &[name, value] : parameters_of(report.options))
        parameters += (parameters.empty() ? "" : " ") + name + "=" + text_of(value);
    all.push_back({ "parameters", parameters });
    return all;
}

Json counts_json(const KindCounts &counts)
{
    return { { "committed", counts.committed },
             { "business_aborts", counts.aborted },
             { "conflicts", counts.conflicts },
             { "unknown", counts.unknown } };
}

Json options_json(const Options &options)
{
    Json json = { { "threads", options.threads },
                  { "coroutines", options.coroutines },
                  { "servers", options.shards() },
                  { "own_servers", options.own_servers() },
                  { "urls", options.urls },
                  { "replicas", options.replicas },
                  { "link", options.own_servers() ? options.link : "url" },
                  { "phases", options.phases },
                  { "techniques", options.techniques },
                  { "durability", options.durable ? "on" : "off" },
                  { "hints", options.hints },
                  { "seed", options.seed },
                  { "load_seed", options.load_seed } };

    for (const auto &[name, value] : parameters_of(options))
        std::visit([&slot = json["parameters"][name]](const auto &plain) { slot = plain; }, value);
    return json;
}

Json latency_json(const rpm_hist &hist)
{
    Json json = { { "count", hist.count }, { "mean", mean_us(hist) } };

    for (uint32_t permille : { 500u, 900u, 990u, 999u })
        json["p" + std::to_string(permille)] = us(rpm_hist_percentile(&hist, permille));
    json["max"] = us(hist.max);
    return json;
}

/* Network counters: of the run, and for each attempt. */
Json network_json(const Counters &counters, uint64_t attempts)
{
    Json json;

    for (const auto &[name, count] : { std::pair{ "round_trips", counters.round_trips },
                                       std::pair{ "messages", counters.messages },
                                       std::pair{ "sent_bytes", counters.sent_bytes },
                                       std::pair{ "received_bytes", counters.received_bytes } }) {
        json[name] = count;
        json[std::string(name) + "_per_attempt"] = ratio(count, attempts);
    }
    return json;
}

Json json_of(const Report &report)
{
    const RunResult &result = report.result;
    Json json = { { "program", "dtx-bench" },
                  { "version", rpm_version() },
                  { "workload", report.options.workload },
                  { "options", options_json(report.options) },
                  { "load_seconds", report.load_seconds },
                  { "seconds", result.seconds },
                  { "counts", counts_json(report.all()) } };

    for (size_t i = 0; i < report.kinds.size(); i++)
        json["kinds"][report.kinds[i]] = counts_json(result.tally.counts[i]);
    json["skipped_deliveries"] = result.tally.skipped;
    json["committed_per_second"] = millions(report.all().committed, result.seconds) * 1e6;
    json["latency_us"] = latency_json(result.latency);
    json["remote_operations"] = result.counters.remote;
    json["network"] = network_json(result.counters, report.all().attempts());
    json["rejoined"] = result.counters.rejoined;
    json["mended"] = result.counters.mended;
    json["series"] = Json::array();
    for (const Sample &sample : result.samples) {
        Json one = counts_json(sample.counts);

        one["seconds"] = sample.seconds;
        json["series"].push_back(one);
    }
    json["verified"] = report.verified.done;
    json["wrong"] = report.verified.wrong;
    json["full"] = result.full;
    return json;
}

void put_text(const std::string &path, cli::Mode mode, const std::string &text)
{
    cli::OutFile file(path, mode);

    file.write(text);
    file.close();
}

} // namespace

KindCounts Report::all() const
{
    KindCounts sum;

    for (const KindCounts &counts : result.tally.counts)
        sum += counts;
    return sum;
}

void print_report(const Report &report)
{
    const RunResult &result = report.result;
    KindCounts all = report.all();

    printf("%-24s %12s %12s %12s %9s\n", report.options.workload.c_str(), "committed", "aborted",
           "conflicts", "unknown");
    for (size_t i = 0; i < report.kinds.size(); i++) {
        const KindCounts &counts = result.tally.counts[i];

        printf("  %-22s %12llu %12llu %12llu %9llu\n", report.kinds[i].c_str(),
               (unsigned long long)counts.committed, (unsigned long long)counts.aborted,
               (unsigned long long)counts.conflicts, (unsigned long long)counts.unknown);
    }
    printf("%.0f committed a second (%u threads of %u coroutines, %u servers, %u replicas, "
           "durability %s, %.2f s)\n",
           millions(all.committed, result.seconds) * 1e6, report.options.threads,
           report.options.coroutines, report.options.shards(), report.options.replicas,
           report.options.durable ? "on" : "off", result.seconds);
    printf("latency of all transactions, retries included: p50 %s, p99 %s, p99.9 %s, max %s\n",
           cli::ns_text(rpm_hist_percentile(&result.latency, 500)).c_str(),
           cli::ns_text(rpm_hist_percentile(&result.latency, 990)).c_str(),
           cli::ns_text(rpm_hist_percentile(&result.latency, 999)).c_str(),
           cli::ns_text(result.latency.max).c_str());
    printf("%.1f remote operations for each attempt\n",
           ratio(result.counters.remote, all.attempts()));
    if (result.counters.messages != 0)
        printf("%.2f round trips, %.2f messages, %.0f bytes out and %.0f in for each attempt\n",
               ratio(result.counters.round_trips, all.attempts()),
               ratio(result.counters.messages, all.attempts()),
               ratio(result.counters.sent_bytes, all.attempts()),
               ratio(result.counters.received_bytes, all.attempts()));
    if (report.options.workload == "tpcc" && result.tally.skipped != 0)
        printf("%llu deliveries of districts skipped: nothing to deliver\n",
               (unsigned long long)result.tally.skipped);
    for (const std::string &wrong : report.verified.wrong)
        printf("wrong: %s\n", wrong.c_str());
    if (!result.full.empty())
        printf("ended after %.2f s: %s%s\n", result.seconds, result.full.c_str(),
               report.options.workload == "tpcc"   ? "; --room says how many orders fit"
               : report.options.workload == "ycsb" ? "; --room says how many inserts fit"
                                                   : "");
    if (report.verified.done && report.verified.wrong.empty())
        printf("checked: rows and sums are correct on all copies\n");
    fflush(stdout);
}

void write_json(const Report &report)
{
    std::string text = json_of(report).dump(2) + "\n";

    put_text(report.options.json, cli::Mode::kReplace, text);
}

void append_csv(const Report &report)
{
    std::string row;

    for (const Column &column : columns_of(report))
        row += (row.empty() ? "" : ",") + cli::csv_field(column.value);
    put_text(report.options.csv, cli::Mode::kAppend, row + "\n");
}

std::string csv_columns(const std::string &workload)
{
    Options options;

    options.workload = workload;

    RunResult result(0);
    Report report{ options, {}, result, 0, {} };
    std::string names;

    for (const Column &column : columns_of(report))
        names += (names.empty() ? "" : ",") + std::string(column.name);
    return names;
}

void print_progress(const Sample &now, const Sample &before)
{
    double seconds = now.seconds - before.seconds;
    auto rate = [seconds](uint64_t a, uint64_t b) { return static_cast<double>(a - b) / seconds; };

    fprintf(stderr, "\r%6.0f s %10.0f committed/s %9.0f aborted/s %9.0f conflicts/s %6llu unknown",
            now.seconds, rate(now.counts.committed, before.counts.committed),
            rate(now.counts.aborted, before.counts.aborted),
            rate(now.counts.conflicts, before.counts.conflicts),
            (unsigned long long)now.counts.unknown);
    fflush(stderr);
}

} // namespace dtx::bench
