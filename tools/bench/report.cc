/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report.cc: the output of rpm-bench run: the table, and the CSV and JSON files.
 *
 * Tests: tests/tools/bench_test
 */
#include "bench/run.h"
#include "facts.h"

#include <sstream>

namespace bench
{

static const uint32_t kPermille[] = { 500, 900, 990, 999 };
static const char *const kPermilleNames[] = { "p50", "p90", "p99", "p99.9" };

static std::unique_ptr<cli::OutFile> open_file(const std::string &path)
{
    return path.empty() ? nullptr : std::make_unique<cli::OutFile>(path);
}

Report::Report(const RunOptions &options)
    : options_(options), csv_(open_file(options.csv)), json_(open_file(options.json)),
      table_(options.csv == "-" || options.json == "-" ? stderr : stdout)
{
    rpm_conn_opts opts = rpm_conn_opts_init();

    facts_ = rpm_facts_init();
    opts.timeout_us = static_cast<uint64_t>(options.timeout * 1e6);
    {
        cli::Conn conn = cli::connect(options.url, &opts);

        cli::check("facts", rpm_conn_facts(conn.get(), &facts_));
    }
    fprintf(
        table_, "%s: %s, domain %s%s%s\n", options.url.c_str(),
        rpm_medium_name(static_cast<rpm_medium>(facts_.medium)),
        rpm_domain_name(static_cast<rpm_domain>(facts_.domain)),
        facts_.domain_declared != 0 ? " (declared)" : "",
        facts_.modelled != 0
            ? ": a model, of which this measures the program; rpm-hints computes the modelled time"
            : "");
    fprintf(table_, "%-7s %7s %5s %5s %7s %12s %12s %10s %10s %10s %10s %10s %10s\n", "op", "bytes",
            "depth", "batch", "threads", "ops/s", "MiB/s", "mean", "p50", "p90", "p99", "p99.9",
            "max");
}

/* Print the counters of the throttle and of lock back-off. */
static void print_pace(std::FILE *table, const struct rpm_conn_stats &stats)
{
    if (stats.throttle_limit != 0)
        fprintf(table,
                "        throttle: %llu operations at last, changed %llu times, %llu posts held\n",
                static_cast<unsigned long long>(stats.throttle_limit),
                static_cast<unsigned long long>(stats.throttle_changes),
                static_cast<unsigned long long>(stats.throttle_held));
    if (stats.backoffs != 0)
        fprintf(table, "        back-off: %llu waits, %s in all\n",
                static_cast<unsigned long long>(stats.backoffs),
                cli::ns_text(stats.backoff_ns).c_str());
}

void Report::print(const Line &line) const
{
    double ops = static_cast<double>(line.tally.records) / line.result.seconds;

    fprintf(table_, "%-7s %7llu %5u %5u %7u %12.0f %12.1f", line.op.c_str(),
            static_cast<unsigned long long>(line.cell.bytes), line.cell.depth, options_.batch,
            line.cell.threads, ops, ops * static_cast<double>(line.cell.bytes) / (1 << 20));
    fprintf(table_, " %10s", cli::ns_text(static_cast<uint64_t>(line.tally.latency.mean)).c_str());
    for (uint32_t permille : kPermille)
        fprintf(table_, " %10s",
                cli::ns_text(rpm_hist_percentile(&line.tally.hist, permille)).c_str());
    fprintf(table_, " %10s\n", cli::ns_text(line.tally.hist.max).c_str());
}

void Report::add(Cell cell, const Result &result)
{
    bool mixed = options_.op == "mixed";

    if (result.seconds <= 0) /* stopped before the measurement began */
        return;
    progress().clear();
    lines_.push_back({ mixed ? "write" : options_.op, cell, result.main, result });
    print(lines_.back());
    if (mixed) {
        lines_.push_back({ "read", cell, result.reads, result });
        print(lines_.back());
    }
    print_pace(table_, result.stats);
    fflush(table_);
}

static double per_second(const Tally &tally, double seconds)
{
    return static_cast<double>(tally.records) / seconds;
}

static std::string level_name(uint32_t level)
{
    return level == 0 ? "" : rpm_level_name(static_cast<rpm_level>(level));
}

static std::string method_name(uint32_t method)
{
    return method == 0 ? "" : rpm_method_name(static_cast<rpm_method>(method));
}

static std::string pace_name(uint32_t pace)
{
    std::string words = (pace & RPM_PACE_THROTTLE) != 0 ? "throttle" : "";

    if ((pace & RPM_PACE_EAGER) != 0)
        words += words.empty() ? "eager" : "+eager";
    return words;
}

/* Each row has all parameters, so that rows of several files can be joined. */
void Report::write_csv(bool complete) const
{
    std::ostringstream text;

    text << "op,bytes,depth,batch,threads,seconds,records,ops_per_second,ops_per_second_sd,mean_ns,"
            "sd_ns,p50_ns,p90_ns,p99_ns,p99.9_ns,max_ns,throttle_limit,throttle_changes,"
            "throttle_held,backoffs,backoff_ns,level,method,medium,domain,hints,pace,ramp_seconds,"
            "url,version,complete\n";
    for (const Line &line : lines_) {
        const struct rpm_conn_stats &stats = line.result.stats;

        text << line.op << ',' << line.cell.bytes << ',' << line.cell.depth << ',' << options_.batch
             << ',' << line.cell.threads << ',' << line.result.seconds << ',' << line.tally.records
             << ',' << per_second(line.tally, line.result.seconds) << ','
             << line.result.rate.deviation() << ',' << line.tally.latency.mean << ','
             << line.tally.latency.deviation();
        for (uint32_t permille : kPermille)
            text << ',' << rpm_hist_percentile(&line.tally.hist, permille);
        text << ',' << line.tally.hist.max << ',' << stats.throttle_limit << ','
             << stats.throttle_changes << ',' << stats.throttle_held << ',' << stats.backoffs << ','
             << stats.backoff_ns << ',' << level_name(line.result.level) << ','
             << method_name(line.result.method) << ','
             << rpm_medium_name(static_cast<rpm_medium>(facts_.medium)) << ','
             << rpm_domain_name(static_cast<rpm_domain>(facts_.domain)) << ','
             << cli::csv_field(options_.hints) << ',' << pace_name(options_.pace) << ','
             << ramp_seconds(options_) << ',' << cli::csv_field(options_.url) << ','
             << rpm_version() << ',' << (complete ? "yes" : "no") << '\n';
    }
    csv_->write(text.str());
    csv_->close();
}

static nlohmann::ordered_json latency_json(const Tally &tally)
{
    nlohmann::ordered_json latency = { { "mean", tally.latency.mean },
                                       { "sd", tally.latency.deviation() } };

    for (size_t i = 0; i < 4; i++)
        latency[kPermilleNames[i]] = rpm_hist_percentile(&tally.hist, kPermille[i]);
    latency["max"] = tally.hist.max;
    return latency;
}

static nlohmann::ordered_json pace_json(const struct rpm_conn_stats &stats)
{
    return { { "throttle_limit", stats.throttle_limit },
             { "throttle_changes", stats.throttle_changes },
             { "throttle_held", stats.throttle_held },
             { "backoffs", stats.backoffs },
             { "backoff_ns", stats.backoff_ns } };
}

void Report::write_json(bool complete) const
{
    nlohmann::ordered_json json = description();
    nlohmann::ordered_json lines = nlohmann::ordered_json::array();

    json["url"] = options_.url;
    facts::add_main(json, facts_);
    json["hints"] = options_.hints;
    json["pace"] = pace_name(options_.pace);
    json["wait"] = options_.wait;
    json["seconds"] = options_.seconds;
    json["ramp_seconds"] = ramp_seconds(options_);
    json["complete"] = complete;
    for (const Line &line : lines_)
        lines.push_back({ { "op", line.op },
                          { "bytes", line.cell.bytes },
                          { "depth", line.cell.depth },
                          { "batch", options_.batch },
                          { "threads", line.cell.threads },
                          { "level", level_name(line.result.level) },
                          { "method", method_name(line.result.method) },
                          { "seconds", line.result.seconds },
                          { "records", line.tally.records },
                          { "ops_per_second", per_second(line.tally, line.result.seconds) },
                          { "ops_per_second_sd", line.result.rate.deviation() },
                          { "memory_bytes", line.result.memory },
                          { "latency_ns", latency_json(line.tally) },
                          { "pace_counters", pace_json(line.result.stats) } });
    json["lines"] = lines;
    json_->write(json.dump(2) + '\n');
    json_->close();
}

void Report::finish(bool complete)
{
    if (!lines_.empty())
        fprintf(table_, "client memory: %s\n",
                cli::size_text(static_cast<double>(lines_.back().result.memory)).c_str());
    if (csv_ != nullptr)
        write_csv(complete);
    if (json_ != nullptr)
        write_json(complete);
}

} // namespace bench
