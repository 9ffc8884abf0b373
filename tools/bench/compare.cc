/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare.cc: measure librpm and other libraries in alternation, in the same run, on the same kind
 * of memory. A round is many short bursts of each, in turn; its value is the median burst, so that
 * other load on the machine affects all of them alike. A row is the median of its rounds.
 */
#include "bench/compare.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <thread>

namespace bench
{

static constexpr uint64_t kCapacity = 64u << 20;
static constexpr int kBursts = 15;
static const uint64_t kSizes[] = { 64, 256, 4096, 65536 };
static const uint32_t kDepths[] = { 1, 32 };

void conclude(Row &row, const std::vector<double> &ours, const std::vector<double> &others)
{
    std::vector<double> ratios;

    for (size_t i = 0; i < ours.size(); i++)
        ratios.push_back(ours[i] / others[i]);
    row.ours = median(ours);
    row.other = median(others);
    row.ratio = median(ratios);
    row.ratio_min = *std::min_element(ratios.begin(), ratios.end());
    row.ratio_max = *std::max_element(ratios.begin(), ratios.end());
    row.ratios = spread_of(ratios);
    row.our_rounds = spread_of(ours);
    row.other_rounds = spread_of(others);
}

bool wanted(const std::string &only, const std::string &what, const std::string &against)
{
    return (what + " " + against).find(only) != std::string::npos;
}

void fail_only(const std::string &only, const std::vector<std::string> &names)
{
    std::string all;

    for (size_t i = 0; i < names.size(); i++)
        if (std::find(names.begin(), names.begin() + static_cast<ptrdiff_t>(i), names[i]) ==
            names.begin() + static_cast<ptrdiff_t>(i))
            all += (all.empty() ? "" : ", ") + names[i];
    throw cli::Failure("--only: no row is called \"" + only + "\"; there are: " + all);
}

void expect_row(const std::string &only, const std::vector<std::string> &names)
{
    for (const std::string &name : names)
        if (name.find(only) != std::string::npos)
            return;
    fail_only(only, names);
}

/* Print all digits of a target such as 0.125. */
static std::string target_text(double target)
{
    char text[16];

    snprintf(text, sizeof(text),
             std::abs(target * 100 - std::round(target * 100)) < 1e-6 ? "%.2f" : "%.3f", target);
    return text;
}

void print_header()
{
    printf("%-20s %6s %5s  %-13s %10s %10s %6s %15s  %s\n", "what", "bytes", "depth", "against",
           "ours", "other", "ratio", "min..max", "target");
}

void print_row(const Row &row)
{
    char span[32];
    char target[32] = "-";
    bool timed = row.unit.rfind("time", 0) == 0;
    const char *unit = timed ? "ns" : "  ";
    int digits = timed ? 1 : 3;

    snprintf(span, sizeof(span), "%.2f..%.2f", row.ratio_min, row.ratio_max);
    if (row.target > 0)
        snprintf(target, sizeof(target), "<= %s  %s", target_text(row.target).c_str(),
                 row.ratio <= row.target ? "met" : "not met");
    progress().clear();
    printf("%-20s %6llu %5u  %-14s %8.*f%s %8.*f%s %6.2f %15s%s %s\n", row.what.c_str(),
           static_cast<unsigned long long>(row.bytes), row.depth, row.against.c_str(), digits,
           row.ours, unit, digits, row.other, unit, row.ratio, span,
           scatters(row.ratios) ? "~" : " ", target);
    fflush(stdout);
}

void add_row(Row row, const std::vector<double> &ours, const std::vector<double> &others,
             std::vector<Row> &rows)
{
    conclude(row, ours, others);
    rows.push_back(row);
    print_row(row);
}

/* The target of a row: the largest ratio of librpm's time to the other's. */
static double target_of(const std::string &what, const std::string &against, Shape shape)
{
    bool direct = what == "append direct";
    bool small = shape.bytes <= 256;

    if (against == "limit")
        return shape.depth > 1 ? 1.15 : small ? 1.25 : 1.10;
    if (against == "bare ring")
        return 1.5;
    /* libpmemlog is called once for each record; a row for its appendv with 32 records has no
     * target. */
    return shape.depth > 1 ? 0 : direct && small ? 0.4 : 1.0;
}

void show_round(const std::string &what, const std::string &against, uint32_t round,
                const CompareOptions &options)
{
    progress().show([&] {
        return what + " against " + against + ": round " + std::to_string(round + 1) + " of " +
               std::to_string(options.rounds);
    });
}

void run_rounds(std::vector<Side> &sides, const CompareOptions &options, uint32_t depth)
{
    for (Side &side : sides)
        side.records = burst_records(*side.contender, depth);
    for (uint32_t round = 0; round < options.rounds; round++) {
        std::vector<std::vector<double>> times(sides.size());

        show_round(sides[0].name, sides.back().name, round, options);
        for (int k = 0; k < kBursts; k++)
            for (size_t i = 0; i < sides.size(); i++)
                times[i].push_back(burst(*sides[i].contender, sides[i].records, depth));
        for (size_t i = 0; i < sides.size(); i++)
            sides[i].rounds.push_back(median(times[i]));
    }
}

/* librpm in one mode against all others, for one shape. */
static void compare_append(const Testbed &testbed, const std::string &mode, Shape shape,
                           std::vector<Row> &rows)
{
    std::string what = "append " + mode;
    std::vector<Side> sides(1);
    bool direct = mode == "direct";
    std::string other = direct ? "limit" : "bare ring";

    if (wanted(testbed.options.only, what, other))
        sides.push_back({ other,
                          direct
                              ? make_limit(testbed.dir, shape, kCapacity)
                              : make_bare_ring(testbed.dir, shape, kCapacity, testbed.server_cpu),
                          0,
                          {} });
    if (wanted(testbed.options.only, what, "libpmemlog"))
        sides.push_back({ "libpmemlog", make_pmemlog(testbed.dir, shape, kCapacity), 0, {} });
    sides.erase(std::remove_if(sides.begin() + 1, sides.end(),
                               [](const Side &side) { return side.contender == nullptr; }),
                sides.end());
    if (sides.size() == 1)
        return;
    sides[0].contender =
        make_ours(testbed.socket + ",mode=" + mode, "bench-" + mode, shape, kCapacity);
    run_rounds(sides, testbed.options, shape.depth);
    for (size_t i = 1; i < sides.size(); i++) {
        Row row = { what, shape.bytes, shape.depth, sides[i].name, "time per record" };

        row.target = target_of(what, sides[i].name, shape);
        add_row(row, sides[0].rounds, sides[i].rounds, rows);
    }
}

void in_threads(uint32_t n, const std::function<void(uint32_t)> &body)
{
    std::vector<std::exception_ptr> failed(n);
    std::vector<std::thread> threads;

    for (uint32_t i = 0; i < n; i++)
        threads.emplace_back([&, i] {
            try {
                body(i);
            } catch (...) {
                failed[i] = std::current_exception();
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    for (const std::exception_ptr &failure : failed)
        if (failure != nullptr)
            std::rethrow_exception(failure);
}

static nlohmann::ordered_json json_of(const Row &row)
{
    nlohmann::ordered_json target;
    nlohmann::ordered_json met;

    if (row.target > 0) {
        target = row.target;
        met = row.ratio <= row.target;
    }
    return { { "what", row.what },
             { "bytes", row.bytes },
             { "depth", row.depth },
             { "against", row.against },
             { "ratio", row.ratio },
             { "target", target },
             { "met", met },
             { "conditions", row.conditions },
             { "ratio_min", row.ratio_min },
             { "ratio_max", row.ratio_max },
             { "ratio_mean", row.ratios.mean },
             { "ratio_sd", row.ratios.deviation() },
             { "scatters", scatters(row.ratios) },
             { "unit", row.unit },
             { "ours_ns", row.ours },
             { "ours_sd_ns", row.our_rounds.deviation() },
             { "other_ns", row.other },
             { "other_sd_ns", row.other_rounds.deviation() } };
}

static void warn_of_scatter(const std::vector<Row> &rows)
{
    std::string names;

    for (const Row &row : rows)
        if (scatters(row.ratios))
            names += (names.empty() ? "" : "; ") + row.what + " against " + row.against + ", " +
                     std::to_string(row.bytes) + " B, depth " + std::to_string(row.depth);
    if (!names.empty())
        fprintf(stderr,
                "rpm-bench: warning: the rounds of these rows, marked ~, scatter: the standard "
                "deviation of their ratio is over %.0f %% of it: %s. Measure again while nothing "
                "else runs, or with more --rounds.\n",
                100 * kScatter, names.c_str());
}

/* A description of the memory and, over a link, of the link. */
static nlohmann::ordered_json where_of(const CompareOptions &options, const std::string &url)
{
    if (url.empty())
        return { { "memory", options.dir }, { "domain", "adr" } };
    return { { "url", url },
             { "peer", options.peer },
             { "memory", options.memory.empty() ? options.dir : options.memory },
             { "domain", "adr" },
             { "ddio", false },
             { "method", options.method == 0
                             ? "cheapest"
                             : rpm_method_name(static_cast<rpm_method>(options.method)) } };
}

static void write_rows(const CompareOptions &options, const std::string &url,
                       const std::vector<Row> &rows, bool complete, cli::OutFile &file)
{
    nlohmann::ordered_json json = description();

    json.update(where_of(options, url));
    json["rounds"] = options.rounds;
    json["complete"] = complete;
    json["rows"] = nlohmann::ordered_json::array();
    for (const Row &row : rows)
        json["rows"].push_back(json_of(row));
    file.write(json.dump(2) + '\n');
    file.close();
}

void with_rows(const CompareOptions &options, const std::string &url,
               const std::function<void(std::vector<Row> &)> &body)
{
    std::unique_ptr<cli::OutFile> file;
    std::vector<Row> rows;
    std::exception_ptr failure;

    if (!options.json.empty())
        file = std::make_unique<cli::OutFile>(options.json);
    try {
        body(rows);
    } catch (...) {
        failure = std::current_exception();
    }
    progress().clear();
    warn_of_scatter(rows);
    if (file != nullptr)
        write_rows(options, url, rows, failure == nullptr, *file);
    if (failure != nullptr)
        std::rethrow_exception(failure);
    if (rows.empty())
        throw cli::Failure("--only: no row is called \"" + options.only + "\"");
}

/* Room for the log that is scanned and for the logs that are written. */
static uint64_t pool_bytes(const CompareOptions &options)
{
    return options.scan_bytes + 4 * kCapacity + (16u << 20);
}

static void print_notes(const Testbed &testbed)
{
    Shape shape = { 64, 1 };

    printf("memory in %s, declared to be in the ADR domain; nothing here survives a power cut\n",
           testbed.options.dir.c_str());
    if (testbed.client_cpu == testbed.server_cpu)
        printf("one CPU only: rows with two threads measure the scheduler\n");
    if (make_pmemlog(testbed.dir, shape, kCapacity) == nullptr)
        printf("libpmemlog.so.1 is not installed: its rows are left out\n");
    if (make_limit(testbed.dir, shape, kCapacity) == nullptr)
        printf("no hand-written loop for this CPU: its rows are left out\n");
    printf("ratio: time of librpm over time of the other, below 1 librpm is faster; median of %u "
           "rounds\n\n",
           testbed.options.rounds);
}

int compare(const CompareOptions &options)
{
    if (options.peer == "self")
        return compare_self(options);
    if (!options.peer.empty())
        return compare_peer(options);
    expect_row(options.only,
               { "append direct limit", "append direct libpmemlog", "append ring bare ring",
                 "append ring libpmemlog", "two writers one writer",
                 "writer with follower writer alone", "recovery scan checksum pass" });
    MemoryDir dir(options.dir);
    std::vector<int> cpus = allowed_cpus();
    ServerOptions server = { dir / "pool", "shm:" + (dir / "socket"), pool_bytes(options) };
    Testbed testbed = { options, dir, server.listen, cpus.empty() ? -1 : cpus.front(),
                        cpus.empty() ? -1 : cpus.back() };

    if (dir.free_bytes() < pool_bytes(options) + 3 * kCapacity)
        throw cli::Failure(
            options.dir + " has too little room: " +
            cli::size_text(static_cast<double>(pool_bytes(options) + 3 * kCapacity)) +
            " are needed; make --scan-bytes smaller");
    server.engine_cpu = testbed.server_cpu;
    ChildServer child(server);
    pin(testbed.client_cpu);
    print_notes(testbed);
    print_header();
    with_rows(options, "", [&](std::vector<Row> &rows) {
        for (const char *mode : { "direct", "ring" })
            for (uint64_t bytes : kSizes)
                for (uint32_t depth : kDepths)
                    compare_append(testbed, mode, { bytes, depth }, rows);
        compare_writers(testbed, rows);
        compare_follower(testbed, rows);
        compare_scan(testbed, rows);
    });
    return cli::kDone;
}

} // namespace bench
