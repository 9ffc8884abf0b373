/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report.cc: what rpm-bench run prints and writes.
 */
#include "bench/run.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace bench
{

static const uint32_t kPermille[] = { 500, 900, 990, 999 };
static const char *const kPermilleNames[] = { "p50", "p90", "p99", "p99.9" };

Report::Report(const RunOptions &options) : options_(options)
{
    rpm_conn_opts opts = rpm_conn_opts_init();
    rpm_facts facts = rpm_facts_init();

    opts.timeout_us = static_cast<uint64_t>(options.timeout * 1e6);
    {
        cli::Conn conn = cli::connect(options.url, &opts);

        cli::check("facts", rpm_conn_facts(conn.get(), &facts));
    }
    printf("%s: %s, domain %s%s%s\n", options.url.c_str(),
           rpm_medium_name(static_cast<rpm_medium>(facts.medium)),
           rpm_domain_name(static_cast<rpm_domain>(facts.domain)),
           facts.domain_declared != 0 ? " (declared)" : "",
           facts.modelled != 0
               ? ": modelled, and timed as a program: rpm-hints tells what it would cost"
               : "");
    printf("%-7s %7s %5s %5s %7s %12s %12s %10s %10s %10s %10s %10s\n", "op", "bytes", "depth",
           "batch", "threads", "ops/s", "MiB/s", "p50", "p90", "p99", "p99.9", "max");
}

/* What the library did to spare the NIC and the locks. */
static void print_pace(const struct rpm_conn_stats &stats)
{
    if (stats.throttle_limit != 0)
        printf("        throttle: %llu operations at last, changed %llu times, %llu posts held\n",
               static_cast<unsigned long long>(stats.throttle_limit),
               static_cast<unsigned long long>(stats.throttle_changes),
               static_cast<unsigned long long>(stats.throttle_held));
    if (stats.backoffs != 0)
        printf("        back-off: %llu waits, %s in all\n",
               static_cast<unsigned long long>(stats.backoffs),
               cli::ns_text(stats.backoff_ns).c_str());
}

void Report::print(const Line &line) const
{
    double ops = static_cast<double>(line.tally.records) / line.result.seconds;

    printf("%-7s %7llu %5u %5u %7u %12.0f %12.1f", line.op.c_str(),
           static_cast<unsigned long long>(line.cell.bytes), line.cell.depth, options_.batch,
           line.cell.threads, ops, ops * static_cast<double>(line.cell.bytes) / (1 << 20));
    for (uint32_t permille : kPermille)
        printf(" %10s", cli::ns_text(rpm_hist_percentile(&line.tally.hist, permille)).c_str());
    printf(" %10s\n", cli::ns_text(line.tally.hist.max).c_str());
}

void Report::add(Cell cell, const Result &result)
{
    bool mixed = options_.op == "mixed";

    lines_.push_back({ mixed ? "write" : options_.op, cell, result.main, result });
    print(lines_.back());
    if (mixed) {
        lines_.push_back({ "read", cell, result.reads, result });
        print(lines_.back());
    }
    print_pace(result.stats);
    fflush(stdout);
}

static void check_written(std::ofstream &file, const std::string &path)
{
    file.close();
    if (!file)
        throw cli::Failure(path + ": cannot be written");
}

void Report::write_csv() const
{
    std::ofstream file(options_.csv == "-" ? "/dev/stdout" : options_.csv);

    file << "op,bytes,depth,batch,threads,seconds,records,p50_ns,p90_ns,p99_ns,p99.9_ns,max_ns,"
            "throttle_limit,throttle_changes,throttle_held,backoffs,backoff_ns\n";
    for (const Line &line : lines_) {
        const struct rpm_conn_stats &stats = line.result.stats;

        file << line.op << ',' << line.cell.bytes << ',' << line.cell.depth << ',' << options_.batch
             << ',' << line.cell.threads << ',' << line.result.seconds << ',' << line.tally.records;
        for (uint32_t permille : kPermille)
            file << ',' << rpm_hist_percentile(&line.tally.hist, permille);
        file << ',' << line.tally.hist.max << ',' << stats.throttle_limit << ','
             << stats.throttle_changes << ',' << stats.throttle_held << ',' << stats.backoffs << ','
             << stats.backoff_ns << '\n';
    }
    check_written(file, options_.csv);
}

static nlohmann::ordered_json latency_json(const rpm_hist &hist)
{
    nlohmann::ordered_json latency;

    for (size_t i = 0; i < 4; i++)
        latency[kPermilleNames[i]] = rpm_hist_percentile(&hist, kPermille[i]);
    latency["max"] = hist.max;
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

void Report::write_json() const
{
    std::ofstream file(options_.json == "-" ? "/dev/stdout" : options_.json);
    nlohmann::ordered_json json = nlohmann::ordered_json::array();

    for (const Line &line : lines_)
        json.push_back({ { "op", line.op },
                         { "bytes", line.cell.bytes },
                         { "depth", line.cell.depth },
                         { "batch", options_.batch },
                         { "threads", line.cell.threads },
                         { "seconds", line.result.seconds },
                         { "records", line.tally.records },
                         { "memory_bytes", line.result.memory },
                         { "latency_ns", latency_json(line.tally.hist) },
                         { "pace", pace_json(line.result.stats) } });
    file << json.dump(2) << '\n';
    check_written(file, options_.json);
}

void Report::finish()
{
    if (!lines_.empty())
        printf("client memory: %s\n",
               cli::size_text(static_cast<double>(lines_.back().result.memory)).c_str());
    if (!options_.csv.empty())
        write_csv();
    if (!options_.json.empty())
        write_json();
}

} // namespace bench
