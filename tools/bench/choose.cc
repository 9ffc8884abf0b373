/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * choose.cc: rows of rpm-bench agent: what a link with an agent gains and loses by choosing between
 * the agent and the server while it runs. Each writer appends for a while before it is measured,
 * because a link tries both for 2 ms of each 200 ms.
 */
#include "bench/choose.h"

#include "agent/front.h"
#include "bench/ours.h"

#include <numeric>

namespace bench
{

namespace
{

constexpr uint64_t kWarmNs = 600000000; /* three periods in which a link tries both */
constexpr uint64_t kTimedNs = 400000000;
constexpr uint64_t kCapacity = 1u << 20;
constexpr uint64_t kTrimmed = 4096; /* appends between two trims */
constexpr uint64_t kRecordBytes = 64;
constexpr const char *kFarNs = "2000000";
constexpr double kBestTarget = 1 / 0.9;
constexpr double kFarTarget = 1.05;

/* How a writer has its records made durable. */
struct Way {
    std::string url;
    uint32_t method;
};

/* Appends until @end_ns; the number of those from @begin_ns on. */
uint64_t append_until(rpm_log *log, uint64_t begin_ns, uint64_t end_ns)
{
    std::vector<unsigned char> payload(kRecordBytes, 'a');
    uint64_t counted = 0;
    uint64_t lsn = 0;

    for (uint64_t i = 1; !cli::stopped(); i++) {
        uint64_t now = now_ns();

        if (now >= end_ns)
            break;
        cli::check("append", rpm_log_append(log, payload.data(), payload.size(), &lsn));
        counted += now >= begin_ns ? 1 : 0;
        if (i % kTrimmed == 0)
            cli::check("trim", rpm_log_trim(log, lsn));
    }
    return counted;
}

uint64_t write_records(const Way &way, uint32_t writer, uint64_t begin_ns)
{
    rpm_conn_opts opts = rpm_conn_opts_init();
    rpm_log_opts log_opts = rpm_log_opts_init();
    struct rpm_log_info info = rpm_log_info_init();
    std::string name = "bench-agent-" + std::to_string(writer);
    rpm_log *raw = nullptr;

    opts.method = way.method;
    log_opts.flags = RPM_LOG_WRITE | RPM_LOG_CREATE;
    log_opts.capacity_bytes = kCapacity;
    cli::Conn conn = cli::connect(way.url, &opts);
    cli::check(name, rpm_log_open(conn.get(), name.c_str(), &log_opts, &raw));
    cli::Log log(raw);
    cli::check("info", rpm_log_info(raw, &info));
    cli::check("trim", rpm_log_trim(raw, info.tail_lsn));
    return append_until(raw, begin_ns, begin_ns + kTimedNs);
}

/* Nanoseconds a record, of writers that append at the same time. */
double time_of(const Way &way, uint32_t writers)
{
    uint64_t begin_ns = now_ns() + kWarmNs;
    std::vector<uint64_t> counted(writers);

    in_threads(writers, [&](uint32_t i) { counted[i] = write_records(way, i, begin_ns); });
    end_if_stopped();
    uint64_t all = std::accumulate(counted.begin(), counted.end(), uint64_t{ 0 });

    if (all == 0)
        throw cli::Failure("no record was appended within the time that is measured");
    return static_cast<double>(kTimedNs) / static_cast<double>(all);
}

/* The first way in each round against the best of the others over all rounds. */
void compare_ways(const CompareOptions &options, Row row, const std::vector<Way> &ways,
                  uint32_t writers, std::vector<Row> &rows)
{
    std::vector<std::vector<double>> times(ways.size());
    size_t best = 1;

    if (!wanted(options.only, row.what, row.against))
        return;
    for (uint32_t round = 0; round < options.rounds; round++) {
        show_round(row.what, row.against, round, options);
        for (size_t i = 0; i < ways.size(); i++)
            times[i].push_back(time_of(ways[i], writers));
    }
    for (size_t i = 2; i < ways.size(); i++)
        if (median(times[i]) < median(times[best]))
            best = i;
    if (ways.size() > 2)
        row.conditions += ways[best].method == RPM_METHOD_ORDER ? "; the best was the agent"
                                                                : "; the best was the server";
    add_row(row, times[0], times[best], rows);
}

Row row_of(const char *what, const char *against, uint32_t writers)
{
    Row row = { what, kRecordBytes, 1, against, "time per record" };

    row.conditions =
        "live, " + std::to_string(writers) + " blocking writers, over shm: in mode ring";
    return row;
}

} // namespace

void compare_choice(const CompareOptions &options, const std::string &server,
                    const std::string &agent, std::vector<Row> &rows)
{
    for (uint32_t writers : { 1u, 16u }) {
        Row row =
            row_of(writers == 1 ? "selector by 1" : "selector by 16", "best of both", writers);

        row.target = kBestTarget;
        compare_ways(options, row,
                     { { agent, RPM_METHOD_DEFAULT },
                       { server, RPM_METHOD_DEFAULT },
                       { agent, RPM_METHOD_ORDER } },
                     writers, rows);
    }
}

void compare_carry(const CompareOptions &options, const std::string &server,
                   const std::string &agent, std::vector<Row> &rows)
{
    for (uint32_t writers : { 1u, 16u }) {
        Row row = row_of(writers == 1 ? "carry by 1" : "carry by 16", "no agent", writers);

        compare_ways(options, row, { { agent, RPM_METHOD_CARRY }, { server, RPM_METHOD_DEFAULT } },
                     writers, rows);
    }
}

void compare_far(const CompareOptions &options, const std::string &server,
                 const std::string &listen, std::vector<Row> &rows)
{
    Row row = row_of("agent 2 ms away", "no agent", 1);

    if (!wanted(options.only, row.what, row.against))
        return;
    AgentFront far({ server + ",wrap=delay,delay_ns=" + kFarNs, { listen }, "", "", 64, 5 });

    row.target = kFarTarget;
    row.conditions += "; the agent's answers come 2 ms late";
    compare_ways(
        options, row,
        { { server + ",agent=" + far.urls(), RPM_METHOD_DEFAULT }, { server, RPM_METHOD_DEFAULT } },
        1, rows);
}

} // namespace bench
