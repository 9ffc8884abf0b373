/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * database.cc: checks objects, then indexes, then the workload's rules for the rows.
 *
 * Tests: tests/tools/dtx_check_test
 */
#include "check/database.h"

#include "workload/load_parameters.h"
#include <dtx/checks.h>

#include <cinttypes>
#include <librpm.h>
#include <nlohmann/json.hpp>

namespace dtx::checks
{

namespace
{

using Json = nlohmann::ordered_json;

bool is_kept(const Findings &found, const std::string &rule)
{
    for (const Finding &finding : found.all())
        if (finding.rule == rule)
            return finding.broken == 0;
    return true;
}

Json json_of(uint32_t copy, const Finding &finding)
{
    return { { "copy", copy },
             { "rule", finding.rule },
             { "about", finding.about },
             { "looked_at", finding.checked },
             { "broken", finding.broken },
             { "first", finding.first } };
}

Json json_of(const Leftovers &left)
{
    return { { "shards_not_ready", left.not_ready },
             { "locks", left.locks },
             { "logs", left.logs },
             { "records", left.records },
             { "objects", left.objects } };
}

Json json_of(const TableSpec &table)
{
    return { { "name", table.name },
             { "kind", table.kind == TableKind::hash ? "hash" : "ordered" },
             { "row_bytes", table.row_bytes },
             { "rows_max", table.rows_max } };
}

Json json_of(const Recovery &recovery)
{
    return { { "coordinators", recovery.coordinators },
             { "records", recovery.records },
             { "objects", recovery.rows },
             { "locks", recovery.locks },
             { "slots", recovery.slots } };
}

void print_finding(uint32_t copy, const Finding &finding)
{
    printf("copy %" PRIu32 "  %-20s %10" PRIu64 " checked  ", copy, finding.rule.c_str(),
           finding.checked);
    if (finding.broken == 0)
        printf("holds   %s\n", finding.about.c_str());
    else
        printf("BROKEN  %s: %" PRIu64 " times\n", finding.about.c_str(), finding.broken);
    for (const std::string &what : finding.first)
        printf("            %s\n", what.c_str());
}

} // namespace

uint64_t DatabaseResult::rules() const
{
    uint64_t sum = 0;

    for (const Findings &found : copies)
        sum += found.all().size();
    return sum;
}

uint64_t DatabaseResult::broken() const
{
    uint64_t sum = 0;

    for (const Findings &found : copies)
        for (const Finding &finding : found.all())
            sum += finding.broken != 0 ? 1 : 0;
    return sum;
}

std::vector<Findings> check_database(const Found &database, const std::string &receipts)
{
    std::vector<Receipt> outcomes;
    if (!receipts.empty())
        outcomes = read_receipts(receipts);

    Cluster::Reading reading(*database.cluster);
    std::vector<Findings> all = check_copies(*database.cluster);

    for (uint32_t copy = 0; copy < all.size(); copy++) {
        /* A torn object has no contents that could be checked. */
        if (!is_kept(all[copy], "whole"))
            continue;
        all[copy].append(check_indexes(*database.cluster, copy));
        if (database.workload)
            all[copy].append(database.workload->examine(*database.cluster, copy));
        if (!receipts.empty())
            all[copy].append(database.workload->audit(*database.cluster, copy, outcomes));
    }
    return all;
}

void print_result(const Found &database, const DatabaseResult &result)
{
    const ShardHeader &header = database.header;
    uint64_t rules = result.rules();
    uint64_t broken = result.broken();

    printf("%s: %s%s%" PRIu32 " servers, %" PRIu32 " copies\n",
           database.cluster->schema().name().c_str(), header.comment.c_str(),
           header.comment.empty() ? "" : "; ", header.shards, header.replicas);
    for (uint32_t server : database.dead)
        printf("without server %" PRIu32 " (%s), which was promoted away\n", server,
               database.cluster->options().urls[server].c_str());
    if (result.leftovers)
        printf("found: %s\n", result.leftovers->text().c_str());
    if (result.recovery)
        printf("recovered: %" PRIu64 " redo records read, %" PRIu64
               " objects written again, %" PRIu64 " locks broken\n",
               result.recovery->records, result.recovery->rows, result.recovery->locks);
    if (result.recovery && result.recovery->slots != 0)
        printf("vacuum: %" PRIu64 " slots without an owner were returned\n",
               result.recovery->slots);
    for (uint32_t copy = 0; copy < result.copies.size(); copy++)
        for (const Finding &finding : result.copies[copy].all())
            print_finding(copy, finding);
    if (result.checked() && broken == 0)
        printf("%" PRIu64 " rules hold\n", rules);
    else if (result.checked())
        printf("%" PRIu64 " of %" PRIu64 " rules are broken\n", broken, rules);
    fflush(stdout);
}

void print_json(const Found &database, const DatabaseResult &result)
{
    const std::string &name = database.cluster->schema().name();
    Json json = { { "program", "dtx-check" },
                  { "version", rpm_version() },
                  { "database", name },
                  { "servers", database.header.shards },
                  { "copies", database.header.replicas } };

    json["tables"] = Json::array();
    for (const TableSpec &table : database.cluster->schema().tables())
        if (table.kind == TableKind::hash || table.kind == TableKind::ordered)
            json["tables"].push_back(json_of(table));
    json["comment"] = database.header.comment;
    if (database.workload)
        json["parameters"] = LoadParameters(name, database.header.comment).all();
    json["dead"] = database.dead;
    json["unfinished"] = result.leftovers ? json_of(*result.leftovers) : Json(nullptr);
    json["recovery"] = result.recovery ? json_of(*result.recovery) : Json(nullptr);
    json["rules"] = Json::array();
    for (uint32_t copy = 0; copy < result.copies.size(); copy++)
        for (const Finding &finding : result.copies[copy].all())
            json["rules"].push_back(json_of(copy, finding));
    json["broken"] = result.broken();
    json["verdict"] = !result.checked()      ? (result.unfinished() ? "unfinished" : "not checked")
                      : result.broken() == 0 ? "right"
                                             : "wrong";
    printf("%s\n", json.dump(2).c_str());
    fflush(stdout);
}

} // namespace dtx::checks
