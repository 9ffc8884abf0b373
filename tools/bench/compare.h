/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare.h: rows of a comparison, and how they come about.
 */
#ifndef RPM_TOOLS_BENCH_COMPARE_H
#define RPM_TOOLS_BENCH_COMPARE_H

#include "bench/contender.h"
#include "bench/stats.h"
#include "output.h"

#include <functional>

namespace bench
{

/* Ours against one other. A ratio below 1 means that ours takes less time. */
struct Row {
    std::string what;
    uint64_t bytes;
    uint32_t depth;
    std::string against;
    std::string unit;
    double target = 0; /* ratio at most; 0: none */
    double ours = 0;
    double other = 0;
    double ratio = 0;
    double ratio_min = 0;
    double ratio_max = 0;
    Spread ratios = {}; /* of the rounds */
    Spread our_rounds = {};
    Spread other_rounds = {};
};

/* Where the comparison runs. */
struct Stage {
    const CompareOptions &options;
    const MemoryDir &dir;
    std::string socket; /* of the server: "shm:..." */
    int near_cpu;
    int far_cpu;
};

/* One value a round of each side becomes the row's figures. */
void conclude(Row &row, const std::vector<double> &ours, const std::vector<double> &others);

/* Is this row asked for? */
bool wanted(const std::string &only, const std::string &what, const std::string &against);

/* --only asks for none of @names, of which some may be the same. */
[[noreturn]] void fail_only(const std::string &only, const std::vector<std::string> &names);

void print_header();
void print_row(const Row &row);

/* One who takes part. */
struct Side {
    std::string name;
    ContenderPtr contender;
    uint64_t records = 0;       /* of a burst */
    std::vector<double> rounds; /* its value in each */
};

/* All of them in turn, burst by burst. */
void play(std::vector<Side> &sides, const CompareOptions &options, uint32_t depth);

/* What describes rows that were measured over a link. */
inline nlohmann::ordered_json where_of(const CompareOptions &options, const std::string &url)
{
    return { { "url", url },
             { "peer", options.peer },
             { "memory", options.memory.empty() ? options.dir : options.memory },
             { "domain", "adr" },
             { "ddio", false },
             { "method", options.method == 0
                             ? "cheapest"
                             : rpm_method_name(static_cast<rpm_method>(options.method)) } };
}

/* The line on a terminal: which round of how many. */
void tell_round(const std::string &what, const std::string &against, uint32_t round,
                const CompareOptions &options);

/* @body adds rows. They are kept if it fails or is told to stop: in the file, which then says that
 * it is not complete. Says which rows scatter. @where: what else describes them. */
void with_rows(const CompareOptions &options, const nlohmann::ordered_json &where,
               const std::function<void(std::vector<Row> &)> &body);

/* Two writers on two logs against one of them. */
void compare_writers(const Stage &stage, std::vector<Row> &rows);
/* A writer with a reader at its tail against the same writer alone. */
void compare_follower(const Stage &stage, std::vector<Row> &rows);
/* The recovery scan against a plain checksum pass. */
void compare_scan(const Stage &stage, std::vector<Row> &rows);

} // namespace bench
#endif
