/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace.cc: write attempts as lines of JSON, see model/trace.h.
 */
#include "bench/trace.h"

#include "bench/options.h"
#include "engine/format/allocator.h"
#include "engine/format/redo.h"

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace dtx::bench
{

using Json = nlohmann::ordered_json;

Tracer::Tracer(const Options &options, const Cluster &cluster)
    : cluster_(cluster), path_(options.trace), file_(fopen(options.trace.c_str(), "w"))
{
    Json head = { { "dtx", 2 },
                  { "what", "trace" },
                  { "workload", options.workload },
                  { "servers", cluster.shards() },
                  { "replicas", cluster.options().replicas },
                  { "durable", options.durable },
                  { "seed", options.seed } };

    if (file_ == nullptr)
        throw Error(0, path_ + ": " + strerror(errno));
    head["tables"] = Json::array();
    for (const TableSpec &table : cluster.schema().tables())
        head["tables"].push_back(table.name);
    for (const auto &[name, value] : parameters_of(options))
        std::visit([&slot = head["parameters"][name]](const auto &plain) { slot = plain; }, value);
    put(head.dump());
}

Tracer::~Tracer()
{
    if (file_ != nullptr)
        fclose(file_);
}

void Tracer::put(const std::string &line)
{
    if (fprintf(file_, "%s\n", line.c_str()) < 0)
        throw Error(0, path_ + ": " + strerror(errno));
}

std::string Tracer::line_of(const Attempt &attempt)
{
    bool committed = attempt.status == Status::committed;
    size_t freed = 0;
    Json objects = Json::array();

    writes_.clear();
    for (Access *access : attempt.accesses) {
        const Address address = access->address;
        const TableLayout &table = cluster_.layout().table(address.table());
        uint64_t number = numbers_.try_emplace(address.word, numbers_.size() + 1).first->second;

        objects.push_back({ address.shard(), table.payload_bytes, access->bytes,
                            (access->fresh && !access->reused ? "" : "r") +
                                std::string(access->settled ? "l" : "") +
                                (access->seen ? "s" : "") + (access->written ? "w" : "") +
                                (access->taken ? "t" : ""),
                            address.table(), number });
        if (access->written)
            writes_.push_back(access);
        freed += access->freed ? 1 : 0;
    }
    return Json{
        { "committed", committed },
        { "log_bytes", committed && !writes_.empty() ? redo_bytes(writes_, freed) : 0 },
        { "objects", objects }
    }.dump();
}

/* A transaction that takes slots precedes the one that it takes them for, so its line waits for
 * that one. A closing session returns its slots by transactions that no other follows: these lines
 * are never written. */
void Tracer::ended(const Attempt &attempt)
{
    held_.push_back(line_of(attempt));
    if (!attempt.accesses.empty() && attempt.accesses.front()->address.table() == kAllocatorTable)
        return;
    for (const std::string &line : held_)
        put(line);
    attempts_ += held_.size();
    held_.clear();
}

void Tracer::close(const RunResult &result)
{
    uint64_t conflicts = 0;
    uint64_t transactions = 0;
    FILE *file = file_;

    for (const KindCounts &counts : result.tally.counts) {
        conflicts += counts.conflicts;
        transactions += counts.attempts();
    }
    if (conflicts != 0)
        throw Error(0, path_ + ": the run had " + std::to_string(conflicts) +
                           " conflicts, expected 0: trace with -t 1 -c 1 and no other session");
    put(Json{ { "what", "end" },
              { "attempts", attempts_ },
              { "transactions", transactions },
              { "remote", result.counters.remote } }
            .dump());
    file_ = nullptr;
    if (fclose(file) != 0)
        throw Error(0, path_ + ": " + strerror(errno));
}

} // namespace dtx::bench
