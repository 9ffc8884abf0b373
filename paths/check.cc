/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.cc: compare runs with published figures and with limits. A figure is a number of a run, or
 * its ratio to the same number of another; it is within if it is in the published range, or no
 * further from the published value than the tolerance. outside.csv lists those that are not, and
 * those that no part of the model makes, with the reason.
 */
#include "check.h"

#include "cases.h"
#include "output.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

namespace paths
{

namespace
{

constexpr double kTolerance = 0.10; /* of every published value without a range */

using Row = std::map<std::string, std::string>;

struct Verdict {
    double value;
    double low;
    double high;
    bool within;
};

std::vector<std::string> fields_of(const std::string &line)
{
    std::vector<std::string> fields(1);
    bool quoted = false;

    for (char byte : line) {
        if (byte == '"')
            quoted = !quoted;
        else if (byte == ',' && !quoted)
            fields.emplace_back();
        else
            fields.back() += byte;
    }
    return fields;
}

std::vector<Row> rows_of(const std::string &path, const std::vector<std::string> &want)
{
    std::ifstream file(path);
    std::vector<Row> rows;
    std::string line;

    if (!std::getline(file, line))
        throw cli::Failure(path + ": cannot be read; give the folder that has expected/, "
                                  "limits.csv and outside.csv");
    if (fields_of(line) != want)
        throw cli::Failure(path + ": the columns are \"" + line + "\", expected others");
    while (std::getline(file, line)) {
        std::vector<std::string> fields = fields_of(line);
        Row row;

        if (fields.size() != want.size())
            throw cli::Failure(path + ": " + std::to_string(fields.size()) + " fields in \"" +
                               line + "\", expected " + std::to_string(want.size()));
        for (size_t i = 0; i < want.size(); i++)
            row[want[i]] = fields[i];
        rows.push_back(row);
    }
    return rows;
}

double number_of(const Row &row, const std::string &name)
{
    const std::string &text = row.at(name);
    size_t end = 0;
    double value = 0;

    try {
        value = std::stod(text, &end);
    } catch (const std::exception &) {
        end = 0;
    }
    if (text.empty() || end != text.size())
        throw cli::Failure("figure " + row.at("id") + ": " + name + " is \"" + text +
                           "\", expected a number");
    return value;
}

/* A figure without a run: the model has no parts that make it. */
bool modelled(const Row &row)
{
    return !row.at("of").empty();
}

Verdict judge(const Row &row, uint64_t seed)
{
    Verdict verdict = {};

    if (!modelled(row))
        return verdict;
    verdict.value = measure(row.at("of"), row.at("metric"), seed);
    if (!row.at("over").empty())
        verdict.value /= measure(row.at("over"), row.at("metric"), seed);
    if (row.at("expect").empty()) {
        verdict.low = number_of(row, "low");
        verdict.high = number_of(row, "high");
    } else {
        verdict.low = number_of(row, "expect") * (1 - kTolerance);
        verdict.high = number_of(row, "expect") * (1 + kTolerance);
    }
    verdict.within = verdict.value >= verdict.low && verdict.value <= verdict.high;
    return verdict;
}

const std::vector<std::string> kColumns = { "id",     "what", "metric", "of",    "over",
                                            "expect", "low",  "high",   "source" };

std::vector<Row> figures_of(const std::string &folder)
{
    std::vector<std::string> files;
    std::vector<Row> rows;
    std::error_code err;

    for (const auto &entry : std::filesystem::directory_iterator(folder + "/expected", err))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const std::string &file : files)
        for (const Row &row : rows_of(file, kColumns))
            rows.push_back(row);
    if (rows.empty())
        throw cli::Failure(folder + "/expected: no figure; give the folder that has expected/, "
                                    "limits.csv and outside.csv");
    return rows;
}

void print_verdict(const Row &row, const Verdict &verdict, const std::string &reason)
{
    char text[160];

    if (modelled(row))
        std::snprintf(text, sizeof(text), "%-18s %10.3f  %10.3f..%-10.3f %-12s",
                      row.at("id").c_str(), verdict.value, verdict.low, verdict.high,
                      verdict.within ? "within" : "OUTSIDE");
    else
        std::snprintf(text, sizeof(text), "%-18s %10s  %10s  %-10s %-12s", row.at("id").c_str(),
                      "-", row.at("expect").c_str(), "", "NOT MODELLED");
    cli::print(text + row.at("what") + (reason.empty() ? "" : " (" + reason + ")") + "\n");
}

/* Rows that outside.csv does not list, how many of them are within, and how many it lists. */
struct Tally {
    uint32_t rows = 0;
    uint32_t within = 0;
    uint32_t listed = 0; /* in outside.csv */
    bool stale = false;  /* outside.csv lists one that is within */
};

Tally judge_all(const std::vector<Row> &rows, std::map<std::string, std::string> *outside,
                uint64_t seed)
{
    Tally tally;

    for (const Row &row : rows) {
        auto found = outside->find(row.at("id"));
        Verdict verdict = judge(row, seed);

        print_verdict(row, verdict, found == outside->end() ? "" : found->second);
        if (found == outside->end()) {
            tally.rows++;
            tally.within += verdict.within;
            continue;
        }
        if (verdict.within) {
            cli::print(row.at("id") + " is within: remove it from outside.csv\n");
            tally.stale = true;
        }
        tally.listed++;
        outside->erase(found);
    }
    return tally;
}

void print_tally(const char *noun, const Tally &tally)
{
    cli::print(std::string(noun) + " " + std::to_string(tally.rows) + " within " +
               std::to_string(tally.within) + "\n");
}

} // namespace

bool check(const std::string &folder, uint64_t seed)
{
    std::map<std::string, std::string> outside;

    for (const Row &row : rows_of(folder + "/outside.csv", { "id", "reason" }))
        outside[row.at("id")] = row.at("reason");
    Tally limits = judge_all(rows_of(folder + "/limits.csv", kColumns), &outside, seed);
    Tally figures = judge_all(figures_of(folder), &outside, seed);

    for (const auto &[id, reason] : outside)
        cli::print("outside.csv lists \"" + id + "\", which is no figure: remove it\n");
    cli::print("outside " + std::to_string(limits.listed + figures.listed) +
               ", listed with their reasons\n");
    print_tally("limits", limits);
    print_tally("figures", figures);
    return limits.rows == limits.within && figures.rows == figures.within && !limits.stale &&
           !figures.stale && outside.empty();
}

} // namespace paths
