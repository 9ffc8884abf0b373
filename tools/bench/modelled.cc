/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * modelled.cc: rows of rpm-bench agent that need a DPU, which this machine need not have: they come
 * from the performance model, by rpm-pathbench. The model has no noise, so one round is all.
 */
#include "bench/choose.h"

#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace bench
{

namespace
{

using Runs = std::map<std::string, nlohmann::json>;

struct Modelled {
    const char *what;
    const char *against;
    const char *unit;
    const char *our_run;
    const char *other_run;
    const char *number; /* "mops": the row has the time of one operation */
    double target;
    const char *conditions;
};

const Modelled kRows[] = {
    { "p99 beside agent", "p99 alone", "time of an append", "agent/append/beside",
      "agent/append/alone", "p99_ns", 1.10,
      "model, preset bf2: 16 clients; two threads of the SoC scrub, four tier" },
    { "scrub by agent", "scrub by server", "time of the host's cores for 64 KiB",
      "agent/scrub/agent", "agent/scrub/server", "host_ns", 0.30, "model, preset bf2" },
    { "combined Gets", "best single", "time of a Get", "kv/full/selected", "kv/full/A4", "mops",
      1 / 1.15,
      "model, preset bf2, 512 Gets outstanding; missed because the best alternative, A4, keeps all "
      "units of the NIC busy, so that nothing can be added to it" },
};

/* The runs of rpm-pathbench, @program, by name. */
Runs runs_of(const std::string &program)
{
    std::string command = "'" + program + "' --experiment kv,agent --json";
    std::unique_ptr<FILE, int (*)(FILE *)> out(popen(command.c_str(), "r"), pclose);
    std::array<char, 4096> piece;
    std::string text;
    Runs runs;
    size_t n;

    if (out == nullptr)
        throw cli::Failure(program + ": " + strerror(errno));
    while ((n = fread(piece.data(), 1, piece.size(), out.get())) > 0)
        text.append(piece.data(), n);
    nlohmann::json all = nlohmann::json::parse(text, nullptr, false);

    if (pclose(out.release()) != 0 || all.is_discarded())
        throw cli::Failure(program + " --experiment kv,agent --json failed");
    for (const nlohmann::json &run : all.at("runs"))
        runs[run.at("run").get<std::string>()] = run;
    return runs;
}

double value_of(const Runs &runs, const char *run, const char *number)
{
    double value = runs.at(run).at(number).get<double>();

    return strcmp(number, "mops") == 0 ? 1000 / value : value;
}

} // namespace

void compare_modelled(const CompareOptions &options, std::vector<Row> &rows)
{
    std::string program = program_beside("rpm-pathbench");
    Runs runs;

    for (const Modelled &one : kRows) {
        Row row = { one.what, 0, 1, one.against, one.unit };

        if (!wanted(options.only, row.what, row.against))
            continue;
        if (access(program.c_str(), X_OK) != 0) {
            printf("%s is missing: the rows of the model are left out\n", program.c_str());
            return;
        }
        if (runs.empty())
            runs = runs_of(program);
        row.target = one.target;
        row.conditions = one.conditions;
        add_row(row, { value_of(runs, one.our_run, one.number) },
                { value_of(runs, one.other_run, one.number) }, rows);
    }
}

} // namespace bench
