/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * segments.cc: the command segments of rpm-log: list, verify and drop the segments of a folder.
 *
 * Tests: tests/tools/agent_test
 */
#include "log/logtool.h"

#include "output.h"

#include <cinttypes>
#include <nlohmann/json.hpp>

namespace logtool
{

using Json = nlohmann::ordered_json;

cli::Tier open_tier(const std::string &folder)
{
    rpm_tier *tier = nullptr;

    /* The error text has the place, unless there are credentials in it. */
    cli::check("tier", rpm_tier_open(folder.c_str(), nullptr, &tier));
    return cli::Tier(tier);
}

static std::string id_text(uint64_t id)
{
    char text[17];

    snprintf(text, sizeof(text), "%016" PRIx64, id);
    return text;
}

std::vector<rpm_tier_log> tier_logs(rpm_tier *tier, const std::string &folder,
                                    const std::string &log)
{
    std::vector<rpm_tier_log> all;
    rpm_tier_log found = rpm_tier_log_init();

    for (uint32_t i = 0; cli::check(folder, rpm_tier_entry(tier, i, &found)) == 1; i++)
        if (log.empty() || log == found.name || log == id_text(found.log_id))
            all.push_back(found);
    if (!log.empty() && all.empty())
        throw cli::Failure(folder + " has no segments of a log '" + log +
                           "': give its name or id, which 'rpm-log segments " + folder +
                           "' prints");
    if (all.size() > 1 && !log.empty())
        throw cli::Failure(folder + " has " + std::to_string(all.size()) + " logs named '" + log +
                           "': give the id of one, which 'rpm-log segments " + folder + "' prints");
    return all;
}

/* Read and check every record up to the first gap. Returns how many; an error names the segment. */
static uint64_t read_records(rpm_tier *tier, const rpm_tier_log &log)
{
    rpm_tier_reader *opened = nullptr;
    rpm_record record;
    uint64_t records = 0;

    cli::check(log.name, rpm_tier_reader_open(tier, log.log_id, 0, &opened));
    TierReader reader(opened);
    while (cli::check(log.name, rpm_tier_reader_next(reader.get(), &record)) == 1)
        records++;
    return records;
}

static Json to_json(const rpm_tier_log &log)
{
    return { { "log", log.name },
             { "id", id_text(log.log_id) },
             { "first_lsn", log.first_lsn },
             { "end_lsn", log.end_lsn },
             { "gaps", log.gaps },
             { "segments", log.segments },
             { "records", log.records },
             { "raw_bytes", log.raw_bytes },
             { "stored_bytes", log.stored_bytes } };
}

static void print_table(const std::vector<rpm_tier_log> &logs)
{
    printf("%-24s %-16s %12s %12s %5s %9s %10s %10s %6s\n", "log", "id", "first", "end", "gaps",
           "segments", "records", "stored", "ratio");
    for (const rpm_tier_log &log : logs)
        printf("%-24s %016" PRIx64 " %12" PRIu64 " %12" PRIu64 " %5" PRIu64 " %9" PRIu64
               " %10" PRIu64 " %10s %6.2f\n",
               log.name, log.log_id, log.first_lsn, log.end_lsn, log.gaps, log.segments,
               log.records, cli::size_text(static_cast<double>(log.stored_bytes)).c_str(),
               log.raw_bytes == 0
                   ? 1.0
                   : static_cast<double>(log.stored_bytes) / static_cast<double>(log.raw_bytes));
}

int segments(const SegmentsOptions &options)
{
    cli::Tier tier = open_tier(options.folder);
    std::vector<rpm_tier_log> logs = tier_logs(tier.get(), options.folder, options.log);
    Json all = Json::array();
    bool gaps = false;

    if (options.drop != 0) {
        if (logs.size() != 1)
            throw cli::Failure("name the log whose segments are to be dropped");
        printf("%d segments dropped\n",
               cli::check(options.folder,
                          rpm_tier_drop(tier.get(), logs.front().log_id, options.drop)));
        return cli::kDone;
    }
    for (const rpm_tier_log &log : logs) {
        gaps = gaps || log.gaps != 0;
        all.push_back(to_json(log));
        if (options.verify)
            all.back()["verified"] = read_records(tier.get(), log);
    }
    if (options.json)
        cli::print(all.dump(2) + "\n");
    else
        print_table(logs);
    if (options.verify && gaps && !options.json)
        printf("records are missing: a log has gaps\n");
    return options.verify && gaps ? cli::kFailed : cli::kDone;
}

} // namespace logtool
